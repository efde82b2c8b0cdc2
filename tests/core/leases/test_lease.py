"""A lease knows when it is lost: why, by whom, in time, once."""

from __future__ import annotations

import logging
import sqlite3

import pytest

import lockwatch
from lockwatch.core.errors import LossReason
from lockwatch.core.lease import Lease
from lockwatch.core.table import LockTable
from tests.core.leases.leasing import (
    PATIENCE_SECS,
    TTL,
    Times,
    Told,
    eventually,
    hold_up_heartbeat,
    raising,
)
from tests.support import age, path_of, row

BEAT = TTL / 3


def _lost_for(lease: Lease, reason: LossReason) -> bool:
    assert lease.lost.wait(PATIENCE_SECS)
    assert lease.lost_reason is not None
    with pytest.raises(lockwatch.LockExpiredError) as caught:
        lease.check()
    assert lease.remaining() == 0
    return lease.lost_reason.reason is reason and caught.value.reason is reason


def _is_renewed_in_steps(lease: Lease, times: Times) -> bool:
    """Whether a renewal comes before the deadline, when each step lasts as long as the wait before the next try."""
    steps = 0
    while not eventually(lambda: lease.remaining() == TTL, 0.2) and steps < 9:
        times.advance(TTL / 20)
        steps += 1
    return not lease.is_lost() and steps < 9


def test_a_lease_is_renewed_as_long_as_it_is_held(service: lockwatch.LockService, lease: Lease, times: Times) -> None:
    before = lease.lock
    for _ in range(10):
        times.advance(BEAT)
        assert eventually(lambda: lease.remaining() == TTL)
    lease.check()
    assert lease.fence == before.id
    assert lease.lock == service.get("plan", "p1")
    assert lease.lock.remaining(times.wall()) == TTL


def test_a_takeover_is_a_loss_within_one_heartbeat_and_the_new_holder_is_named(
    url: str, service: lockwatch.LockService, lease: Lease, times: Times
) -> None:
    age(url, "plan/p1")
    theirs = service.acquire("plan", "p1", "b", ttl_seconds=TTL)
    before = row(url, "plan/p1")
    times.advance(BEAT)
    assert _lost_for(lease, LossReason.TAKEN_OVER)
    assert lease.lost_reason is not None
    assert lease.lost_reason.holder == theirs
    assert str(lease.lost_reason) == "taken over by b"
    with pytest.raises(lockwatch.LockExpiredError, match="taken over: held by b") as caught:
        lease.check()
    assert caught.value.holder == theirs
    assert row(url, "plan/p1") == before


def test_a_removal_by_an_operator_is_a_loss_within_one_heartbeat(
    service: lockwatch.LockService, lease: Lease, times: Times
) -> None:
    assert service.release_exact(lease.lock).is_done
    times.advance(BEAT)
    assert _lost_for(lease, LossReason.REMOVED)


def test_a_row_that_has_expired_is_a_loss_even_if_nobody_took_it(url: str, lease: Lease, times: Times) -> None:
    age(url, "plan/p1")
    before = row(url, "plan/p1")
    times.advance(BEAT)
    assert _lost_for(lease, LossReason.EXPIRED)
    assert row(url, "plan/p1") == before


def test_a_row_that_cannot_be_read_is_a_loss(url: str, lease: Lease, times: Times) -> None:
    age(url, "plan/p1", "tomorrow")
    times.advance(BEAT)
    assert _lost_for(lease, LossReason.UNREADABLE)


def test_a_database_that_cannot_be_reached_is_no_loss_before_the_deadline(url: str, lease: Lease, times: Times) -> None:
    away = path_of(url).with_suffix(".away")
    path_of(url).rename(away)
    times.advance(TTL - 0.5)
    assert eventually(lambda: lease.is_cut_off)
    lease.check()
    times.advance(0.5)
    assert _lost_for(lease, LossReason.UNREACHABLE)
    away.rename(path_of(url))


def test_who_sees_first_that_an_unreachable_database_lost_it_gives_the_same_reason(
    url: str, lease: Lease, times: Times, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lockwatch.core.keeper.LeaseKeeper._watch", lambda _keeper: float("inf"))
    away = path_of(url).with_suffix(".away")
    path_of(url).rename(away)
    times.advance(BEAT)
    assert eventually(lambda: lease.is_cut_off)
    times.advance(TTL)
    with pytest.raises(lockwatch.LockExpiredError) as caught:
        lease.check()
    assert caught.value.reason is LossReason.UNREACHABLE
    away.rename(path_of(url))


def test_a_database_that_comes_back_before_the_deadline_is_no_loss(url: str, lease: Lease, times: Times) -> None:
    away = path_of(url).with_suffix(".away")
    path_of(url).rename(away)
    times.advance(BEAT)
    assert eventually(lambda: lease.is_cut_off)
    away.rename(path_of(url))
    assert _is_renewed_in_steps(lease, times)


@pytest.mark.parametrize("failure", [lockwatch.DatabaseError("x"), sqlite3.OperationalError("x"), RuntimeError("x")])
def test_after_one_error_in_a_heartbeat_the_next_one_renews(
    lease: Lease, times: Times, failure: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = LockTable.find
    failed: list[Exception] = []

    def fails_once(table: LockTable, *arguments: object) -> object:
        if not failed:
            failed.append(failure)
            raise failure
        return real(table, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(LockTable, "find", fails_once)
    times.advance(BEAT)
    assert eventually(lambda: failed)
    assert _is_renewed_in_steps(lease, times)
    lease.check()


@pytest.mark.parametrize("method", ["find", "extend"])
def test_the_watchdog_fires_while_a_heartbeat_hangs_in_the_database(
    lease: Lease, times: Times, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    barrier = hold_up_heartbeat(monkeypatch, method)
    times.advance(BEAT)
    assert barrier.reached.wait(PATIENCE_SECS)
    times.advance(TTL - BEAT - 0.1)
    assert not lease.lost.wait(0.05)
    times.advance(0.1)
    assert _lost_for(lease, LossReason.UNREACHABLE)
    barrier.opened.set()
    assert barrier.passed.wait(PATIENCE_SECS)


def test_a_renewal_that_is_answered_after_the_deadline_revives_nothing_and_its_row_is_released(
    url: str, lease: Lease, times: Times, monkeypatch: pytest.MonkeyPatch
) -> None:
    barrier = hold_up_heartbeat(monkeypatch, "extend", after=True)
    times.advance(BEAT)
    assert barrier.reached.wait(PATIENCE_SECS)
    times.advance(TTL - BEAT)
    assert lease.lost.wait(PATIENCE_SECS)
    barrier.opened.set()
    assert eventually(lambda: row(url, "plan/p1") is None)
    assert _lost_for(lease, LossReason.UNREACHABLE)


def test_a_renewal_that_is_answered_too_late_revives_nothing_before_any_watchdog_looked(
    url: str, service: lockwatch.LockService, times: Times, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lockwatch.core.keeper.LeaseKeeper._watch", lambda _keeper: float("inf"))
    barrier = hold_up_heartbeat(monkeypatch, "extend", after=True)
    with raising(lockwatch.LockExpiredError), service.hold("plan", "p1", "a", ttl_seconds=TTL) as lease:
        times.advance(BEAT)
        assert barrier.reached.wait(PATIENCE_SECS)
        times.advance(TTL - BEAT)
        barrier.opened.set()
        assert lease.lost.wait(PATIENCE_SECS)
        assert eventually(lambda: row(url, "plan/p1") is None)


@pytest.mark.parametrize("method", ["insert", "extend"])
def test_a_lease_counts_from_before_it_was_asked_for(
    service: lockwatch.LockService, times: Times, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = getattr(LockTable, method)

    def slow(*arguments: object, **named: object) -> object:
        answer = real(*arguments, **named)
        times.elapsed += 1
        return answer

    with monkeypatch.context() as patched:
        patched.setattr(LockTable, method, slow)
        with service.hold("plan", "p1", "a", ttl_seconds=TTL) as lease:
            if method == "extend":
                times.advance(BEAT)
            assert eventually(lambda: lease.remaining() == TTL - 1)


def test_check_finds_out_by_the_clock_before_any_thread_does(
    service: lockwatch.LockService, times: Times, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lockwatch.core.rounds.TICK_SECS", PATIENCE_SECS)
    with raising(ZeroDivisionError), service.hold("plan", "p1", "a", ttl_seconds=TTL) as lease:
        times.elapsed += TTL
        with pytest.raises(lockwatch.LockExpiredError):
            lease.check()
        assert lease.lost.is_set()
        raise ZeroDivisionError


def test_the_end_of_a_hold_finds_out_by_the_clock_too(
    service: lockwatch.LockService, times: Times, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lockwatch.core.keeper.LeaseKeeper._watch", lambda _keeper: float("inf"))
    with raising(lockwatch.LockExpiredError) as caught, service.hold("plan", "p1", "a", ttl_seconds=TTL):
        times.elapsed += TTL
    assert caught.value.reason is LossReason.EXPIRED


# on_lost


def test_on_lost_is_called_once_in_a_thread_of_its_own(service: lockwatch.LockService, times: Times) -> None:
    told = Told()
    hold = service.hold("plan", "p1", "a", ttl_seconds=TTL, on_lost=told)
    with raising(lockwatch.LockExpiredError), hold as lease:
        service.release_exact(lease.lock)
        times.advance(BEAT)
        assert eventually(lambda: told.leases)
        times.advance(5 * TTL)
        assert lease.is_lost()
    assert told.leases == [lease]
    assert told.threads[0].name == "lockwatch on_lost"
    assert told.threads[0].daemon


def test_what_on_lost_raises_is_logged_and_hurts_no_other_lease(
    service: lockwatch.LockService, times: Times, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = Told(ValueError("a bad callback")), Told()
    with service.hold("plan", "other", "a", ttl_seconds=TTL) as other, raising(lockwatch.LockExpiredError):
        with (
            service.hold("plan", "p1", "a", ttl_seconds=TTL, on_lost=bad) as lease,
            service.hold("plan", "p1", "a", ttl_seconds=TTL, on_lost=good),
        ):
            service.release_exact(lease.lock)
            times.advance(BEAT)
            assert eventually(lambda: bad.leases and good.leases)
        assert eventually(lambda: "a bad callback" in caplog.text)
        assert [record.levelno for record in caplog.records] == [logging.ERROR]
        times.advance(BEAT)
        assert eventually(lambda: other.remaining() == TTL)
        raise lockwatch.LockExpiredError("", "", LossReason.EXPIRED, None, None)


def test_on_lost_of_a_hold_within_a_lost_lease_is_called_at_once(service: lockwatch.LockService, times: Times) -> None:
    told = Told()
    with raising(lockwatch.LockExpiredError), service.hold("plan", "p1", "a", ttl_seconds=TTL) as lease:
        service.release_exact(lease.lock)
        times.advance(BEAT)
        assert lease.lost.wait(PATIENCE_SECS)
        lease.tell(told)
        assert eventually(lambda: told.leases == [lease])


def test_on_lost_of_a_hold_that_has_ended_is_not_called_when_the_outer_one_is_lost(
    service: lockwatch.LockService, times: Times
) -> None:
    inner, outer = Told(), Told()
    hold = service.hold("plan", "p1", "a", ttl_seconds=TTL, on_lost=outer)
    with raising(lockwatch.LockExpiredError), hold as lease:
        with service.hold("plan", "p1", "a", ttl_seconds=TTL, on_lost=inner):
            pass
        times.advance(TTL)
        assert eventually(lambda: outer.leases == [lease])
    assert not inner.leases


def test_a_callback_may_use_the_service(service: lockwatch.LockService, times: Times) -> None:
    found: list[object] = []
    hold = service.hold(
        "plan", "p1", "a", ttl_seconds=TTL, on_lost=lambda _lease: found.append(service.snapshot().locks)
    )
    with raising(lockwatch.LockExpiredError), hold:
        times.advance(TTL)
        assert eventually(lambda: found)
