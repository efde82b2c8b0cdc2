"""Races on a file: changes made between a call's read and its write, and clocks that move there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

import lockwatch
from lockwatch import LockService
from lockwatch.core.acquiring import MAX_LOST_RACES
from lockwatch.core.table import LockTable
from tests.support import Clock, age, insert_row, raw, row, rows

# Between a read and a write: what is done there is done by another connection.


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[[], object]], None]:
    """Do something once, right before a statement of the table runs: `between("end", ...)`."""

    def _between(statement: str, act: Callable[[], object], times: int = 1) -> None:
        original = getattr(LockTable, statement)
        left = [times]

        def interposed(table: LockTable, *given: object, **named: object) -> object:
            if left[0]:
                left[0] -= 1
                act()
            return original(table, *given, **named)

        monkeypatch.setattr(LockTable, statement, interposed)

    return _between


Between = Callable[..., None]


@pytest.fixture
def other(url: str, clock: Clock) -> Iterator[LockService]:
    """Another program's service on the same database."""
    with lockwatch.connect(url, clock=clock) as opened:
        yield opened


def test_a_renewal_that_comes_after_the_expiry_revives_nothing(
    service: LockService, url: str, clock: Clock, between: Between
) -> None:
    service.acquire("plan", "p1", "a", 60)
    before = row(url, "plan/p1")
    between("extend", lambda: clock.advance(60))
    with pytest.raises(lockwatch.LockExpiredError) as lost:
        service.renew("plan", "p1", "a", 600)
    assert lost.value.reason is lockwatch.LossReason.EXPIRED
    assert row(url, "plan/p1") == before


def test_a_re_entrant_acquire_that_comes_after_the_expiry_is_a_new_grant(
    service: LockService, clock: Clock, between: Between
) -> None:
    first = service.acquire("plan", "p1", "a", 60)
    between("extend", lambda: clock.advance(60))
    assert service.acquire("plan", "p1", "a", 600).id > first.id


def test_a_row_that_never_rests_is_a_busy_database_in_the_end(
    service: LockService, url: str, clock: Clock, between: Between
) -> None:
    insert_row(url, "plan/p\u202e1", "a")
    texts = (clock.text(-number) for number in range(1, 2 * MAX_LOST_RACES))
    between("end", lambda: age(url, "plan/p\u202e1", next(texts)), 2 * MAX_LOST_RACES)
    between("extend", lambda: clock.advance(0.001), 2 * MAX_LOST_RACES)
    with pytest.raises(lockwatch.DatabaseBusyError, match="plan/p·1 changed 100 times"):
        service.acquire("plan", "p\u202e1", "b")


@pytest.mark.parametrize("call", ["renew", "release"])
def test_a_lease_that_never_rests_is_a_busy_database_in_the_end(
    service: LockService, url: str, clock: Clock, between: Between, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LockTable, "end_owned", lambda *_: None)  # as of an expiry that SQL cannot judge
    service.acquire("plan", "p1", "a", 60)
    texts = (clock.text(60 + number) for number in range(1, 2 * MAX_LOST_RACES))
    between("extend" if call == "renew" else "end", lambda: age(url, "plan/p1", next(texts)), 2 * MAX_LOST_RACES)
    with pytest.raises(lockwatch.DatabaseBusyError, match="plan/p1 changed 100 times"):
        getattr(service, call)("plan", "p1", "a", *([600] if call == "renew" else []))
    assert len(rows(url)) == 1


@pytest.mark.parametrize("settle", ["release_exact", "renew_exact"])
def test_an_exact_operation_judges_and_acts_in_one_transaction(
    service: LockService, other: LockService, settle: str, between: Between, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lockwatch.sqlite_file.BUSY_TIMEOUT_SECS", 0.05)
    seen = service.acquire("plan", "p1", "a", 60)
    refused: list[lockwatch.DatabaseBusyError] = []

    def try_to_change() -> None:
        with pytest.raises(lockwatch.DatabaseBusyError) as busy:
            other.release("plan", "p1", "a")
        refused.append(busy.value)

    between("end" if settle == "release_exact" else "extend", try_to_change)
    assert getattr(service, settle)(seen).is_done
    assert len(refused) == 1


def test_a_lease_that_waited_for_the_database_has_its_whole_ttl(url: str, clock: Clock) -> None:
    with lockwatch.connect(url, clock=clock) as service, raw(url) as holding, ThreadPoolExecutor(1) as pool:
        service.snapshot()
        holding.execute("BEGIN IMMEDIATE")
        grant = pool.submit(service.acquire, "plan", "p1", "a", 60)
        time.sleep(0.1)  # long enough for it to be waiting; the test holds whether it is or not
        clock.advance(100)
        holding.execute("COMMIT")
        lock = grant.result(30)
    assert (lock.acquired_at, lock.expires_at) == (clock.now, clock.now + timedelta(seconds=60))
