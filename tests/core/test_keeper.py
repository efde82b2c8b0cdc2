"""The keeper: its threads, its shutdown, many leases at once, and all of it against a model."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator

import pytest

import lockwatch
from lockwatch.core.errors import LossReason
from lockwatch.core.holding import Hold
from lockwatch.core.keeper import LeaseKeeper
from lockwatch.core.lease import Lease
from lockwatch.core.loss import Loss
from lockwatch.core.table import LockTable
from lockwatch.core.timestamps import utc_now
from tests.core.leasing import (
    PATIENCE_SECS,
    Times,
    eventually,
    hold_up_heartbeat,
    lease_threads,
    raising,
    service_at,
)
from tests.support import path_of, row, rows

TTL = 30.0


@pytest.fixture
def times() -> Times:
    return Times()


@pytest.fixture
def service(url: str, times: Times, monkeypatch: pytest.MonkeyPatch) -> Iterator[lockwatch.LockService]:
    monkeypatch.setattr("lockwatch.core.rounds.TICK_SECS", 0.01)
    monkeypatch.setattr("lockwatch.core.keeper.TICK_SECS", 0.01)
    with service_at(url, times) as opened:
        yield opened


# Threads


def test_any_number_of_leases_has_one_heartbeat_and_one_watchdog(service: lockwatch.LockService) -> None:
    with contextlib.ExitStack() as holds:
        for number in range(20):
            holds.enter_context(service.hold("plan", f"p{number}"))
        assert sorted(thread.name for thread in lease_threads()) == ["lockwatch heartbeat", "lockwatch watchdog"]
        assert all(thread.daemon for thread in lease_threads())
    assert eventually(lambda: not lease_threads())


def test_threads_end_within_about_a_second_of_the_last_hold_and_come_back(url: str) -> None:
    with lockwatch.connect(url) as service:
        for _ in range(2):
            with service.hold("plan", "p1"):
                assert len(lease_threads()) == 2
            ended = time.monotonic()
            assert eventually(lambda: not lease_threads())
            assert time.monotonic() - ended < 2


def test_a_watchdog_whose_round_fails_goes_on(
    service: lockwatch.LockService,
    times: Times,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    real = Lease.is_lost
    failed: list[Lease] = []

    def fails_once(lease: Lease, early_seconds: float = 0.0) -> bool:
        if not failed and threading.current_thread().name == "lockwatch watchdog":
            failed.append(lease)
            raise ValueError("odd")
        return real(lease, early_seconds)

    monkeypatch.setattr(Lease, "is_lost", fails_once)
    with raising(lockwatch.LockExpiredError), service.hold("plan", "p1", ttl_seconds=TTL) as lease:
        assert eventually(lambda: failed)
        times.advance(TTL)
        assert lease.lost.wait(PATIENCE_SECS)
    assert "lockwatch watchdog failed, and goes on" in caplog.text


def test_a_lease_that_was_granted_slowly_is_renewed_before_its_deadline(
    url: str, times: Times, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The threads may be asleep for another second when it comes, longer than it has left."""
    real = LockTable.insert

    def slow(table: LockTable, *arguments: object) -> object:
        answer = real(table, *arguments)  # type: ignore[arg-type]
        times.advance(TTL - 0.5)
        return answer

    monkeypatch.setattr("lockwatch.core.rounds.TICK_SECS", PATIENCE_SECS)
    with service_at(url, times) as service, service.hold("plan", "sleeps"):
        time.sleep(0.05)
        monkeypatch.setattr(LockTable, "insert", slow)
        with service.hold("plan", "p1", ttl_seconds=TTL) as lease:
            assert eventually(lambda: lease.remaining() == TTL, PATIENCE_SECS / 2)


def test_a_loss_is_signalled_before_the_leases_own_end(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With real clocks, and a database that went away."""
    real = Lease.lose
    signalled: list[float] = []

    def noted(lease: Lease, loss: Loss) -> None:
        signalled.append(lease.lock.remaining(utc_now()))
        real(lease, loss)

    monkeypatch.setattr(Lease, "lose", noted)
    away = path_of(url).with_suffix(".away")
    with (
        lockwatch.connect(url) as service,
        raising(lockwatch.LockExpiredError) as caught,
        service.hold("plan", "p1", ttl_seconds=5) as lease,
    ):
        path_of(url).rename(away)
        assert lease.lost.wait(PATIENCE_SECS)
        away.rename(path_of(url))
    assert caught.value.reason is LossReason.UNREACHABLE
    assert -0.1 < signalled[0] < 1, "0 on an idle machine"


def test_a_busy_main_thread_starves_neither_renewal_nor_loss(service: lockwatch.LockService, times: Times) -> None:
    with raising(lockwatch.LockExpiredError), service.hold("plan", "p1", ttl_seconds=TTL) as lease:
        times.advance(TTL / 3)
        assert _is_so_after_work(lambda: lease.remaining() == TTL)
        service.release_exact(lease.lock)
        times.advance(TTL / 3)
        assert _is_so_after_work(lease.lost.is_set)


async def test_an_event_loop_that_is_blocked_starves_neither_renewal_nor_loss(
    service: lockwatch.LockService, times: Times
) -> None:
    with raising(lockwatch.LockExpiredError), service.hold("plan", "p1", ttl_seconds=TTL) as lease:
        times.advance(TTL / 3)
        assert eventually(lambda: lease.remaining() == TTL), "which blocks the loop"
        service.release_exact(lease.lock)
        times.advance(TTL / 3)
        assert lease.lost.wait(PATIENCE_SECS), "which blocks it too"


def _is_so_after_work(is_so: Callable[[], bool]) -> bool:
    give_up_at = time.monotonic() + PATIENCE_SECS
    while not is_so() and time.monotonic() < give_up_at:
        sum(range(1000))
    return is_so()


# Shutting down and closing


class Body(threading.Thread):
    """A body in a thread of its own, which ends when it is told or asked to."""

    def __init__(self, hold: Hold, *, heeds: bool = True) -> None:
        super().__init__(daemon=True)
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.lease: Lease | None = None
        self.error: BaseException | None = None
        self._hold, self._heeds = hold, heeds

    def run(self) -> None:
        try:
            with self._hold as lease:
                self.lease = lease
                self.begun.set()
                if self._heeds:
                    lease.lost.wait(PATIENCE_SECS)
                self.may_end.wait(PATIENCE_SECS)
        except lockwatch.LockwatchError as error:
            self.error = error

    def go(self) -> Lease:
        self.start()
        assert self.begun.wait(PATIENCE_SECS)
        assert self.lease is not None
        return self.lease


def test_bodies_are_told_of_a_shutdown_and_release_by_themselves_before_the_service_closes(
    url: str, service: lockwatch.LockService, caplog: pytest.LogCaptureFixture
) -> None:
    bodies = [Body(service.hold("plan", f"p{number}", ttl_seconds=TTL)) for number in range(5)]
    for body in bodies:
        body.go()
        body.may_end.set()
    began = time.monotonic()
    service.shut_down()
    assert time.monotonic() - began < 4, "it need not wait for longer than the bodies"
    assert not rows(url)
    for body in bodies:
        body.join(PATIENCE_SECS)
        assert isinstance(body.error, lockwatch.LockExpiredError)
        assert body.error.reason is LossReason.SHUTTING_DOWN
    assert not caplog.records


def test_a_slow_release_is_waited_for(
    url: str, service: lockwatch.LockService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = LockTable.end

    def slow(table: LockTable, lock: lockwatch.Lock) -> object:
        time.sleep(0.2)
        return real(table, lock)

    body = Body(service.hold("plan", "p1", ttl_seconds=TTL))
    body.go()
    body.may_end.set()
    monkeypatch.setattr(LockTable, "end", slow)
    service.shut_down()
    assert row(url, "plan/p1") is None
    assert not caplog.records


def test_leases_are_renewed_while_bodies_are_waited_for(url: str, service: lockwatch.LockService, times: Times) -> None:
    body = Body(service.hold("plan", "p1", ttl_seconds=TTL))
    lease = body.go()
    shutting = threading.Thread(target=service.shut_down, args=(10 * TTL,))
    shutting.start()
    assert lease.lost.wait(PATIENCE_SECS)
    for _ in range(6):
        times.advance(TTL / 3)
        assert eventually(lambda: lease.lock.remaining(times.wall()) == TTL)
    body.may_end.set()
    shutting.join(PATIENCE_SECS)
    assert row(url, "plan/p1") is None


def test_a_body_that_does_not_heed_a_shutdown_bounds_it_and_keeps_its_row_for_its_ttl(
    url: str, service: lockwatch.LockService, times: Times
) -> None:
    body = Body(service.hold("plan", "p1", ttl_seconds=TTL), heeds=False)
    lease = body.go()
    shutting = threading.Thread(target=service.shut_down, args=(5,))
    shutting.start()
    assert lease.lost.wait(PATIENCE_SECS)
    times.advance(5)
    shutting.join(PATIENCE_SECS)
    assert not shutting.is_alive()
    assert row(url, "plan/p1") is not None
    assert eventually(lambda: not lease_threads())
    body.may_end.set()
    body.join(PATIENCE_SECS)


def test_a_lease_whose_time_runs_out_during_a_shutdown_is_not_renewed(
    service: lockwatch.LockService, times: Times
) -> None:
    body = Body(service.hold("plan", "p1", ttl_seconds=TTL))
    lease = body.go()
    shutting = threading.Thread(target=service.drain, args=(2 * TTL,))
    shutting.start()
    assert lease.lost.wait(PATIENCE_SECS)
    times.advance(TTL)
    time.sleep(0.05)
    assert not lease.is_alive
    assert lease.lost_reason is not None
    assert lease.lost_reason.reason is LossReason.SHUTTING_DOWN
    body.may_end.set()
    shutting.join(PATIENCE_SECS)


def test_closing_with_leases_held_tells_them_and_leaves_their_rows(url: str, service: lockwatch.LockService) -> None:
    body = Body(service.hold("plan", "p1", ttl_seconds=TTL))
    lease = body.go()
    service.close()
    assert lease.lost.is_set()
    with pytest.raises(lockwatch.LockExpiredError, match="shutting down"):
        lease.check()
    body.may_end.set()
    body.join(PATIENCE_SECS)
    assert isinstance(body.error, lockwatch.LockExpiredError)
    assert row(url, "plan/p1") is not None
    assert eventually(lambda: not lease_threads())


@pytest.mark.parametrize("end", ["drain", "close"])
def test_nothing_is_held_anew_once_the_service_ends(
    url: str, service: lockwatch.LockService, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = LeaseKeeper.enter

    def ending_first(keeper: LeaseKeeper, *arguments: object) -> object:
        getattr(keeper, {"drain": "shut_down", "close": "close"}[end])(*([0] if end == "drain" else []))
        return real(keeper, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(LeaseKeeper, "enter", ending_first)
    with pytest.raises(lockwatch.LockwatchError, match="shutting down"), service.hold("plan", "p1"):
        pytest.fail("the body ran")
    assert row(url, "plan/p1") is None
    assert not lease_threads()


def test_closing_while_a_heartbeat_is_under_way_leaves_no_thread(
    service: lockwatch.LockService, times: Times, monkeypatch: pytest.MonkeyPatch
) -> None:
    barrier = hold_up_heartbeat(monkeypatch, "find")
    body = Body(service.hold("plan", "p1", ttl_seconds=TTL))
    body.go()
    times.advance(TTL / 3)
    assert barrier.reached.wait(PATIENCE_SECS)
    service.close()
    barrier.opened.set()
    body.may_end.set()
    assert eventually(lambda: not lease_threads())


# Many


def test_a_thousand_leases_of_one_process_are_all_renewed_in_time(service: lockwatch.LockService, times: Times) -> None:
    with contextlib.ExitStack() as holds:
        leases = [
            holds.enter_context(service.hold("plan", f"p{number}", "a", ttl_seconds=300)) for number in range(1000)
        ]
        for _ in range(4):
            times.advance(100)
            assert eventually(lambda: min(lease.remaining() for lease in leases) == 300)
        assert not any(lease.is_lost() for lease in leases)
        assert {lock.remaining(times.wall()) for lock in service.snapshot().locks} == {300}


# Against a model


class Model:
    """Holds of two owners on two resources by one service, with a hostile world around it."""

    def __init__(self, service: lockwatch.LockService, times: Times, dice: random.Random) -> None:
        self.service, self.times, self.dice = service, times, dice
        self.held: list[tuple[str, Hold, Lease]] = []
        self.refusals: list[tuple[str, str]] = []

    def has_row(self, name: str, lease: Lease) -> bool:
        found = self.service.get("plan", name)
        return found is not None and found.id == lease.fence

    def enter(self) -> None:
        name, owner = self.dice.choice(["p1", "p2"]), self.dice.choice(["a", "b"])
        hold = self.service.hold("plan", name, owner, ttl_seconds=self.dice.choice([5.0, 30.0]))
        try:
            lease = hold.__enter__()
        except lockwatch.LockConflictError as conflict:
            self.refusals.append((owner, conflict.holder.owner_id))
            return
        assert lease.is_lost() or self.has_row(name, lease)
        self.held.append((name, hold, lease))

    def leave(self) -> None:
        if not self.held:
            return
        name, hold, lease = self.held.pop(self.dice.randrange(len(self.held)))
        with contextlib.suppress(lockwatch.LockExpiredError):
            hold.__exit__(None, None, None)
        if any(other is lease for _, _, other in self.held):
            assert lease.is_lost() or not lease._has_ended
        else:
            assert not self.has_row(name, lease)

    def pass_time(self) -> None:
        for _ in range(self.dice.randrange(1, 4)):
            self.times.advance(self.dice.choice([0.5, 1.5]))
            time.sleep(0.015)

    def sleep(self) -> None:
        self.times.advance(self.dice.choice([6, 31]))

    def rob(self) -> None:
        lock = self.service.get("plan", self.dice.choice(["p1", "p2"]))
        if lock is not None:
            self.service.release_exact(lock)

    def step(self) -> None:
        self.dice.choices([self.enter, self.leave, self.pass_time, self.sleep, self.rob], weights=[6, 5, 3, 1, 1])[0]()


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_a_lease_that_is_not_lost_has_its_row_within_a_heartbeat(
    service: lockwatch.LockService, times: Times, seed: int
) -> None:
    model = Model(service, times, random.Random(seed))  # noqa: S311 to be the same again
    for _ in range(60):
        model.step()
    for _ in range(4):  # a heartbeat of the longest of them: all is known then
        times.advance(2.5)
        time.sleep(0.015)
    assert all(asked != holder for asked, holder in model.refusals)
    assert eventually(lambda: all(lease.is_lost() or model.has_row(name, lease) for name, _, lease in model.held))
    while model.held:
        model.leave()
    assert not service.snapshot().locks
    assert eventually(lambda: not lease_threads())
