"""What an operator does to the very lease that was displayed, and what the answer says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import pytest

import lockwatch
from lockwatch import Lock, LockService, Outcome, OutcomeKind
from tests.support import LONG_AGO, Clock, age, execute, raw, row, rows

Settle: TypeAlias = Callable[[LockService, Lock], Outcome]


def release(service: LockService, lock: Lock) -> Outcome:
    return service.release_exact(lock)


def renew(service: LockService, lock: Lock) -> Outcome:
    return service.renew_exact(lock, 600)


def purge(service: LockService, lock: Lock) -> Outcome:
    return service.purge_exact([lock])[0]


ALL = pytest.mark.parametrize("settle", [release, renew, purge])


def test_release_exact_ends_a_live_lease(service: LockService, url: str, clock: Clock) -> None:
    lock = service.acquire("plan", "p1", "a")
    assert service.release_exact(lock) == Outcome(kind=OutcomeKind.DONE, seen=lock, now=None, at=clock.now)
    assert rows(url) == []


def test_release_exact_ends_a_stale_lease(service: LockService, url: str, clock: Clock) -> None:
    lock = service.acquire("plan", "p1", "a")
    clock.advance(3600)
    assert service.release_exact(lock).is_done
    assert rows(url) == []


def test_renew_exact_extends_a_live_lease(service: LockService, clock: Clock) -> None:
    lock = service.acquire("plan", "p1", "a", 60)
    clock.advance(10)
    outcome = service.renew_exact(lock, 60)
    assert outcome.is_done
    assert outcome.now == service.get("plan", "p1")
    assert outcome.now == replace(lock, expires_at=outcome.now.expires_at, expires_text=clock.text(60))  # type: ignore[union-attr]


def test_renew_exact_of_a_stale_lease_has_nothing_to_renew(service: LockService, url: str, clock: Clock) -> None:
    lock = service.acquire("plan", "p1", "a", 60)
    before = row(url, "plan/p1")
    clock.advance(60)
    assert service.renew_exact(lock) == Outcome(kind=OutcomeKind.EXPIRED, seen=lock, now=lock, at=clock.now)
    assert row(url, "plan/p1") == before


def test_purge_exact_removes_the_stale_and_tells_the_others_apart(service: LockService, url: str, clock: Clock) -> None:
    stale, renewed, taken, gone, live = (service.acquire("plan", name, "a", 60) for name in "abcde")
    service.renew("plan", "b", "a", 600)
    service.renew("plan", "e", "a", 600)
    clock.advance(60)
    live = service.acquire("plan", "e", "a", 600)
    holder = service.acquire("plan", "c", "b", 60)
    execute(url, "DELETE FROM locks WHERE resource_id = 'd'")
    outcomes = service.purge_exact([stale, renewed, taken, gone, live])
    assert [outcome.kind for outcome in outcomes] == [
        OutcomeKind.DONE,
        OutcomeKind.RENEWED_SINCE,
        OutcomeKind.TAKEN_OVER,
        OutcomeKind.GONE,
        OutcomeKind.NOT_EXPIRED,
    ]
    assert [outcome.now for outcome in outcomes] == [None, service.get("plan", "b"), holder, None, live]
    assert [cells[3] for cells in rows(url)] == [b"b", b"e", b"c"]


@ALL
def test_nothing_is_done_to_a_lease_that_was_taken_over(
    service: LockService, url: str, clock: Clock, settle: Settle
) -> None:
    seen = service.acquire("plan", "p1", "a", 60)
    age(url, "plan/p1")
    holder = service.acquire("plan", "p1", "b", 60)
    before = row(url, "plan/p1")
    clock.advance(30 if settle is renew else 60)
    assert settle(service, seen) == Outcome(kind=OutcomeKind.TAKEN_OVER, seen=seen, now=holder, at=clock.now)
    assert row(url, "plan/p1") == before


@ALL
def test_nothing_is_done_to_a_lease_that_was_renewed(
    service: LockService, url: str, clock: Clock, settle: Settle
) -> None:
    seen = service.acquire("plan", "p1", "a", 60)
    clock.advance(30)
    renewed = service.renew("plan", "p1", "a", 60)
    before = row(url, "plan/p1")
    outcome = settle(service, seen)
    assert (outcome.kind, outcome.now) == (OutcomeKind.RENEWED_SINCE, renewed)
    assert row(url, "plan/p1") == before


@ALL
def test_nothing_is_done_to_a_lease_that_is_gone(service: LockService, url: str, settle: Settle) -> None:
    seen = service.acquire("plan", "p1", "a", 60)
    service.release("plan", "p1", "a")
    outcome = settle(service, seen)
    assert (outcome.kind, outcome.now) == (OutcomeKind.GONE, None)
    assert rows(url) == []


@ALL
@pytest.mark.parametrize("change", ["owner_id = 'b'", "id = 77", "expires_at = '2020-02-29T12:00:30Z'"])
def test_nothing_is_done_to_a_lease_that_was_edited(
    service: LockService, url: str, settle: Settle, change: str
) -> None:
    seen = service.acquire("plan", "p1", "a", 60)
    execute(url, f"UPDATE locks SET {change}")  # noqa: S608 from the list above
    before = row(url, "plan/p1")
    outcome = settle(service, seen)
    assert outcome.kind in (OutcomeKind.TAKEN_OVER, OutcomeKind.CHANGED)
    assert outcome.now == service.get("plan", "p1")
    assert row(url, "plan/p1") == before


@ALL
def test_an_outdated_expiry_of_the_same_instant_is_another_lease(
    service: LockService, url: str, settle: Settle
) -> None:
    seen = service.acquire("plan", "p1", "a", 60)
    age(url, "plan/p1", "2020-02-29T12:01:00Z")
    assert settle(service, seen).kind is OutcomeKind.CHANGED
    assert len(rows(url)) == 1


@ALL
def test_a_lease_that_never_was_is_gone(service: LockService, settle: Settle) -> None:
    seen = service.acquire("plan", "p1", "a", 60)
    made_up = replace(seen, id=999, resource_id="elsewhere")
    assert settle(service, made_up).kind is OutcomeKind.GONE


def test_a_batch_larger_than_a_chunk_reports_each_in_order(
    service: LockService, url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lockwatch.core.exact.CHUNK_SIZE", 3)
    with raw(url) as connection:
        connection.executemany(
            "INSERT INTO locks VALUES (?, 'a', 'plan', ?, 'x', ?)",
            [(number, f"p{number}", LONG_AGO if number % 2 else clock.text(60)) for number in range(1, 11)],
        )
    locks = service.snapshot().locks[::-1]
    outcomes = service.purge_exact(iter(locks))
    assert [outcome.seen for outcome in outcomes] == list(locks)
    assert [outcome.is_done for outcome in outcomes] == [lock.id % 2 == 1 for lock in locks]
    assert [cells[0] for cells in rows(url)] == [2, 4, 6, 8, 10]
    assert service.purge_exact([]) == []


def test_the_same_lease_twice_in_a_batch_is_done_and_gone(service: LockService, clock: Clock) -> None:
    lock = service.acquire("plan", "p1", "a", 60)
    clock.advance(60)
    assert [outcome.kind for outcome in service.purge_exact([lock, lock])] == [OutcomeKind.DONE, OutcomeKind.GONE]


def test_a_batch_that_fails_changes_nothing_of_its_chunk(service: LockService, url: str, clock: Clock) -> None:
    locks = [service.acquire("plan", name, "a", 60) for name in "ab"]
    clock.advance(60)
    execute(
        url,
        "CREATE TRIGGER no BEFORE DELETE ON locks WHEN old.resource_id = 'b' BEGIN SELECT raise(ABORT, 'no'); END",
    )
    with pytest.raises(lockwatch.DatabaseError, match="no"):
        service.purge_exact(locks)
    assert len(rows(url)) == 2
    assert service.acquire("plan", "c", "b").owner_id == "b"


ODD = [
    b"\xff",
    b"a\xc3",
    b"\xed\xa0\x80",
    b"a\0b",
    "a\x1b[2J",
    "a[/]b",
    "\u202e",
    "",
    5,
    2.5,
    "e\u0301",
    b"\xf5\x80\x80\x80",
]


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize("as_blob", [False, True])
def test_a_row_of_odd_bytes_is_listed_released_and_purged_exactly(
    service: LockService, url: str, clock: Clock, odd: object, as_blob: bool
) -> None:
    stored = "?" if as_blob else "CAST(? AS TEXT)"
    for number, expiry in enumerate((clock.text(60), LONG_AGO, odd)):
        values = f"({stored}, {stored}, {stored} || {number}, {stored}, {'?' if number < 2 else stored})"
        execute(
            url,
            f"INSERT INTO locks (owner_id, resource_type, resource_id, acquired_at, expires_at) VALUES {values}",  # noqa: S608
            (odd, odd, odd, odd, expiry),
        )
    live, stale, unreadable = service.snapshot().locks
    watcher = service.watcher()
    assert watcher.look().locks == (live, stale, unreadable)
    watcher.close()
    assert (live.is_expired(clock.now), stale.is_expired(clock.now), unreadable.is_readable) == (False, True, False)
    assert [outcome.kind for outcome in service.purge_exact([live, stale, unreadable])] == [
        OutcomeKind.NOT_EXPIRED,
        OutcomeKind.DONE,
        OutcomeKind.UNREADABLE,
    ]
    renewed = service.renew_exact(live, 600)
    assert renewed.is_done
    assert renewed.now in service.snapshot().locks
    assert service.release_exact(live).kind is OutcomeKind.RENEWED_SINCE
    assert service.release_exact(renewed.now).is_done
    assert service.release_exact(unreadable).is_done
    assert rows(url) == []


def test_an_odd_row_that_was_taken_over_is_found_by_its_resource(service: LockService, url: str, clock: Clock) -> None:
    columns = "owner_id, resource_type, resource_id, acquired_at, expires_at"
    insert = f"INSERT INTO locks ({columns}) VALUES (?, ?, CAST(? AS TEXT), ?, ?)"  # noqa: S608 named above
    execute(url, insert, ("a", "plan", b"\xff", LONG_AGO, LONG_AGO))
    (seen,) = service.snapshot().locks
    execute(url, "DELETE FROM locks")
    execute(url, insert, ("b", "plan", b"\xff", LONG_AGO, clock.text(60)))
    outcome = service.purge_exact([seen])[0]
    assert (outcome.kind, outcome.now) == (OutcomeKind.TAKEN_OVER, service.snapshot().locks[0])


def test_clean_up_takes_odd_rows_that_have_expired(service: LockService, url: str) -> None:
    execute(
        url,
        "INSERT INTO locks (owner_id, resource_type, resource_id, acquired_at, expires_at) VALUES (?, ?, ?, ?, ?)",
        (b"\xff", b"\xfe", b"\xfd", b"\xfc", LONG_AGO.encode()),
    )
    assert service.count_stale_locks() == service.cleanup_expired() == 1
