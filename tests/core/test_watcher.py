"""Polling: everything that changed is seen, and nothing is read again while nothing did."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import lockwatch
from lockwatch import LockService, LockSnapshot, Watcher
from lockwatch.core.model import Row
from lockwatch.core.table import LockTable
from lockwatch.core.watcher import Rows, compare
from tests.support import Clock, age, execute, insert_row, path_of


@pytest.fixture
def watcher(service: LockService) -> Iterator[Watcher]:
    watching = service.watcher()
    yield watching
    watching.close()


def test_a_snapshot_is_the_same_tuple_while_nothing_changed(
    service: LockService, watcher: Watcher, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.acquire("plan", "p1", "a")
    first = watcher.look()
    monkeypatch.delattr(LockTable, "each")
    clock.advance(1)
    second = watcher.look()
    assert second.locks is first.locks
    assert second.taken_at == clock.now


def test_every_change_is_seen(service: LockService, watcher: Watcher, url: str) -> None:
    steps: list[Callable[[], object]] = [
        lambda: service.acquire("plan", "p1", "a"),
        lambda: service.renew("plan", "p1", "a", 600),
        lambda: insert_row(url, "plan/p2", "b"),
        lambda: age(url, "plan/p1"),
        service.cleanup_expired,
        lambda: service.acquire("plan", "p1", "b"),
        lambda: service.release("plan", "p1", "b"),
    ]
    before = watcher.look().locks
    for step in steps:
        step()
        seen = watcher.look()
        assert LockSnapshot(taken_at=seen.taken_at, locks=seen.locks) == service.snapshot()
        assert seen.locks != before
        before = seen.locks


def test_a_change_between_the_poll_and_its_read_is_seen_by_the_next(
    watcher: Watcher, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = LockTable.each

    def change_after_reading(table: LockTable) -> Iterator[Row]:
        found = list(read(table))
        monkeypatch.undo()
        insert_row(url, "plan/late", "b")
        return iter(found)

    monkeypatch.setattr(LockTable, "each", change_after_reading)
    assert watcher.look().locks == ()
    assert [lock.resource_id for lock in watcher.look().locks] == ["late"]


def test_a_watcher_goes_on_after_the_file_was_away(service: LockService, watcher: Watcher, url: str) -> None:
    service.acquire("plan", "p1", "a")
    before = watcher.look().locks
    path = path_of(url)
    away = path.with_name("away.db")
    path.rename(away)
    for _ in range(2):
        with pytest.raises(lockwatch.DatabaseError, match="no database file"):
            watcher.look()
    away.rename(path)
    assert watcher.look().locks == before


def test_a_watcher_of_a_replaced_file_says_so_once_and_shows_the_new_one(
    service: LockService, watcher: Watcher, url: str
) -> None:
    service.acquire("plan", "old", "a")
    assert len(watcher.look().locks) == 1
    service.close()
    path = path_of(url)
    for file in path.parent.glob("locks.db*"):
        file.rename(file.with_name(f"old-{file.name}"))
    lockwatch.upgrade(url)
    insert_row(url, "plan/new", "b")
    with pytest.raises(lockwatch.DatabaseError, match="replaced"):
        watcher.look()
    assert [lock.resource_id for lock in watcher.look().locks] == ["new"]


def test_a_watcher_says_that_the_table_is_gone_and_comes_back_with_it(watcher: Watcher, url: str) -> None:
    watcher.look()
    execute(url, "ALTER TABLE locks RENAME TO elsewhere")
    for _ in range(2):
        with pytest.raises(lockwatch.DatabaseError, match="locks"):
            watcher.look()
    execute(url, "ALTER TABLE elsewhere RENAME TO locks")
    assert watcher.look().locks == ()


def test_closing_the_service_leaves_a_watcher_alone_and_the_other_way_round(url: str) -> None:
    service = lockwatch.connect(url)
    watcher = service.watcher()
    service.close()
    assert watcher.look().locks == ()
    watcher.close()
    with pytest.raises(lockwatch.LockwatchError, match="closed"):
        watcher.look()


def test_a_row_that_did_not_change_is_the_very_same_lock(service: LockService, watcher: Watcher, url: str) -> None:
    service.acquire("plan", "p1", "a")
    service.acquire("plan", "p2", "a")
    (kept, aged) = watcher.look().locks
    age(url, "plan/p2")
    look = watcher.look()
    assert look.locks[0] is kept
    assert (look.went, look.came) == ((aged,), (look.locks[1],))


def test_what_came_and_went_tells_all_of_the_difference_whatever_the_ids_are() -> None:
    def row(number: object, owner: object, acquired: object = "2020-02-29T12:00:00Z") -> Row:
        return (number, owner, "plan", f"p{owner!r}", acquired, "2020-02-29T12:00:09Z")

    steps = [
        [row(None, "a"), row(None, "b"), row(1, "c"), row("1", "d")],
        [row(None, "b"), row(1, "c"), row(1, "c2"), row("1", "d")],
        [row(1, "c2"), row(1, "c", "2020-02-29T12:00:01Z"), row(2, b"\xff"), row(2, None)],
        [row(1, "c2"), row(1, "c", "2020-02-29T12:00:01Z"), row(2, b"\xff"), row(2, None)],
        [],
    ]
    seen, known = Rows(), dict[int, lockwatch.Lock]()
    for step in steps:
        seen, came, went = compare(seen, step)
        for lock in went:
            del known[id(lock)]
        known |= {id(lock): lock for lock in came}
        assert sorted(map(repr, known.values())) == sorted(map(repr, seen.locks))
        assert list(seen.locks) == [lockwatch.Lock.from_row(cells) for cells in step]
