"""The threads of the keeper: how many, until when, and in time."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

import pytest

import lockwatch
from lockwatch.core.errors import LossReason
from lockwatch.core.lease import Lease
from lockwatch.core.loss import Loss
from lockwatch.core.table import LockTable
from lockwatch.core.timestamps import utc_now
from tests.core.leases.leasing import (
    PATIENCE_SECS,
    TTL,
    Times,
    eventually,
    lease_threads,
    raising,
    service_at,
)
from tests.support import path_of

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
            assert time.monotonic() - ended < 4


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
    assert -0.1 < signalled[0] < 3, "0 on an idle machine"


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
