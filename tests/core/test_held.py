"""Connections that are held: files that go or change, threads, forks, closing."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import create_engine, create_mock_engine
from sqlalchemy.pool import NullPool

import lockwatch
from lockwatch import LockService, ValidationError
from lockwatch.core.held import MAX_IDLE
from lockwatch.core.table import LockTable
from tests.support import ROOT, Clock, execute, path_of, rows


def _with_its_log(path: Path) -> list[Path]:
    return [path.with_name(path.name + ending) for ending in ("", "-wal", "-shm")]


def _move(path: Path, to: Path) -> None:
    for old, new in zip(_with_its_log(path), _with_its_log(to), strict=True):
        if old.exists():
            old.rename(new)


# Files that go or change


def test_a_file_that_was_moved_is_an_error_until_it_comes_back(service: LockService, url: str) -> None:
    lock = service.acquire("plan", "p1", "a")
    path = path_of(url)
    _move(path, path.with_name("moved.db"))
    calls: list[Callable[[], object]] = [
        lambda: service.acquire("plan", "p2", "a"),
        lambda: service.renew("plan", "p1", "a"),
        lambda: service.release("plan", "p1", "a"),
        lambda: service.release_all_for_owner("a"),
        lambda: service.get("plan", "p1"),
        lambda: service.release_exact(lock),
        lambda: service.renew_exact(lock),
        lambda: service.purge_exact([lock]),
        service.cleanup_expired,
        service.count_stale_locks,
        service.snapshot,
        service.now,
    ]
    for call in calls:
        with pytest.raises(lockwatch.DatabaseError, match=r"there is no database file .*locks\.db"):
            call()
    _move(path.with_name("moved.db"), path)
    assert service.snapshot().locks == (lock,)
    assert service.renew("plan", "p1", "a", 600).id == lock.id


@pytest.mark.parametrize("log_is_left", [False, True])
def test_a_file_that_was_deleted_is_an_error_until_there_is_a_new_one(
    service: LockService, url: str, log_is_left: bool
) -> None:
    service.acquire("plan", "p1", "a")
    for file in _with_its_log(path_of(url))[: 1 if log_is_left else 3]:
        file.unlink()
    for _ in range(2):
        with pytest.raises(lockwatch.DatabaseError, match="no database file"):
            service.acquire("plan", "p1", "a")
    assert not path_of(url).exists()
    lockwatch.upgrade(url)
    assert service.snapshot().locks == ()
    assert service.acquire("plan", "p1", "b").owner_id == "b"
    assert execute(url, "PRAGMA integrity_check") == [("ok",)]


def test_a_file_that_was_replaced_is_an_error_once_and_grants_nothing_in_the_old_one(
    service: LockService, url: str
) -> None:
    service.acquire("plan", "p1", "a")
    path = path_of(url)
    old = path.with_name("old.db")
    _move(path, old)
    lockwatch.upgrade(url)
    with pytest.raises(lockwatch.DatabaseError, match="replaced"):
        service.acquire("plan", "p2", "a")
    assert service.acquire("plan", "p1", "b").id == 1
    assert [cells[1:4] for cells in rows(url)] == [(b"b", b"plan", b"p1")]
    assert [cells[1:4] for cells in rows(f"sqlite:///{old}")] == [(b"a", b"plan", b"p1")]
    for database in (url, f"sqlite:///{old}"):
        assert execute(database, "PRAGMA integrity_check") == [("ok",)]


def test_a_file_that_was_replaced_under_many_connections_leaves_none_on_the_old_one(
    service: LockService, url: str
) -> None:
    _use_at_once(service, 6)
    path = path_of(url)
    _move(path, path.with_name("old.db"))
    lockwatch.upgrade(url)
    with pytest.raises(lockwatch.DatabaseError, match="replaced"):
        service.snapshot()
    for number in range(8):
        service.acquire("plan", f"p{number}", "a")
    assert len(rows(url)) == 8


def test_a_link_that_leads_elsewhere_now_is_a_replaced_file(url: str, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    lockwatch.upgrade(f"sqlite:///{other}")
    link = tmp_path / "link.db"
    link.symlink_to(path_of(url))
    with lockwatch.connect(f"sqlite:///{link}") as service:
        service.acquire("plan", "p1", "a")
        link.unlink()
        link.symlink_to(other)
        with pytest.raises(lockwatch.DatabaseError, match="replaced"):
            service.acquire("plan", "p1", "a")
        assert service.acquire("plan", "p1", "b").owner_id == "b"


def test_a_file_replaced_while_it_is_opened_is_an_error(url: str) -> None:
    identities = iter([1, 2, 3, 3, 3])
    database = lockwatch.database.Database.from_url(url)
    with LockService(database.engine(), identity=lambda: next(identities)) as service:
        with pytest.raises(lockwatch.DatabaseError, match="while it was opened"):
            service.snapshot()
        assert service.snapshot().locks == ()


def test_a_broken_connection_is_replaced_by_the_next_call(service: LockService) -> None:
    service.acquire("plan", "p1", "a")
    with service._tables.use() as table:
        table.connection._driver.close()
    with pytest.raises(lockwatch.DatabaseError, match="closed"):
        service.snapshot()
    assert len(service.snapshot().locks) == 1


# Threads


def _use_at_once(service: LockService, count: int) -> None:
    barrier = threading.Barrier(count)

    def use() -> None:
        with service._tables.use():
            barrier.wait(30)

    with ThreadPoolExecutor(count) as pool:
        for future in [pool.submit(use) for _ in range(count)]:
            future.result()


def test_many_threads_share_one_service(service: LockService) -> None:
    threads, cycles = 16, 25
    granted: list[tuple[str, int]] = []

    def work(owner: str) -> int:
        conflicts = 0
        for number in range(cycles):
            try:
                lock = service.acquire("plan", f"p{number % 3}", owner)
            except lockwatch.LockConflictError:
                conflicts += 1
                continue
            granted.append((lock.resource, lock.id))
            assert service.renew("plan", lock.resource_id, owner, 600).id == lock.id
            assert service.release("plan", lock.resource_id, owner)
        return conflicts

    with ThreadPoolExecutor(threads) as pool:
        conflicts = sum(pool.map(work, [f"t{number}" for number in range(threads)]))
    assert len(granted) == len(set(granted)) == threads * cycles - conflicts
    assert len({number for _, number in granted}) == len(granted)
    assert service.snapshot().locks == ()


def test_no_more_connections_stay_open_than_are_needed(service: LockService) -> None:
    _use_at_once(service, MAX_IDLE + 4)
    assert len(service._tables._idle) == MAX_IDLE
    service.close()
    assert len(service._tables._idle) == 0


# Closing


def test_a_closed_service_refuses_every_call(url: str) -> None:
    with lockwatch.connect(url) as service:
        lock = service.acquire("plan", "p1", "a")
    before = rows(url)
    calls: list[Callable[[], object]] = [
        lambda: service.acquire("plan", "p2", "a"),
        lambda: service.renew("plan", "p1", "a"),
        lambda: service.release("plan", "p1", "a"),
        lambda: service.get("plan", "p1"),
        lambda: service.purge_exact([lock]),
        service.snapshot,
        service.now,
    ]
    for call in calls:
        with pytest.raises(lockwatch.LockwatchError, match="closed"):
            call()
    assert rows(url) == before
    service.close()


def test_closing_lets_a_call_that_is_under_way_end(service: LockService, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, go_on = threading.Event(), threading.Event()
    insert = LockTable.insert

    def slow(table: LockTable, *given: object) -> object:
        inside.set()
        assert go_on.wait(30)
        return insert(table, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(LockTable, "insert", slow)
    with ThreadPoolExecutor(1) as pool:
        grant = pool.submit(service.acquire, "plan", "p1", "a")
        assert inside.wait(30)
        service.close()
        go_on.set()
        assert grant.result().owner_id == "a"
    assert len(service._tables._idle) == 0


def test_closing_while_threads_work_raises_nothing_but_closed(url: str) -> None:
    service = lockwatch.connect(url)
    started = threading.Barrier(9)

    def work(owner: str) -> str:
        started.wait(30)
        try:
            while True:
                service.acquire("plan", owner, owner)
                service.release("plan", owner, owner)
        except lockwatch.LockwatchError as error:
            return str(error)

    with ThreadPoolExecutor(8) as pool:
        ends = [pool.submit(work, f"t{number}") for number in range(8)]
        started.wait(30)
        service.close()
        assert all(end.result(30).startswith("the lock service is closed") for end in ends)
    assert len(service._tables._idle) == 0


# Forks

FORK = """
import gc, os, sys
import lockwatch

url, what = sys.argv[1:]
service = lockwatch.connect(url)
watcher = service.watcher()
mine = service.acquire("plan", "parent", "parent")
watcher.look()
assert len(service._tables._idle) == len(watcher._tables._idle) == 1
child = os.fork()
if child == 0:
    assert not service._tables._idle and not watcher._tables._idle
    if what == "use":
        assert service.acquire("plan", "child", "child").id > mine.id
        assert len(watcher.look().locks) == 2
        service.release("plan", "child", "child")
    if what in ("close", "use"):
        service.close()
        watcher.close()
    del service, watcher
    gc.collect()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
for number in range(20):
    service.acquire("plan", f"p{number}", "parent")
assert len(watcher.look().locks) == 21
assert service._tables._idle[0].connection.rows("PRAGMA integrity_check") == [("ok",)]
service.close()
watcher.close()
"""


@pytest.mark.parametrize("what", ["use", "close", "nothing"])
def test_a_fork_leaves_no_open_connection_to_the_child_and_both_go_on(url: str, what: str) -> None:
    script = [sys.executable, "-c", textwrap.dedent(FORK), url, what]
    ended = subprocess.run(
        script, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(rows(url)) == 21


def test_leases_do_not_depend_on_the_connection_that_took_them(url: str, clock: Clock) -> None:
    with lockwatch.connect(url, clock=clock) as service:
        lock = service.acquire("plan", "p1", "a")
    with lockwatch.connect(url, clock=clock) as service:
        assert service.get("plan", "p1") == lock
        assert service.release("plan", "p1", "a")


def test_a_service_on_an_engine_of_the_callers_own_commits_what_it_grants(url: str) -> None:
    one, other = (LockService(create_engine(url, poolclass=NullPool)) for _ in range(2))
    with one, other:
        granted = one.acquire("plan", "p1", "A")
        assert other.get("plan", "p1") == granted


def test_an_engine_of_another_kind_of_database_is_refused_by_name() -> None:
    engine = create_mock_engine("oracle://", lambda *_, **__: None)
    with pytest.raises(ValidationError, match="'oracle'"):
        LockService(engine)  # type: ignore[arg-type]


@pytest.mark.parametrize("driver", ["postgresql+psycopg2", "mysql+mysqldb"])
def test_an_engine_whose_driver_is_another_one_is_refused_by_its_name(driver: str) -> None:
    engine = create_mock_engine(f"{driver}://", lambda *_, **__: None)
    with pytest.raises(ValidationError, match="must use the driver"):
        LockService(engine)  # type: ignore[arg-type]
