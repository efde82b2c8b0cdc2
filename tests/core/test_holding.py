"""`hold`: who releases what and when, what comes out of a body, and what the end of a hold leaves behind."""

from __future__ import annotations

import asyncio
import logging
import math
import socket
import threading
import time
from collections.abc import Iterator

import pytest

import lockwatch
from lockwatch.core.errors import LossReason
from lockwatch.core.holding import new_owner
from lockwatch.core.keeper import LeaseKeeper
from lockwatch.core.lease import Lease
from lockwatch.core.model import validate_name
from lockwatch.core.table import LockTable
from tests.core.leasing import PATIENCE_SECS, Times, eventually, hold_up_heartbeat, lease_threads, raising, service_at
from tests.support import age, execute, path_of, row

TTL = 30.0


@pytest.fixture
def times() -> Times:
    return Times()


@pytest.fixture
def service(url: str, times: Times, monkeypatch: pytest.MonkeyPatch) -> Iterator[lockwatch.LockService]:
    monkeypatch.setattr("lockwatch.core.rounds.TICK_SECS", 0.01)
    with service_at(url, times) as opened:
        yield opened


class Told:
    """An `on_lost` that remembers its calls."""

    def __init__(self) -> None:
        self.leases: list[Lease] = []
        self.threads: list[str] = []

    def __call__(self, lease: Lease) -> None:
        self.threads.append(threading.current_thread().name)
        self.leases.append(lease)


# What a hold is


def test_nothing_happens_before_the_with(url: str, service: lockwatch.LockService) -> None:
    service.hold("plan", "p1")
    assert row(url, "plan/p1") is None
    assert not lease_threads()


def test_a_hold_has_the_lock_in_its_body_and_nobody_has_it_after(url: str, service: lockwatch.LockService) -> None:
    with service.hold("plan", "p1", "a", ttl_seconds=TTL) as lease:
        assert service.get("plan", "p1") == lease.lock
        assert lease.fence == lease.lock.id
        assert lease.remaining() == TTL
        assert lease.lost_reason is None
        assert not lease.lost.is_set()
        lease.check()
    assert row(url, "plan/p1") is None
    assert eventually(lambda: not lease_threads())


def test_a_hold_of_what_somebody_else_holds_is_a_conflict_and_leaves_nothing(
    service: lockwatch.LockService,
) -> None:
    held = service.acquire("plan", "p1", "b", ttl_seconds=TTL)
    with pytest.raises(lockwatch.LockConflictError) as caught, service.hold("plan", "p1", "a"):
        pytest.fail("the body ran")
    assert caught.value.holder == held
    assert service.get("plan", "p1") == held
    assert not lease_threads()


def test_a_hold_can_be_entered_once(service: lockwatch.LockService) -> None:
    hold = service.hold("plan", "p1", "a")
    with hold:
        pass
    with pytest.raises(lockwatch.LockwatchError, match="entered once"), hold:
        pytest.fail("the body ran")
    assert service.get("plan", "p1") is None


def test_a_hold_that_was_refused_can_be_entered_again(service: lockwatch.LockService) -> None:
    service.acquire("plan", "p1", "b")
    hold = service.hold("plan", "p1", "a")
    with pytest.raises(lockwatch.LockConflictError):
        hold.__enter__()
    service.release("plan", "p1", "b")
    with hold as lease:
        assert lease.lock.owner_id == "a"


@pytest.mark.parametrize("beat", [2.6, 15, 0, -1, math.nan, math.inf, True, "2", 10**400])
def test_a_heartbeat_slower_than_half_the_ttl_or_no_number_is_refused(
    service: lockwatch.LockService, beat: float
) -> None:
    with pytest.raises(lockwatch.ValidationError, match="heartbeat_seconds"):
        service.hold("plan", "p1", ttl_seconds=5, heartbeat_seconds=beat)


@pytest.mark.parametrize("beat", [2.5, 1, 0.001, None])
def test_a_heartbeat_of_at_most_half_the_ttl_is_taken(service: lockwatch.LockService, beat: float | None) -> None:
    with service.hold("plan", "p1", ttl_seconds=5, heartbeat_seconds=beat) as lease:
        lease.check()


# Owners


def test_owners_are_given_anew_for_each_hold_so_that_two_in_one_process_exclude_each_other(
    service: lockwatch.LockService,
) -> None:
    with service.hold("plan", "p1") as lease:
        with pytest.raises(lockwatch.LockConflictError), service.hold("plan", "p1"):
            pytest.fail("the body ran")
        with service.hold("plan", "p2") as other:
            assert other.lock.owner_id != lease.lock.owner_id


@pytest.mark.parametrize(
    "host", ["box", "", "   ", "a\x00b\n", "x" * 300, "x" * 199 + " y", "é😀", "\ud800", "\u202ehost "]
)
def test_a_given_owner_is_a_valid_name_whatever_the_host_is_called(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: host)
    owner = new_owner()
    assert validate_name("owner_id", owner) == owner
    assert owner != new_owner()


# What comes out of a body


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_a_body_raises_comes_out_and_the_lock_is_released(
    service: lockwatch.LockService, kind: type[BaseException]
) -> None:
    with raising(kind), service.hold("plan", "p1"):
        raise kind
    assert service.get("plan", "p1") is None


def test_what_a_body_raises_is_not_masked_by_a_loss(url: str, service: lockwatch.LockService, times: Times) -> None:
    with raising(ZeroDivisionError), service.hold("plan", "p1", "a", ttl_seconds=TTL) as lease:
        times.advance(TTL)
        assert lease.is_lost()
        raise ZeroDivisionError
    assert row(url, "plan/p1") is None


@pytest.mark.parametrize("failure", [lockwatch.DatabaseError("gone"), OSError("odd"), RuntimeError("odder")])
def test_what_a_body_raises_is_not_masked_by_a_release_that_fails(
    url: str,
    service: lockwatch.LockService,
    failure: Exception,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(_table: LockTable, _lock: lockwatch.Lock) -> None:
        raise failure

    with raising(ZeroDivisionError), service.hold("plan", "p1", "a", ttl_seconds=TTL):
        monkeypatch.setattr(LockTable, "end", fail)
        raise ZeroDivisionError
    assert row(url, "plan/p1") is not None
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "plan/p1 was not released" in caplog.text


def test_a_release_that_fails_is_a_warning_and_leaves_the_ttl_as_the_backstop(
    url: str, service: lockwatch.LockService, times: Times, caplog: pytest.LogCaptureFixture
) -> None:
    with service.hold("plan", "p1", "a", ttl_seconds=TTL):
        path_of(url).rename(path_of(url).with_suffix(".away"))
    assert "plan/p1 was not released" in caplog.text
    path_of(url).with_suffix(".away").rename(path_of(url))
    with pytest.raises(lockwatch.LockConflictError):
        service.acquire("plan", "p1", "b")
    times.advance(TTL)
    service.acquire("plan", "p1", "b")


def test_a_body_that_ends_well_although_its_lease_was_lost_is_told(
    url: str, service: lockwatch.LockService, times: Times
) -> None:
    with (
        raising(lockwatch.LockExpiredError) as caught,
        service.hold("plan", "p1", "a", ttl_seconds=TTL) as lease,
    ):
        times.advance(TTL)
        assert lease.lost.wait(PATIENCE_SECS)
    assert caught.value.reason is LossReason.EXPIRED
    assert row(url, "plan/p1") is None


def test_a_takeover_that_only_the_release_finds_out_is_told(url: str, service: lockwatch.LockService) -> None:
    told = Told()
    with (
        raising(lockwatch.LockExpiredError) as caught,
        service.hold("plan", "p1", "a", ttl_seconds=TTL, on_lost=told) as lease,
    ):
        age(url, "plan/p1")
        with lockwatch.connect(url) as other:
            theirs = other.acquire("plan", "p1", "b")
    assert caught.value.reason is LossReason.TAKEN_OVER
    assert caught.value.holder == theirs
    assert eventually(lambda: told.leases == [lease])
    assert service.get("plan", "p1") == theirs


def test_a_removal_that_only_the_release_finds_out_is_told(url: str, service: lockwatch.LockService) -> None:
    with pytest.raises(lockwatch.LockExpiredError) as caught, service.hold("plan", "p1", "a", ttl_seconds=TTL):
        execute(url, "DELETE FROM locks")
    assert caught.value.reason is LossReason.REMOVED


def test_an_unreadable_row_is_left_to_a_person(url: str, service: lockwatch.LockService) -> None:
    with pytest.raises(lockwatch.LockExpiredError) as caught, service.hold("plan", "p1", "a", ttl_seconds=TTL):
        age(url, "plan/p1", "soon")
    assert caught.value.reason is LossReason.UNREADABLE
    assert row(url, "plan/p1") is not None


# Nothing is left behind


def test_an_error_between_the_grant_and_the_body_leaves_no_row_and_no_thread(
    url: str, service: lockwatch.LockService, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_keeper: LeaseKeeper, *_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LeaseKeeper, "enter", fail)
    with pytest.raises(KeyboardInterrupt), service.hold("plan", "p1", "a"):
        pytest.fail("the body ran")
    assert row(url, "plan/p1") is None
    assert not lease_threads()


def test_a_thread_that_cannot_start_leaves_no_row_and_stops_no_later_hold(
    url: str, service: lockwatch.LockService, times: Times, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = threading.Thread.start

    def fail(thread: threading.Thread) -> None:
        if thread.name == "lockwatch watchdog":
            raise RuntimeError("can't start new thread")
        real(thread)

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", fail)
        with pytest.raises(RuntimeError), service.hold("plan", "p1", "a"):
            pytest.fail("the body ran")
    assert row(url, "plan/p1") is None
    assert eventually(lambda: not lease_threads())
    with raising(lockwatch.LockExpiredError), service.hold("plan", "p1", "a", ttl_seconds=TTL) as lease:
        times.advance(TTL)
        assert lease.lost.wait(PATIENCE_SECS)


def test_a_callback_thread_that_cannot_start_does_not_stop_the_watchdog(
    service: lockwatch.LockService, times: Times, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = threading.Thread.start

    def fail(thread: threading.Thread) -> None:
        if thread.name == "lockwatch on_lost":
            raise RuntimeError("can't start new thread")
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", fail)
    hold = service.hold("plan", "p1", "a", ttl_seconds=TTL, on_lost=Told())
    with raising(lockwatch.LockExpiredError), service.hold("plan", "p2", "a", ttl_seconds=2 * TTL) as longer:
        with raising(lockwatch.LockExpiredError), hold as lease:
            times.advance(TTL)
            assert lease.lost.wait(PATIENCE_SECS)
        times.advance(2 * TTL)
        assert longer.lost.wait(PATIENCE_SECS)


def test_a_heartbeat_in_flight_during_the_release_writes_nothing_later(
    url: str, service: lockwatch.LockService, times: Times, monkeypatch: pytest.MonkeyPatch
) -> None:
    barrier = hold_up_heartbeat(monkeypatch, "extend")
    told = Told()
    with service.hold("plan", "p1", "a", ttl_seconds=TTL, on_lost=told) as lease:
        times.advance(TTL / 2)
        assert barrier.reached.wait(PATIENCE_SECS)
    assert row(url, "plan/p1") is None
    barrier.opened.set()
    assert barrier.passed.wait(PATIENCE_SECS)
    assert eventually(lambda: not lease_threads())
    assert row(url, "plan/p1") is None
    assert not lease.lost.is_set()
    assert not told.leases


def test_a_heartbeat_that_finds_the_row_just_released_takes_that_for_no_loss(
    service: lockwatch.LockService, times: Times, monkeypatch: pytest.MonkeyPatch
) -> None:
    barrier = hold_up_heartbeat(monkeypatch, "find")
    real, told = LockTable.end, Told()

    def slow(table: LockTable, lock: lockwatch.Lock) -> object:
        ended_at = real(table, lock)
        barrier.opened.set()
        assert barrier.passed.wait(PATIENCE_SECS)
        time.sleep(0.05)  # for what the heartbeat makes of it
        return ended_at

    monkeypatch.setattr(LockTable, "end", slow)
    with service.hold("plan", "p1", "a", ttl_seconds=TTL, on_lost=told) as lease:
        times.advance(TTL / 3)
        assert barrier.reached.wait(PATIENCE_SECS)
    assert not lease.lost.is_set()
    assert not told.leases


def test_a_renewal_between_the_releases_read_and_its_delete_does_not_keep_the_row(
    url: str, service: lockwatch.LockService, times: Times, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = LockTable.end
    renewals: list[lockwatch.Lock | None] = []

    def renewed_first(table: LockTable, lock: lockwatch.Lock) -> object:
        if not renewals:
            times.wall.advance(1)
            renewals.append(table.extend(lock, TTL))
        return real(table, lock)

    with service.hold("plan", "p1", "a", ttl_seconds=TTL):
        monkeypatch.setattr(LockTable, "end", renewed_first)
    assert renewals[0] is not None
    assert row(url, "plan/p1") is None


# The end of a hold


def test_after_its_hold_a_lease_holds_no_more_and_no_loss_is_told(service: lockwatch.LockService, times: Times) -> None:
    told = Told()
    with service.hold("plan", "p1", "a", ttl_seconds=TTL, on_lost=told) as lease:
        pass
    assert lease.remaining() == 0
    with pytest.raises(lockwatch.LockExpiredError):
        lease.check()
    times.advance(2 * TTL)
    with pytest.raises(lockwatch.LockExpiredError):
        lease.check()
    assert not lease.lost.is_set()
    assert not told.leases


# Nested holds


def test_only_the_outermost_hold_releases(service: lockwatch.LockService) -> None:
    with service.hold("plan", "p1", "a", ttl_seconds=TTL) as outer:
        with service.hold("plan", "p1", "a", ttl_seconds=TTL) as inner:
            assert inner.fence == outer.fence
        outer.check()
        assert service.get("plan", "p1") is not None
    assert service.get("plan", "p1") is None


def test_holds_that_end_in_another_order_release_at_the_last(service: lockwatch.LockService) -> None:
    first, second = (service.hold("plan", "p1", "a", ttl_seconds=TTL) for _ in range(2))
    first.__enter__()
    lease = second.__enter__()
    first.__exit__(None, None, None)
    lease.check()
    assert service.get("plan", "p1") is not None
    second.__exit__(None, None, None)
    assert service.get("plan", "p1") is None


def test_the_inner_of_two_holds_shortens_nothing_and_a_longer_one_prolongs(
    service: lockwatch.LockService, times: Times
) -> None:
    with service.hold("plan", "p1", "a", ttl_seconds=TTL) as outer:
        with service.hold("plan", "p1", "a", ttl_seconds=5):
            assert outer.remaining() == TTL
        assert outer.remaining() == TTL
        with service.hold("plan", "p1", "a", ttl_seconds=10 * TTL) as longer:
            assert longer.remaining() == 10 * TTL
            times.advance(9 * TTL)
            assert eventually(lambda: longer.remaining() == 10 * TTL), "it is renewed for the TTL that was asked for"


def test_the_inner_hold_of_a_slower_one_beats_as_often_as_it_asked_for(
    service: lockwatch.LockService, times: Times
) -> None:
    slow = service.hold("plan", "p1", "a", ttl_seconds=TTL, heartbeat_seconds=TTL / 2)
    with slow as lease, service.hold("plan", "p1", "a", ttl_seconds=TTL, heartbeat_seconds=1):
        times.advance(1)
        assert eventually(lambda: lease.remaining() == TTL)


def test_a_hold_that_reentered_a_lease_leaves_it_as_it_was(service: lockwatch.LockService, times: Times) -> None:
    service.acquire("plan", "p1", "a", ttl_seconds=TTL)
    with service.hold("plan", "p1", "a", ttl_seconds=TTL) as lease:
        times.advance(TTL / 2)
        assert eventually(lambda: lease.remaining() == TTL)
    found = service.get("plan", "p1")
    assert found == lease.lock


def test_a_hold_that_reentered_the_lease_of_another_service_leaves_it(
    url: str, service: lockwatch.LockService, times: Times
) -> None:
    with service_at(url, times) as other, other.hold("plan", "p1", "a", ttl_seconds=TTL) as theirs:
        with service.hold("plan", "p1", "a", ttl_seconds=TTL) as ours:
            assert ours.fence == theirs.fence
        assert service.get("plan", "p1") is not None
    assert service.get("plan", "p1") is None


def test_a_late_renewal_of_a_lease_that_was_reentered_leaves_its_row(
    service: lockwatch.LockService, times: Times, monkeypatch: pytest.MonkeyPatch
) -> None:
    barrier = hold_up_heartbeat(monkeypatch, "find")
    service.acquire("plan", "p1", "a", ttl_seconds=3600)
    with raising(lockwatch.LockExpiredError), service.hold("plan", "p1", "a", ttl_seconds=TTL) as lease:
        times.advance(TTL / 2)
        assert barrier.reached.wait(PATIENCE_SECS)
        times.advance(TTL / 2)
        assert lease.lost.wait(PATIENCE_SECS)
        barrier.opened.set()
        assert barrier.passed.wait(PATIENCE_SECS)
    assert eventually(lambda: not lease_threads())
    assert service.get("plan", "p1") is not None


def test_a_hold_in_one_that_is_lost_is_a_new_grant_and_independent(
    service: lockwatch.LockService, times: Times
) -> None:
    with raising(lockwatch.LockExpiredError), service.hold("plan", "p1", "a", ttl_seconds=TTL) as outer:
        times.advance(TTL)
        assert outer.lost.wait(PATIENCE_SECS)
        with service.hold("plan", "p1", "a", ttl_seconds=TTL) as inner:
            assert inner.fence > outer.fence
            inner.check()
        assert service.get("plan", "p1") is None
        assert outer.lost.is_set()


def test_a_lease_lost_here_whose_row_is_live_is_not_shared_but_granted_anew(
    service: lockwatch.LockService, times: Times
) -> None:
    outer_hold = service.hold("plan", "p1", "a", ttl_seconds=TTL)
    outer = outer_hold.__enter__()
    times.elapsed += TTL  # a wall clock that stood still: the row is live for others
    assert outer.lost.wait(PATIENCE_SECS)
    with service.hold("plan", "p1", "a", ttl_seconds=TTL) as inner:
        assert inner.fence > outer.fence
        with pytest.raises(lockwatch.LockExpiredError):
            outer_hold.__exit__(None, None, None)
        assert service.get("plan", "p1") == inner.lock, "the end of the lost one leaves the new one's row"
        inner.check()
    assert service.get("plan", "p1") is None


def test_a_hold_that_reenters_while_the_last_one_ends_does_not_lose_its_row(
    service: lockwatch.LockService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second is extended, then the first deletes the row: the second would believe it holds."""
    real, entered, gone_on = LeaseKeeper.enter, threading.Event(), threading.Event()

    def paused(keeper: LeaseKeeper, *arguments: object) -> object:
        if threading.current_thread().name == "second":
            entered.set()
            gone_on.wait(0.3)  # in vain, where the first cannot end meanwhile
        return real(keeper, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(LeaseKeeper, "enter", paused)
    first = service.hold("plan", "p1", "a", ttl_seconds=TTL)
    first.__enter__()
    found = []

    def work() -> None:
        with service.hold("plan", "p1", "a", ttl_seconds=TTL) as lease:
            found.append((service.get("plan", "p1"), lease.lock))

    second = threading.Thread(target=work, name="second")
    second.start()
    assert entered.wait(PATIENCE_SECS)
    first.__exit__(None, None, None)
    gone_on.set()
    second.join(PATIENCE_SECS)
    ((there, held),) = found
    assert there == held
    assert service.get("plan", "p1") is None


def test_many_threads_that_share_an_owner_never_hold_what_is_not_there(service: lockwatch.LockService) -> None:
    missing: list[str] = []

    def work() -> None:
        for _ in range(60):
            with service.hold("plan", "p1", "a", ttl_seconds=TTL) as lease:
                there = service.get("plan", "p1")
                if there is None or there.id != lease.fence:
                    missing.append(f"{there} for {lease.fence}")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECS)
    assert not missing
    assert service.get("plan", "p1") is None


# Other ways to run


async def test_two_tasks_of_one_loop_exclude_each_other(service: lockwatch.LockService) -> None:
    async def work() -> None:
        with service.hold("plan", "p1"):
            await asyncio.sleep(0.01)

    results = await asyncio.gather(work(), work(), return_exceptions=True)
    assert sorted(type(result).__name__ for result in results) == ["LockConflictError", "NoneType"]


def test_a_generator_that_is_closed_releases(service: lockwatch.LockService) -> None:
    def steps() -> Iterator[int]:
        with service.hold("plan", "p1") as lease:
            yield lease.fence

    running = steps()
    next(running)
    running.close()  # type: ignore[attr-defined]
    assert service.get("plan", "p1") is None
