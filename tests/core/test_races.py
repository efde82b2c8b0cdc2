"""Races: real processes that meet at a barrier, and changes made between a call's read and its write."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

import pytest

import lockwatch
from lockwatch import LockService
from lockwatch.core.acquiring import MAX_LOST_RACES
from lockwatch.core.table import LockTable
from tests.support import LONG_AGO, Clock, age, execute, insert_row, meet, raw, row, rows, together

ROUNDS = 50


def _take(url: str, owner: str, rounds: int) -> list[int | None]:
    """One try in each round: the grants' ids, None for a conflict."""
    grants: list[int | None] = []
    with lockwatch.connect(url) as service:
        for number in range(rounds):
            meet()
            try:
                grants.append(service.acquire("plan", f"p{number}", owner).id)
            except lockwatch.LockConflictError as conflict:
                grants.append(None)
                if conflict.holder.owner_id == owner:
                    raise
    return grants


@pytest.mark.parametrize("expired", [True, False])
def test_of_two_processes_that_acquire_at_once_exactly_one_is_granted(url: str, expired: bool) -> None:
    for number in range(ROUNDS if expired else 0):
        insert_row(url, f"plan/p{number}")
    first, second = together(_take, (url, "a", ROUNDS), (url, "b", ROUNDS))
    assert [(a is None) != (b is None) for a, b in zip(first, second, strict=True)] == [True] * ROUNDS
    granted = {f"p{number}": a or b for number, (a, b) in enumerate(zip(first, second, strict=True))}
    assert {cells[3].decode(): cells[0] for cells in rows(url)} == granted


def _cycle(url: str, owner: str, cycles: int) -> list[str]:
    errors = []
    with lockwatch.connect(url) as service:
        for number in range(cycles):
            try:
                service.acquire("plan", f"p{number % 4}", owner)
                service.renew("plan", f"p{number % 4}", owner)
                service.release("plan", f"p{number % 4}", owner)
            except lockwatch.LockwatchError as error:
                errors.append(type(error).__name__)
    return errors


def test_twelve_processes_on_one_file_see_nothing_but_conflicts(url: str) -> None:
    seen = together(_cycle, *[(url, f"w{number}", 20) for number in range(12)])
    assert {name for errors in seen for name in errors} <= {"LockConflictError"}
    assert rows(url) == []


class Grant(NamedTuple):
    """What a process saw of one lease: when it was granted, and the last moment at which it was surely held."""

    resource: str
    id: int
    granted: datetime
    left: datetime


def _work(url: str, owner: str, seconds: float) -> list[Grant]:
    """Take leases, release most, let others expire: those are aged by hand, since no TTL is that short."""
    grants: list[Grant] = []
    until = time.monotonic() + seconds
    with lockwatch.connect(url) as service:
        turn = int(owner[1:])
        while time.monotonic() < until:
            turn += 1
            key = f"p{turn % 3}"
            try:
                lock = service.acquire("plan", key, owner, 60)
            except lockwatch.LockConflictError:
                if turn % 5 == 0:
                    service.cleanup_expired()
                continue
            assert lock.acquired_at is not None
            left = service.now()
            if turn % 3 == 0:
                execute(
                    url,
                    "UPDATE locks SET expires_at = ? WHERE id = ?",
                    (f"{left.replace(tzinfo=None).isoformat()}+00:00" if turn % 2 else LONG_AGO, lock.id),
                )
            else:
                assert service.release("plan", key, owner)
            grants.append(Grant(key, lock.id, lock.acquired_at, left))
    return grants


def test_four_processes_on_three_keys_never_hold_one_twice(url: str) -> None:
    grants = [grant for seen in together(_work, *[(url, f"w{n}", 2.5) for n in range(4)]) for grant in seen]
    assert len(grants) > 100
    assert len({grant.id for grant in grants}) == len(grants)
    for key in ("p0", "p1", "p2"):
        of_key = sorted((grant for grant in grants if grant.resource == key), key=lambda grant: grant.granted)
        for earlier, later in pairwise(of_key):
            assert later.id > earlier.id
            assert later.granted >= earlier.left


# Between a read and a write: what is done there is done by another connection.


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[[], object]], None]:
    """Do something once, right before a statement of the table runs: `between("end", ...)`."""

    def _between(statement: str, act: Callable[[], object], times: int = 1) -> None:
        original = getattr(LockTable, statement)
        left = [times]

        def interposed(table: LockTable, *given: object) -> object:
            if left[0]:
                left[0] -= 1
                act()
            return original(table, *given)

        monkeypatch.setattr(LockTable, statement, interposed)

    return _between


Between = Callable[..., None]


@pytest.fixture
def other(url: str, clock: Clock) -> Iterator[LockService]:
    """Another program's service on the same database."""
    with lockwatch.connect(url, clock=clock) as opened:
        yield opened


def _let_b_take_over(url: str, other: LockService) -> Callable[[], None]:
    def take_over() -> None:
        age(url, "plan/p1")
        other.acquire("plan", "p1", "b")

    return take_over


def test_a_release_paused_before_its_delete_leaves_the_new_holder_alone(
    service: LockService, other: LockService, url: str, between: Between
) -> None:
    service.acquire("plan", "p1", "a")
    between("end", _let_b_take_over(url, other))
    assert service.release("plan", "p1", "a") is False
    assert [cells[1] for cells in rows(url)] == [b"b"]


def test_a_release_of_all_paused_before_its_delete_leaves_the_new_holder_alone(
    service: LockService, other: LockService, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("p0", "p1", "p2"):
        service.acquire("plan", name, "a")
    of_owner = LockTable.of_owner

    def then_paused(table: LockTable, owner_id: str) -> object:
        found = of_owner(table, owner_id)
        if found:
            _let_b_take_over(url, other)()
        monkeypatch.undo()
        return found

    monkeypatch.setattr(LockTable, "of_owner", then_paused)
    assert service.release_all_for_owner("a") == 2
    assert [cells[1] for cells in rows(url)] == [b"b"]


def test_a_renewal_paused_before_its_write_leaves_the_new_holder_alone(
    service: LockService, other: LockService, url: str, between: Between
) -> None:
    service.acquire("plan", "p1", "a", 60)
    between("extend", _let_b_take_over(url, other))
    with pytest.raises(lockwatch.LockExpiredError) as lost:
        service.renew("plan", "p1", "a", 600)
    assert lost.value.holder == other.get("plan", "p1")
    assert [cells[1] for cells in rows(url)] == [b"b"]


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


def test_a_takeover_leaves_a_lease_alone_that_was_renewed_after_it_was_read(
    service: LockService, url: str, clock: Clock, between: Between
) -> None:
    insert_row(url, "plan/p1", "a")
    between("end", lambda: age(url, "plan/p1", clock.text(60)))
    with pytest.raises(lockwatch.LockConflictError) as refused:
        service.acquire("plan", "p1", "b")
    assert refused.value.holder.owner_id == "a"


def test_a_takeover_leaves_a_lease_alone_that_was_taken_over_after_it_was_read(
    service: LockService, other: LockService, url: str, between: Between
) -> None:
    insert_row(url, "plan/p1", "a")
    between("end", lambda: other.acquire("plan", "p1", "c"))
    with pytest.raises(lockwatch.LockConflictError) as refused:
        service.acquire("plan", "p1", "b")
    assert refused.value.holder == other.get("plan", "p1")


def test_an_acquire_whose_obstacle_goes_before_it_is_read_is_granted(
    service: LockService, other: LockService, between: Between
) -> None:
    other.acquire("plan", "p1", "a")
    between("find", lambda: other.release("plan", "p1", "a"))
    assert service.acquire("plan", "p1", "b").owner_id == "b"


def test_a_release_of_a_lease_that_is_renewed_meanwhile_is_a_release(
    service: LockService, other: LockService, url: str, clock: Clock, between: Between
) -> None:
    service.acquire("plan", "p1", "a", 60)
    clock.advance(1)
    between("end", lambda: other.renew("plan", "p1", "a", 60))
    assert service.release("plan", "p1", "a") is True
    assert rows(url) == []


def test_clean_up_leaves_a_lease_alone_that_was_renewed_after_it_began(
    service: LockService, url: str, clock: Clock, between: Between
) -> None:
    insert_row(url, "plan/p1", "a")
    insert_row(url, "plan/p2", "a")
    between("_end_of_page", lambda: age(url, "plan/p1", clock.text(60)))
    assert service.cleanup_expired() == 1
    assert [cells[3] for cells in rows(url)] == [b"p1"]


def test_a_row_that_never_rests_is_a_busy_database_in_the_end(
    service: LockService, url: str, clock: Clock, between: Between
) -> None:
    insert_row(url, "plan/p1", "a")
    texts = (clock.text(-number) for number in range(1, 2 * MAX_LOST_RACES))
    between("end", lambda: age(url, "plan/p1", next(texts)), 2 * MAX_LOST_RACES)
    between("extend", lambda: clock.advance(0.001), 2 * MAX_LOST_RACES)
    with pytest.raises(lockwatch.DatabaseBusyError, match="plan/p1 changed 100 times"):
        service.acquire("plan", "p1", "b")


@pytest.mark.parametrize("call", ["renew", "release"])
def test_a_lease_that_never_rests_is_a_busy_database_in_the_end(
    service: LockService, url: str, clock: Clock, between: Between, call: str
) -> None:
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
