"""A database that another connection keeps locked: held by another is a conflict, anything else says so."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator

import pytest

import lockwatch
from lockwatch import LockService
from lockwatch.sqlite_file import SqliteFile
from tests.support import Clock, age, execute, path_of, raw, rows


@pytest.fixture(autouse=True)
def short_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lockwatch.sqlite_file.BUSY_TIMEOUT_SECS", 0.05)


@pytest.fixture
def locked(service: LockService, url: str) -> Iterator[sqlite3.Connection]:
    """Another connection in the middle of a write; p1 is a's, p2 is stale."""
    service.acquire("plan", "p1", "a")
    service.acquire("plan", "p2", "a")
    age(url, "plan/p2")
    with raw(url) as holding:
        holding.execute("BEGIN IMMEDIATE")
        yield holding


@pytest.mark.usefixtures("locked")
def test_a_resource_that_another_holds_is_a_conflict(service: LockService) -> None:
    with pytest.raises(lockwatch.LockConflictError) as refused:
        service.acquire("plan", "p1", "b")
    assert refused.value.holder == service.get("plan", "p1")
    assert isinstance(refused.value.__cause__, lockwatch.DatabaseBusyError)


@pytest.mark.usefixtures("locked")
@pytest.mark.parametrize(
    "change",
    [
        lambda service: service.acquire("plan", "free", "b"),
        lambda service: service.acquire("plan", "p2", "b"),
        lambda service: service.acquire("plan", "p1", "a", 600),
        lambda service: service.renew("plan", "p1", "a", 600),
        lambda service: service.release("plan", "p1", "a"),
        lambda service: service.release_all_for_owner("a"),
        lambda service: service.cleanup_expired(),
        lambda service: service.release_exact(service.get("plan", "p1")),
        lambda service: service.renew_exact(service.get("plan", "p1"), 600),
        lambda service: service.purge_exact(service.snapshot().stale),
    ],
)
def test_any_other_change_is_a_busy_database_and_nothing_is_changed(
    service: LockService, url: str, change: Callable[[LockService], object]
) -> None:
    before = rows(url)
    with pytest.raises(lockwatch.DatabaseBusyError, match="another connection keeps the database locked") as busy:
        change(service)
    assert isinstance(busy.value.__cause__, sqlite3.OperationalError)
    assert rows(url) == before


def test_readers_do_not_wait_for_a_writer(service: LockService, locked: sqlite3.Connection) -> None:
    locked.execute("DELETE FROM locks")
    assert [lock.resource_id for lock in service.snapshot().locks] == ["p1", "p2"]
    assert service.count_stale_locks() == 1
    assert service.get("plan", "p1") is not None
    locked.execute("ROLLBACK")


def test_a_call_goes_on_when_the_database_is_free_again(service: LockService, locked: sqlite3.Connection) -> None:
    with pytest.raises(lockwatch.DatabaseBusyError):
        service.acquire("plan", "free", "b")
    locked.execute("COMMIT")
    assert service.acquire("plan", "free", "b").owner_id == "b"


def test_a_file_without_a_write_ahead_log_works_too(url: str, clock: Clock) -> None:
    assert execute(url, "PRAGMA journal_mode = DELETE") == [("delete",)]
    with lockwatch.connect(url, clock=clock) as service:
        service.acquire("plan", "p1", "a", 60)
        with service._tables.use() as table:
            assert table.connection.rows("PRAGMA synchronous") == [(2,)]
        with raw(url) as holding:
            holding.execute("BEGIN EXCLUSIVE")
            with pytest.raises(lockwatch.DatabaseBusyError):
                service.acquire("plan", "p1", "b")
        with pytest.raises(lockwatch.LockConflictError):
            service.acquire("plan", "p1", "b")
    assert not path_of(url).with_name("locks.db-wal").exists()


def test_a_grant_is_reported_only_after_its_commit(url: str, clock: Clock) -> None:
    execute(url, "PRAGMA journal_mode = DELETE")
    with lockwatch.connect(url, clock=clock) as service, raw(url) as reading:
        mine = service.acquire("plan", "p1", "a", 60)
        reading.execute("BEGIN")
        assert len(reading.execute("SELECT id FROM locks").fetchall()) == 1
        # Without a write-ahead log a reader lets a writer do all its work, and stops it at the commit.
        for change in (
            lambda: service.acquire("plan", "p2", "a"),
            lambda: service.renew("plan", "p1", "a", 600),
            lambda: service.release("plan", "p1", "a"),
            lambda: service.release_exact(mine),
        ):
            with pytest.raises(lockwatch.DatabaseBusyError):
                change()
        reading.execute("COMMIT")
        assert service.snapshot().locks == (mine,)


def test_a_database_that_cannot_be_written_is_said_and_can_be_read(
    service: LockService, url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = service.acquire("plan", "p1", "a")
    connect = SqliteFile._connect

    def read_only(database: SqliteFile, _mode: str = "rw", timeout: float = 5) -> sqlite3.Connection:
        return connect(database, "ro", timeout)

    monkeypatch.setattr(SqliteFile, "_connect", read_only)
    with lockwatch.connect(url, clock=clock) as reader:
        assert reader.snapshot().locks == (held,)
        for call in (lambda: reader.acquire("plan", "p2", "b"), lambda: reader.release("plan", "p1", "a")):
            with pytest.raises(lockwatch.DatabaseError, match="cannot be written"):
                call()


def test_a_damaged_file_is_said(service: LockService, url: str) -> None:
    service.acquire("plan", "p1", "a")
    service.close()
    path = path_of(url)
    content = bytearray(path.read_bytes())
    content[4096:] = b"\x5a" * (len(content) - 4096)
    path.write_bytes(content)
    with lockwatch.connect(url) as reader, pytest.raises(lockwatch.DatabaseError, match="damaged"):
        reader.snapshot()
