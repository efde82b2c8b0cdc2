"""What the end of a hold, a good or a bad one, leaves behind."""

from __future__ import annotations

import threading
import time

import pytest

import lockwatch
from lockwatch.core.acquiring import Grant, Request
from lockwatch.core.keeper import LeaseKeeper
from lockwatch.core.table import LockTable
from tests.core.leases.leasing import (
    PATIENCE_SECS,
    TTL,
    Times,
    Told,
    eventually,
    hold_up_heartbeat,
    lease_threads,
    raising,
)
from tests.support import row

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


def test_a_grant_that_comes_as_the_service_closes_leaves_no_row(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    service = lockwatch.connect(url)
    granted = service._acquirer.acquire_now

    def close_after_the_grant(request: Request) -> Grant:
        grant = granted(request)
        service.shut_down(0)
        return grant

    monkeypatch.setattr(service._acquirer, "acquire_now", close_after_the_grant)
    with pytest.raises(lockwatch.LockwatchError, match="shutting down"), service.hold("plan", "p1"):
        pytest.fail("the body ran")
    assert row(url, "plan/p1") is None


def test_ctrl_c_during_the_release_leaves_no_row(
    url: str, service: lockwatch.LockService, monkeypatch: pytest.MonkeyPatch
) -> None:
    end, is_pressed = LockTable.end, False

    def press_once(table: LockTable, lock: lockwatch.Lock) -> object:
        nonlocal is_pressed
        if not is_pressed:
            is_pressed = True
            raise KeyboardInterrupt
        return end(table, lock)

    with pytest.raises(KeyboardInterrupt), service.hold("plan", "p1", "a"):
        monkeypatch.setattr(LockTable, "end", press_once)
    assert row(url, "plan/p1") is None
    assert service.leases() == []


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
    service: lockwatch.LockService, times: Times, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
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
    assert "on_lost of plan/p1 was not called" in caplog.text


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
