"""The rules by which locks change hands, one owner's call after the other's."""

from __future__ import annotations

import dataclasses
import sqlite3
from datetime import datetime, timedelta

import pytest

import lockwatch
from lockwatch import Lock, LockService
from lockwatch.core.table import LockTable
from lockwatch.core.timestamps import to_text
from tests.support import LONG_AGO, START, Clock, execute, insert_row, raw, row, rows

EXPIRY = START + timedelta(seconds=300)
ONE_INSTANT = [
    "2020-02-29T07:05:00-05:00",
    "2020-02-29T12:05:00+00:00",
    "2020-02-29 12:05:00",
    "2020-02-29T12:05:00Z",
    "2020-02-29T12:05:00.000000Z",
    "2020-02-29T21:05:00.000+09:00",
    "20200229T120500Z",
]


# Expiry


@pytest.mark.parametrize("text", ONE_INSTANT)
def test_any_iso_text_is_live_one_second_before_it(service: LockService, url: str, clock: Clock, text: str) -> None:
    number = insert_row(url, "plan/p1", "a", expires_at=text)
    clock.now = EXPIRY - timedelta(seconds=1)
    with pytest.raises(lockwatch.LockConflictError):
        service.acquire("plan", "p1", "b")
    found = service.get("plan", "p1")
    assert found is not None
    assert (found.is_expired(clock.now), found.remaining(clock.now), found.expires_text) == (False, 1.0, text)
    assert service.count_stale_locks() == service.cleanup_expired() == 0
    assert service.snapshot().stale == ()
    assert service.purge_exact([found])[0].kind is lockwatch.OutcomeKind.NOT_EXPIRED
    renewed = service.renew("plan", "p1", "a", 60)
    assert (renewed.id, renewed.remaining(clock.now)) == (number, 60)


@pytest.mark.parametrize("text", ONE_INSTANT)
def test_any_iso_text_is_expired_at_it(service: LockService, url: str, clock: Clock, text: str) -> None:
    number = insert_row(url, "plan/p1", "a", expires_at=text)
    clock.now = EXPIRY
    with pytest.raises(lockwatch.LockExpiredError):
        service.renew("plan", "p1", "a")
    found = service.get("plan", "p1")
    assert found is not None
    assert found.is_expired(clock.now)
    assert service.count_stale_locks() == 1
    assert service.snapshot().stale == (found,)
    assert service.renew_exact(found).kind is lockwatch.OutcomeKind.EXPIRED
    assert service.acquire("plan", "p1", "b").id > number
    insert_row(url, "plan/p2", "a", expires_at=text)
    assert service.cleanup_expired() == 1
    assert service.get("plan", "p2") is None


def test_a_lease_lasts_to_the_microsecond(service: LockService, clock: Clock) -> None:
    service.acquire("plan", "p1", "a", 5)
    clock.advance(4.999999)
    with pytest.raises(lockwatch.LockConflictError):
        service.acquire("plan", "p1", "b", 5)
    clock.advance(0.000001)
    assert service.acquire("plan", "p1", "b", 5).owner_id == "b"


def test_the_zone_of_the_clock_does_not_matter(url: str) -> None:
    berlin = datetime.fromisoformat("2026-10-25T02:59:59+02:00")
    clock = Clock(berlin)
    with lockwatch.connect(url, clock=clock) as service:
        lock = service.acquire("plan", "p1", "a", 5)
        assert lock.expires_text == "2026-10-25T01:00:04.000000Z"
        clock.now = datetime.fromisoformat("2026-10-25T02:00:03+01:00")
        assert not lock.is_expired(service.now())
        clock.now = datetime.fromisoformat("2026-10-25T02:00:04+01:00")
        assert lock.is_expired(service.now())


UNREADABLE = ["", "soon", "2020-13-01", b"\xff\xfe", "1583000000", "9999-99-99T99:99:99Z"]


@pytest.mark.parametrize("text", UNREADABLE)
def test_an_unreadable_expiry_is_never_taken_for_expired(
    service: LockService, url: str, clock: Clock, text: str | bytes
) -> None:
    insert_row(url, "plan/p1", "a", expires_at=text)
    before = row(url, "plan/p1")
    clock.advance(10**9)
    for owner in ("a", "b"):
        with pytest.raises(lockwatch.LockConflictError):
            service.acquire("plan", "p1", owner)
        assert not service.release("plan", "p1", owner)
        assert service.release_all_for_owner(owner) == 0
        with pytest.raises(lockwatch.LockExpiredError):
            service.renew("plan", "p1", owner)
    assert service.cleanup_expired() == service.count_stale_locks() == 0
    (seen,) = service.snapshot().locks
    assert service.purge_exact([seen])[0].kind is lockwatch.OutcomeKind.UNREADABLE
    assert service.renew_exact(seen).kind is lockwatch.OutcomeKind.UNREADABLE
    assert row(url, "plan/p1") == before
    assert service.release_exact(seen).is_done
    assert rows(url) == []


# Acquire


def test_a_free_resource_is_granted(service: LockService, url: str, clock: Clock) -> None:
    lock = service.acquire("plan", "p1", "a", ttl_seconds=60)
    assert row(url, "plan/p1") == (1, b"a", b"plan", b"p1", clock.text().encode(), clock.text(60).encode())
    assert lock == service.get("plan", "p1")
    assert (lock.acquired_at, lock.expires_at) == (clock.now, clock.now + timedelta(seconds=60))


def test_the_default_ttl_is_five_minutes(service: LockService, clock: Clock) -> None:
    assert service.acquire("plan", "p1", "a").remaining(clock.now) == 300
    clock.advance(1)
    assert service.renew("plan", "p1", "a").remaining(clock.now) == 300


def test_a_lock_of_one_resource_is_none_of_another(service: LockService) -> None:
    service.acquire("plan", "p1", "a")
    assert service.acquire("project", "p1", "b").id == 2
    assert service.acquire("plan", "p2", "c").id == 3


def test_a_re_entrant_acquire_extends_and_keeps_the_id(service: LockService, clock: Clock) -> None:
    first = service.acquire("plan", "p1", "a", 60)
    clock.advance(30)
    again = service.acquire("plan", "p1", "a", 60)
    assert again == dataclasses.replace(
        first, expires_at=clock.now + timedelta(seconds=60), expires_text=clock.text(60)
    )
    assert service.get("plan", "p1") == again


def test_a_re_entrant_acquire_never_shortens_a_lease(service: LockService, url: str, clock: Clock) -> None:
    first = service.acquire("plan", "p1", "a", 600)
    before = row(url, "plan/p1")
    clock.advance(60)
    assert service.acquire("plan", "p1", "a", 60) == first
    assert row(url, "plan/p1") == before


def test_a_renewal_never_shortens_a_lease(service: LockService, url: str, clock: Clock) -> None:
    first = service.acquire("plan", "p1", "a", 600)
    before = row(url, "plan/p1")
    clock.advance(60)
    assert service.renew("plan", "p1", "a", 60) == first
    assert service.renew_exact(first, 60).now == first
    assert row(url, "plan/p1") == before


def test_a_lease_that_lasts_longer_is_not_even_written_anew(service: LockService, url: str) -> None:
    insert_row(url, "plan/p1", "a", expires_at="2020-02-29 12:10:00")
    with raw(url) as watching:
        before = watching.execute("PRAGMA data_version").fetchone()
        lock = service.renew("plan", "p1", "a", 60)
        assert service.acquire("plan", "p1", "a", 60) == lock
        assert watching.execute("PRAGMA data_version").fetchone() == before
        assert service.renew_exact(lock, 60).is_done
    assert lock.expires_text == "2020-02-29 12:10:00"
    assert row(url, "plan/p1") == (1, b"a", b"plan", b"p1", LONG_AGO.encode(), b"2020-02-29 12:10:00")


def test_the_clock_is_read_once_for_both_times_of_a_grant(url: str, clock: Clock) -> None:
    def ticking() -> datetime:
        clock.advance(0.25)
        return clock.now

    with lockwatch.connect(url, clock=ticking) as service:
        lock = service.acquire("plan", "p1", "a", 60)
    assert lock.acquired_at is not None
    assert lock.expires_at == lock.acquired_at + timedelta(seconds=60)


@pytest.mark.parametrize("call", ["acquire", "renew", "renew_exact"])
def test_a_clock_that_steps_back_never_shortens_a_lease(
    service: LockService, clock: Clock, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    lock = service.acquire("plan", "p1", "a", 300)
    clock.advance(1)
    extend = LockTable.extend

    def after_a_step_back(table: LockTable, seen: Lock, ttl_seconds: float, **named: bool) -> Lock | None:
        clock.advance(-3600)
        return extend(table, seen, ttl_seconds, **named)

    monkeypatch.setattr(LockTable, "extend", after_a_step_back)
    if call == "renew_exact":
        service.renew_exact(lock, 300)
    else:
        getattr(service, call)("plan", "p1", "a", 300)
    assert service.get("plan", "p1") == lock


def test_the_owners_own_expired_row_is_not_held(service: LockService, clock: Clock) -> None:
    first = service.acquire("plan", "p1", "a", 60)
    clock.advance(60)
    again = service.acquire("plan", "p1", "a", 60)
    assert again.id > first.id
    assert again.acquired_at == clock.now


def test_a_takeover_is_a_new_row_with_a_greater_id(service: LockService, url: str, clock: Clock) -> None:
    first = service.acquire("plan", "p1", "a", 60)
    service.acquire("plan", "p2", "a", 60)
    clock.advance(60)
    taken = service.acquire("plan", "p1", "b", 60)
    assert taken.id > 2 > first.id
    assert [cells[0] for cells in rows(url)] == [2, taken.id]


def test_fencing_tokens_do_not_come_back_after_a_vacuum(service: LockService, url: str) -> None:
    first = service.acquire("plan", "p1", "a")
    execute(url, "DELETE FROM locks")
    execute(url, "VACUUM")
    assert service.acquire("plan", "p1", "a").id > first.id


def test_a_refused_acquire_burns_no_fencing_token(service: LockService) -> None:
    service.acquire("plan", "p1", "a")
    for _ in range(5):
        with pytest.raises(lockwatch.LockConflictError):
            service.acquire("plan", "p1", "b")
    assert service.acquire("plan", "p2", "b").id == 2


def test_a_table_whose_ids_can_come_back_grants_nothing_until_it_is_upgraded(url: str, clock: Clock) -> None:
    execute(url, "DROP TABLE locks")
    execute(url, "DELETE FROM lockwatch_version")
    execute(
        url,
        "CREATE TABLE locks (id INTEGER PRIMARY KEY, -- AUTOINCREMENT was too slow\n"
        "owner_id TEXT, resource_type TEXT, resource_id TEXT, acquired_at TEXT, "
        "expires_at TEXT DEFAULT 'AUTOINCREMENT', UNIQUE (resource_type, resource_id))",
    )
    insert_row(url, "plan/p1", "a", expires_at=clock.text(60))
    with lockwatch.connect(url, clock=clock) as service:
        refusal = r"^nothing can be acquired here: ids of the table `locks` can come back; .*db upgrade"
        with pytest.raises(lockwatch.DatabaseError, match=refusal):
            service.acquire("plan", "p2", "b")
        (seen,) = service.snapshot().locks
        assert service.renew_exact(seen, 600).is_done
        assert service.renew("plan", "p1", "a", 700).id == seen.id
        lockwatch.upgrade(url)
        assert service.release("plan", "p1", "a")
        assert service.acquire("plan", "p2", "b").id == 2


def test_clean_up_takes_the_expired_and_no_others(service: LockService, url: str, clock: Clock) -> None:
    for number in range(10):
        insert_row(url, f"plan/p{number}", "a", expires_at=clock.text(number - 4))
    assert service.count_stale_locks() == 5
    assert service.cleanup_expired() == 5
    assert [cells[3] for cells in rows(url)] == [b"p5", b"p6", b"p7", b"p8", b"p9"]
    assert (service.count_stale_locks(), service.cleanup_expired()) == (0, 0)


def test_clean_up_goes_through_any_number_of_rows(
    service: LockService, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lockwatch.core.cleaning.PAGE_SIZE", 3)
    with raw(url) as connection:
        connection.executemany(
            "INSERT INTO locks VALUES (?, 'a', 'plan', ?, 'x', ?)",
            [(number - 7, f"p{number}", LONG_AGO if number % 3 else "soon") for number in range(30)],
        )
    assert service.count_stale_locks() == 20
    assert service.cleanup_expired() == 20
    assert len(rows(url)) == 10


def test_clean_up_comes_to_an_end_where_ids_are_texts(url: str) -> None:
    execute(url, "DROP TABLE locks")
    execute(url, "CREATE TABLE locks (id TEXT, owner_id, resource_type, resource_id, acquired_at, expires_at)")
    with raw(url) as connection:
        connection.executemany(
            "INSERT INTO locks VALUES (?, 'a', 'plan', ?, 'x', ?)",
            [(name, name, LONG_AGO) for name in ("1", "5", "abc", "\u00e9")],
        )
    with lockwatch.connect(url) as service:
        assert service.count_stale_locks() == 4
        assert service.cleanup_expired() == 4


# Around


def test_a_missing_table_is_said_at_once(service: LockService, url: str) -> None:
    service.acquire("plan", "p1", "a")
    execute(url, "DROP TABLE locks")
    for _ in range(2):
        with pytest.raises(lockwatch.DatabaseError, match=r"table `locks`.*db upgrade") as refused:
            service.acquire("plan", "p1", "b")
        assert not isinstance(refused.value, lockwatch.DatabaseBusyError)


def test_a_table_of_somebody_elses_is_said_at_once(service: LockService, url: str) -> None:
    execute(url, "DROP TABLE locks")
    execute(url, "CREATE TABLE locks (id INTEGER PRIMARY KEY, owner_id TEXT)")
    with pytest.raises(lockwatch.DatabaseError, match=r"no column resource_type, resource_id, acquired_at, expires_at"):
        service.acquire("plan", "p1", "b")


def test_an_error_of_the_database_surfaces_as_what_it_is(service: LockService, url: str) -> None:
    execute(url, "CREATE TRIGGER no BEFORE INSERT ON locks BEGIN SELECT raise(ABORT, 'not on \x1b[2J mondays'); END")
    with pytest.raises(lockwatch.DatabaseError, match="not on ␛") as refused:
        service.acquire("plan", "p1", "b")
    assert isinstance(refused.value.__cause__, sqlite3.IntegrityError)
    assert rows(url) == []


def test_a_lock_is_committed_whatever_the_caller_has_open_and_rolls_back(
    service: LockService, url: str, clock: Clock
) -> None:
    execute(url, "CREATE TABLE orders (id INTEGER)")
    with raw(url) as callers:
        callers.execute("BEGIN")
        assert callers.execute("SELECT count(*) FROM orders").fetchone() == (0,)
        service.acquire("plan", "p1", "a")
        callers.execute("ROLLBACK")
    with lockwatch.connect(url, clock=clock) as other, pytest.raises(lockwatch.LockConflictError):
        other.acquire("plan", "p1", "b")


def test_a_refused_acquire_leaves_the_callers_transaction_whole(
    service: LockService, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lockwatch.sqlite_file.BUSY_TIMEOUT_SECS", 0.1)
    execute(url, "CREATE TABLE orders (id INTEGER)")
    service.acquire("plan", "p1", "a")
    with raw(url) as callers:
        callers.execute("BEGIN")
        callers.execute("INSERT INTO orders VALUES (1)")
        with pytest.raises(lockwatch.LockConflictError):
            service.acquire("plan", "p1", "b")
        callers.execute("COMMIT")
    assert execute(url, "SELECT * FROM orders") == [(1,)]


def test_a_snapshot_has_all_rows_in_the_order_of_their_ids(service: LockService, url: str, clock: Clock) -> None:
    numbers = [37, 2, 49, 11, *range(50, 90), 5, 3]
    for number in numbers:
        insert_row(url, f"plan/p{number}", "a", expires_at=LONG_AGO, lock_id=number)
    assert [lock.id for lock in service.snapshot().locks] == sorted(numbers)
    with service._tables.use() as table:
        table.connection.rows("PRAGMA reverse_unordered_selects = ON")
    assert [lock.id for lock in service.snapshot().locks] == sorted(numbers)
    assert service.snapshot().taken_at == clock.now


def test_the_written_form_is_what_is_stored(service: LockService, url: str, clock: Clock) -> None:
    clock.advance(0.5)
    service.acquire("plan", "p1", "a", 5.25)
    ((acquired, expires),) = execute(url, "SELECT acquired_at, expires_at FROM locks")
    assert (acquired, expires) == ("2020-02-29T12:00:00.500000Z", "2020-02-29T12:00:05.750000Z")
    assert acquired == to_text(clock.now)
