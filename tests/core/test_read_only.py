"""One gate for all that could write, a second wall in the database, and files that cannot be written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import lockwatch
from lockwatch import DatabaseError, Lock, LockRuntime, LockService, ReadOnlyError, files, plans
from lockwatch.core import cleaning
from lockwatch.database import Database
from lockwatch.plans import Phase, PlanLifecycleService, PlanState
from tests.plans.placing import put
from tests.support import Clock, execute, insert_row, path_of

WHY = "opened with --read-only"
FUTURE = "2999-01-01T00:00:00.000000Z"


def _watched(service: LockService) -> object:
    with closing(service.watcher()) as watcher:
        return watcher.look().locks


WRITES: dict[str, Callable[[LockService, Lock], object]] = {
    "acquire": lambda service, _: service.acquire("plan", "new", "me"),
    "hold": lambda service, _: service.hold("plan", "new", "me").__enter__(),
    "renew": lambda service, lock: service.renew(*lock.key, lock.owner_id),
    "release": lambda service, lock: service.release(*lock.key, lock.owner_id),
    "release_all_for_owner": lambda service, lock: service.release_all_for_owner(lock.owner_id),
    "cleanup_expired": lambda service, _: service.cleanup_expired(),
    "release_exact": lambda service, lock: service.release_exact(lock),
    "renew_exact": lambda service, lock: service.renew_exact(lock),
    "release_all_exact": lambda service, lock: service.release_all_exact([lock]),
    "renew_all_exact": lambda service, lock: service.renew_all_exact([lock]),
    "purge_exact": lambda service, lock: service.purge_exact([lock]),
    "require_writable": lambda service, _: service.require_writable(),
}
READS: dict[str, Callable[[LockService], object]] = {
    "get": lambda service: service.get("plan", "p1"),
    "snapshot": lambda service: service.snapshot().locks,
    "now": lambda service: service.now(),
    "count_stale_locks": lambda service: service.count_stale_locks(),
    "why_unfenced": lambda service: service.why_unfenced(),
    "watcher": _watched,
    "leases": lambda service: service.leases(),
    "read_only": lambda service: service.read_only,
    "resource_types": lambda service: service.resource_types,
    "drain": lambda service: service.drain(0),
    "shut_down": lambda service: service.shut_down(0),
    "close": lambda service: service.close(),
}
PLAN_WRITES: dict[str, Callable[[PlanLifecycleService], object]] = {
    "create": lambda service: service.create("import", "shop"),
    "advance": lambda service: service.advance("p1"),
    "start": lambda service: service.start("p1"),
    "complete": lambda service: service.complete("p1"),
    "fail": lambda service: service.fail("p1", "x"),
    "constrain": lambda service: service.constrain("p1", "x"),
    "retry": lambda service: service.retry("p1"),
    "revert": lambda service: service.revert("p1"),
    "cancel": lambda service: service.cancel("p1"),
    "run_phase": lambda service: service.run_phase("p1", lambda _: None),
    "recover_abandoned": lambda service: service.recover_abandoned(),
}
PLAN_READS: dict[str, Callable[[PlanLifecycleService], object]] = {
    "is_available": lambda service: service.is_available(),
    "get": lambda service: service.get("p1"),
    "list": lambda service: service.list(),
    "history": lambda service: service.history("p1"),
    "find_abandoned": lambda service: service.find_abandoned(),
    "count_abandoned": lambda service: service.count_abandoned(),
    "locks": lambda service: service.locks.read_only,
    "close": lambda service: service.close(),
}


@pytest.fixture
def lock(url: str) -> Lock:
    """A live lock; beside it there are a stale one and a plan in the midst of a run that somebody left."""
    insert_row(url, "plan/stale", "b")
    put(url, Phase.EXECUTE, PlanState.PROCESSING)
    execute(url, "UPDATE plan_runs SET is_manual = 0")
    with lockwatch.connect(url) as service:
        return service.acquire("project", "p1", "a", 60)


@contextmanager
def _left_as_it_is(url: str) -> Iterator[None]:
    folder = path_of(url).parent
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    yield
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


@contextmanager
def _as_nobody() -> Iterator[None]:
    """Permission bits do not bind root: act as nobody for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def sealed() -> Iterator[str]:
    """A database with a write-ahead log, at rest, in a folder that everybody may enter and nobody may write."""
    with tempfile.TemporaryDirectory() as name:
        url = f"sqlite:///{name}/locks.db"
        lockwatch.upgrade(url)
        insert_row(url, "plan/p1", "a", expires_at=FUTURE)
        Path(name).chmod(0o555)
        yield url
        Path(name).chmod(0o755)


# The gate


@pytest.mark.parametrize("call", WRITES)
def test_what_could_write_is_refused_with_the_reason_and_the_file_stays_as_it_is(
    url: str, lock: Lock, call: str
) -> None:
    with (
        _left_as_it_is(url),
        lockwatch.connect(url, read_only=WHY) as service,
        pytest.raises(ReadOnlyError) as refused,
    ):
        WRITES[call](service, lock)
    assert refused.value.reason == WHY
    assert str(refused.value) == f"read-only, nothing was changed: {WHY}"
    assert (refused.value.exit_code, isinstance(refused.value, lockwatch.LockwatchError)) == (1, True)


@pytest.mark.parametrize("call", READS)
def test_what_reads_answers_as_ever_and_the_file_stays_as_it_is(url: str, lock: Lock, clock: Clock, call: str) -> None:
    with lockwatch.connect(url, clock=clock) as service:
        usual = READS[call](service)
    with _left_as_it_is(url), lockwatch.connect(url, clock=clock, read_only=WHY) as service:
        assert READS[call](service) == (WHY if call == "read_only" else usual)
    assert lock.owner_id == "a"


@pytest.mark.parametrize("call", PLAN_WRITES)
def test_a_plan_is_not_moved(url: str, lock: Lock, call: str) -> None:
    with _left_as_it_is(url), plans.connect(url, read_only=WHY) as service, pytest.raises(ReadOnlyError, match=WHY):
        PLAN_WRITES[call](service)
    assert lock.owner_id == "a"


@pytest.mark.parametrize("call", PLAN_READS)
def test_plans_are_read_as_ever(url: str, lock: Lock, call: str) -> None:
    with plans.connect(url) as service:
        usual = PLAN_READS[call](service)
    with _left_as_it_is(url), plans.connect(url, read_only=WHY) as service:
        assert PLAN_READS[call](service) == (WHY if call == "locks" else usual)
    assert lock.owner_id == "a"


@pytest.mark.parametrize(
    ("service", "known"),
    [(LockService, {*WRITES, *READS}), (PlanLifecycleService, {*PLAN_WRITES, *PLAN_READS})],
    ids=["locks", "plans"],
)
def test_no_public_call_is_forgotten_here(service: type[Any], known: set[str]) -> None:
    of_instances = {"resource_types", "locks"}
    assert {name for name in dir(service) if not name.startswith("_")} | of_instances == known | of_instances


def test_a_wait_for_what_cannot_be_had_is_refused_at_once(url: str, lock: Lock) -> None:
    with lockwatch.connect(url, read_only=WHY) as service, pytest.raises(ReadOnlyError):
        service.acquire(*lock.key, "b", wait_seconds=3600)


def test_a_runtime_clears_nothing_away_where_nothing_may_be_written(url: str, lock: Lock) -> None:
    with _left_as_it_is(url), pytest.raises(ReadOnlyError), LockRuntime(lockwatch.connect(url, read_only=WHY)):
        pytest.fail("it was entered")
    assert lock.owner_id == "a"


def test_a_service_says_whether_it_may_write(url: str) -> None:
    with lockwatch.connect(url) as service:
        assert service.read_only is None
        service.require_writable()
    with lockwatch.connect(url, read_only=True) as service:
        assert service.read_only == "opened to read only"


def test_the_default_file_is_not_made_to_be_read(tmp_path: Path) -> None:
    with lockwatch.connect(read_only=True) as service, pytest.raises(DatabaseError, match="there is no database file"):
        service.snapshot()
    assert not (tmp_path / "home" / "data").exists()


# The second wall


@pytest.mark.parametrize("change", ["insert", "extend", "end"])
def test_behind_the_gate_the_database_refuses_too(url: str, lock: Lock, change: str) -> None:
    given: dict[str, tuple[Any, ...]] = {"insert": (("plan", "new"), "me", 60), "extend": (lock, 600), "end": (lock,)}
    with (
        _left_as_it_is(url),
        lockwatch.connect(url, read_only=WHY) as service,
        pytest.raises(DatabaseError, match="cannot be written"),
        service._tables.look() as table,
    ):
        getattr(table, change)(*given[change])


def test_behind_the_gate_the_database_refuses_a_clean_up_too(url: str) -> None:
    insert_row(url)
    with (
        _left_as_it_is(url),
        lockwatch.connect(url, read_only=WHY) as service,
        pytest.raises(DatabaseError, match="cannot be written"),
        service._tables.look() as table,
    ):
        cleaning.delete_expired(table)


def test_a_watchers_connection_has_that_wall_too(url: str, lock: Lock) -> None:
    with lockwatch.connect(url, read_only=WHY) as service, closing(service.watcher()) as watcher:
        with pytest.raises(ReadOnlyError):
            watcher._tables.use()
        with pytest.raises(DatabaseError, match="cannot be written"), watcher._tables.look() as table:
            table.end(lock)


def test_the_tables_of_plans_have_that_wall_too(url: str, lock: Lock) -> None:
    with (
        _left_as_it_is(url),
        plans.connect(url, read_only=WHY) as service,
        pytest.raises(DatabaseError, match="cannot be written"),
        service._store.transaction(),
    ):
        pytest.fail("a transaction that may write began")
    assert lock.owner_id == "a"


# Files that cannot be written


def test_a_file_that_can_be_written_has_no_reason_not_to_be(url: str) -> None:
    assert Database.from_url(url).why_unwritable() is None


def test_a_file_that_is_not_there_yet_can_be_made(tmp_path: Path) -> None:
    assert files.why_unwritable(tmp_path / "none.db") is None


def test_a_file_that_nobody_may_write_is_left_alone_by_root_too(url: str) -> None:
    path_of(url).chmod(0o444)
    assert Database.from_url(url).why_unwritable() == "the file cannot be written"


@pytest.mark.parametrize("what", ["", "-wal", "-shm", "-journal", "."])
def test_the_file_what_is_beside_it_and_its_folder_must_all_be_writable(
    url: str, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    path = path_of(url)
    refused = path.parent if what == "." else path.with_name(path.name + what)
    if what not in ("", "."):
        refused.touch()
    real = os.access
    monkeypatch.setattr(os, "access", lambda at, *how, **more: at != refused and real(at, *how, **more))
    monkeypatch.setattr(os, "supports_effective_ids", {os.access})
    assert files.why_unwritable(path) == "the file cannot be written"


def test_a_sealed_database_is_read_and_seen_to_be_unwritable(sealed: str) -> None:
    with _as_nobody(), _left_as_it_is(sealed):
        reason = Database.from_url(sealed).why_unwritable()
        assert reason == "the file cannot be written"
        with plans.connect(sealed, read_only=reason) as service:
            assert [lock.owner_id for lock in service.locks.snapshot().locks] == ["a"]
            assert service.list() == ()
        assert Database.from_url(sealed).is_at_head()


def test_a_change_to_a_sealed_database_is_not_overlooked(sealed: str) -> None:
    with lockwatch.connect(sealed, read_only=WHY) as service, closing(service.watcher()) as watcher:
        with _as_nobody():
            assert len(watcher.look().locks) == 1
        path_of(sealed).parent.chmod(0o755)
        insert_row(sealed, "plan/p2", "b")
        path_of(sealed).parent.chmod(0o555)
        with _as_nobody():
            with pytest.raises(DatabaseError, match="replaced since it was opened"):
                watcher.look()
            assert len(watcher.look().locks) == 2


def test_a_sealed_database_that_others_begin_to_write_is_read_with_their_log(sealed: str) -> None:
    with lockwatch.connect(sealed, read_only=WHY) as service, closing(service.watcher()) as watcher:
        with _as_nobody():
            assert len(watcher.look().locks) == 1
        path_of(sealed).parent.chmod(0o755)
        with lockwatch.connect(sealed) as other:
            other.acquire("plan", "p2", "b")
            path_of(sealed).parent.chmod(0o555)
            with _as_nobody():
                with pytest.raises(DatabaseError, match="replaced since it was opened"):
                    watcher.look()
                assert len(watcher.look().locks) == 2
            other.release("plan", "p2", "b")
            with _as_nobody():
                assert len(watcher.look().locks) == 1
            path_of(sealed).parent.chmod(0o755)


# Rows that nothing names


@pytest.mark.parametrize("cell", [None, 2.5, "x", b"\xff"])
def test_a_row_whose_id_is_no_number_is_said_to_be_so_at_once(url: str, cell: object) -> None:
    execute(url, "DROP TABLE locks")
    execute(url, "CREATE TABLE locks (id, owner_id, resource_type, resource_id, acquired_at, expires_at)")
    execute(url, "INSERT INTO locks VALUES (?, 'a', 'plan', 'p1', 'x', ?)", (cell, FUTURE))
    with lockwatch.connect(url) as service:
        for call in (service.release, service.renew):
            with pytest.raises(DatabaseError, match="the lock of plan/p1 cannot be changed: its id is no whole number"):
                call("plan", "p1", "a")
        assert service.release_all_for_owner("a") == 0
    assert execute(url, "SELECT count(*) FROM locks") == [(1,)]
