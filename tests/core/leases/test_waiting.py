"""`wait_seconds`: a waiter only looks, is granted soon after the release, and can be called off."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

import lockwatch
from lockwatch.core.acquiring import Acquirer
from lockwatch.core.model import Key
from lockwatch.core.table import LockTable
from tests.core.leases.leasing import (
    PATIENCE_SECS,
    TTL,
    Times,
    eventually,
)
from tests.support import age, execute, insert_row, path_of, raw, row


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(16) as opened:
        yield opened


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """When waiters looked."""
    real, seen = LockTable.find, []

    def counted(table: LockTable, *arguments: object) -> object:
        seen.append(time.monotonic())
        return real(table, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(LockTable, "find", counted)
    return seen


def _wait(
    pool: ThreadPoolExecutor, service: lockwatch.LockService, owner: str = "b", ttl: float = TTL, wait: float = 3600
) -> Future[lockwatch.Lock]:
    return pool.submit(service.acquire, "plan", "p1", owner, ttl_seconds=ttl, wait_seconds=wait)


@pytest.mark.parametrize("wait", [-1, -0.001, math.nan, math.inf, -math.inf, True, "1", None, 10**400, 1e12])
def test_a_wait_that_is_no_number_of_seconds_is_refused(service: lockwatch.LockService, wait: float) -> None:
    with pytest.raises(lockwatch.ValidationError, match="wait_seconds"):
        service.acquire("plan", "p1", "a", wait_seconds=wait)
    with pytest.raises(lockwatch.ValidationError, match="wait_seconds"):
        service.hold("plan", "p1", "a", wait_seconds=wait)
    assert service.get("plan", "p1") is None


def test_what_is_free_is_granted_without_waiting(
    service: lockwatch.LockService, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(_acquirer: Acquirer, _seconds: float) -> None:
        pytest.fail("it waited")

    monkeypatch.setattr(Acquirer, "pause", never)
    service.acquire("plan", "p1", "a", wait_seconds=60)
    service.acquire("plan", "p1", "a", wait_seconds=60)
    with pytest.raises(lockwatch.LockConflictError):
        service.acquire("plan", "p1", "b", wait_seconds=0)


def test_a_hold_waits_too(service: lockwatch.LockService, pool: ThreadPoolExecutor, looks: list[float]) -> None:
    service.acquire("plan", "p1", "a", ttl_seconds=TTL)
    waiting = pool.submit(service.hold("plan", "p1", "b", ttl_seconds=TTL, wait_seconds=60).__enter__)
    assert eventually(lambda: len(looks) > 2)
    service.release("plan", "p1", "a")
    lease = waiting.result(PATIENCE_SECS)
    assert lease.remaining() == TTL
    assert service.get("plan", "p1") == lease.lock


def test_the_ttl_of_a_waiter_starts_at_the_grant(
    service: lockwatch.LockService, times: Times, pool: ThreadPoolExecutor, looks: list[float]
) -> None:
    service.acquire("plan", "p1", "a", ttl_seconds=5)
    times.advance(2)
    waiting = _wait(pool, service, ttl=5)
    assert eventually(lambda: len(looks) > 2)
    times.advance(2.9)
    seen = len(looks)
    assert eventually(lambda: len(looks) > seen + 2)
    assert not waiting.done()
    times.advance(0.1)
    lock = waiting.result(PATIENCE_SECS)
    assert lock.remaining(times.wall()) == 5
    assert lock.acquired_at == times.wall()


@pytest.mark.parametrize("late", [2.0, TTL])
def test_a_grant_that_was_held_up_has_its_whole_ttl_from_when_it_came(
    service: lockwatch.LockService, times: Times, late: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    _hold_up_a_grant(monkeypatch, times, late)
    with service.hold("plan", "p1", "a", ttl_seconds=TTL) as lease:
        assert lease.lock.remaining(times.wall()) == lease.remaining() == TTL
        assert lease.lock == service.get("plan", "p1")


def test_a_grant_that_was_held_up_and_cannot_be_extended_is_one_all_the_same(
    service: lockwatch.LockService, times: Times, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise lockwatch.DatabaseError("gone for a moment")

    _hold_up_a_grant(monkeypatch, times, 2)
    monkeypatch.setattr(LockTable, "extend", fail)
    with service.hold("plan", "p1", "a", ttl_seconds=TTL) as lease:
        assert lease.remaining() == TTL - 2


def _hold_up_a_grant(monkeypatch: pytest.MonkeyPatch, times: Times, seconds: float) -> None:
    real, delays = LockTable.insert, [seconds]

    def held_up(table: LockTable, key: Key, owner_id: str, ttl_seconds: float) -> lockwatch.Lock | None:
        answer = real(table, key, owner_id, ttl_seconds)
        times.advance(delays.pop() if delays else 0)
        return answer

    monkeypatch.setattr(LockTable, "insert", held_up)


def test_a_waiter_wakes_when_the_holders_expiry_is_due(
    url: str, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lockwatch.core.acquiring.POLL_SECS", (8.0, 8.0))
    with lockwatch.connect(url) as service:
        service.acquire("plan", "p1", "a", ttl_seconds=5)
        due = service.now() + timedelta(seconds=0.5)
        age(url, "plan/p1", due.isoformat())
        lock = _wait(pool, service, ttl=5).result(PATIENCE_SECS)
    assert lock.acquired_at is not None
    assert 0 <= (lock.acquired_at - due).total_seconds() < 2


def test_a_waiter_writes_nothing(url: str, service: lockwatch.LockService, pool: ThreadPoolExecutor) -> None:
    service.acquire("plan", "p1", "a", ttl_seconds=TTL)
    wal = path_of(url).with_name("locks.db-wal")
    with raw(url) as watcher:
        version = watcher.execute("PRAGMA data_version").fetchone()
        size = wal.stat().st_size
        waiting = _wait(pool, service)
        time.sleep(0.6)
        assert not waiting.done()
        assert watcher.execute("PRAGMA data_version").fetchone() == version
        assert wal.stat().st_size == size
    service.release("plan", "p1", "a")
    waiting.result(PATIENCE_SECS)


def test_a_waiter_tries_to_insert_once_and_then_only_looks(
    service: lockwatch.LockService, pool: ThreadPoolExecutor, looks: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, inserts = LockTable.insert, []

    def counted(table: LockTable, *arguments: object) -> object:
        inserts.append(arguments)
        return real(table, *arguments)  # type: ignore[arg-type]

    service.acquire("plan", "p1", "a", ttl_seconds=TTL)
    monkeypatch.setattr(LockTable, "insert", counted)
    waiting = _wait(pool, service)
    assert eventually(lambda: len(looks) > 5)
    assert len(inserts) == 1
    service.release("plan", "p1", "a")
    waiting.result(PATIENCE_SECS)
    assert len(inserts) == 2


def test_the_conflict_at_the_end_of_a_wait_names_the_holder_of_that_moment(
    service: lockwatch.LockService, times: Times, pool: ThreadPoolExecutor, looks: list[float]
) -> None:
    first = service.acquire("plan", "p1", "a", ttl_seconds=TTL)
    waiting = _wait(pool, service, wait=10)
    assert eventually(lambda: len(looks) > 2)
    with service._tables.use() as table, table.connection.transaction():
        assert table.end(first) is not None
        second = table.insert(first.key, "c", TTL)
    seen = len(looks)
    assert eventually(lambda: len(looks) > seen + 2)
    times.elapsed += 10
    with pytest.raises(lockwatch.LockConflictError) as caught:
        waiting.result(PATIENCE_SECS)
    assert caught.value.holder == second


def test_a_renewal_of_the_holder_makes_the_waiter_wait_on(
    service: lockwatch.LockService, times: Times, pool: ThreadPoolExecutor, looks: list[float]
) -> None:
    service.acquire("plan", "p1", "a", ttl_seconds=5)
    waiting = _wait(pool, service, wait=20)
    assert eventually(lambda: len(looks) > 2)
    service.renew("plan", "p1", "a", ttl_seconds=3600)
    times.advance(6)
    seen = len(looks)
    assert eventually(lambda: len(looks) > seen + 2)
    assert not waiting.done()
    times.advance(20)
    with pytest.raises(lockwatch.LockConflictError):
        waiting.result(PATIENCE_SECS)


@pytest.mark.parametrize("end", ["close", "drain"])
def test_closing_the_service_ends_a_wait_at_once_and_inserts_nothing(
    url: str, service: lockwatch.LockService, pool: ThreadPoolExecutor, looks: list[float], end: str
) -> None:
    held = service.acquire("plan", "p1", "a", ttl_seconds=TTL)
    waiting: list[Future[Any]] = [
        _wait(pool, service),
        pool.submit(service.hold("plan", "p1", "c", wait_seconds=60).__enter__),
    ]
    assert eventually(lambda: len(looks) > 4)
    before = row(url, "plan/p1")
    began = time.monotonic()
    getattr(service, end)()
    for waiter in waiting:
        with pytest.raises(lockwatch.LockwatchError, match="closed or shutting down"):
            waiter.result(PATIENCE_SECS)
    assert time.monotonic() - began < 3, "they would wait for a minute"
    assert row(url, "plan/p1") == before
    assert held.id == before[0]  # type: ignore[index]


def test_a_service_that_closes_just_as_the_lock_becomes_free_inserts_nothing(
    url: str, service: lockwatch.LockService, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.acquire("plan", "p1", "a", ttl_seconds=TTL)

    def freed_and_closing(acquirer: Acquirer, _seconds: float) -> None:
        execute(url, "DELETE FROM locks")
        acquirer._closing.set()

    monkeypatch.setattr(Acquirer, "pause", freed_and_closing)
    with pytest.raises(lockwatch.LockwatchError, match="closed or shutting down"):
        service.acquire("plan", "p1", "b", wait_seconds=60)
    assert row(url, "plan/p1") is None


def test_an_interrupt_ends_a_wait_and_leaves_nothing(
    service: lockwatch.LockService, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = service.acquire("plan", "p1", "a", ttl_seconds=TTL)

    def interrupted(_acquirer: Acquirer, _seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Acquirer, "pause", interrupted)
    with pytest.raises(KeyboardInterrupt):
        service.acquire("plan", "p1", "b", wait_seconds=60)
    with pytest.raises(KeyboardInterrupt), service.hold("plan", "p1", "b", wait_seconds=60):
        pytest.fail("the body ran")
    assert service.get("plan", "p1") == held
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("lockwatch ")]


def test_a_row_that_cannot_be_read_is_waited_for_until_a_person_removes_it(
    url: str, service: lockwatch.LockService, pool: ThreadPoolExecutor, looks: list[float]
) -> None:
    insert_row(url, "plan/p1", "b", expires_at="whenever")
    waiting = _wait(pool, service)
    assert eventually(lambda: len(looks) > 3)
    assert not waiting.done()
    execute(url, "DELETE FROM locks")
    assert waiting.result(PATIENCE_SECS).owner_id == "b"


def test_a_waiter_shares_what_its_owner_was_granted_meanwhile(
    service: lockwatch.LockService, pool: ThreadPoolExecutor, looks: list[float]
) -> None:
    service.acquire("plan", "p1", "a", ttl_seconds=TTL)
    first, second = _wait(pool, service, "b"), _wait(pool, service, "b")
    assert eventually(lambda: len(looks) > 4)
    service.release("plan", "p1", "a")
    assert first.result(PATIENCE_SECS).id == second.result(PATIENCE_SECS).id
