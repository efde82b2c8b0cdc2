"""Shutting down and closing with leases held."""

from __future__ import annotations

import threading
import time

import pytest

import lockwatch
from lockwatch.core.errors import LossReason
from lockwatch.core.holding import Hold
from lockwatch.core.keeper import LeaseKeeper
from lockwatch.core.lease import Lease
from lockwatch.core.table import LockTable
from tests.core.leases.leasing import (
    PATIENCE_SECS,
    TTL,
    Times,
    eventually,
    hold_up_heartbeat,
    lease_threads,
)
from tests.support import row, rows

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
