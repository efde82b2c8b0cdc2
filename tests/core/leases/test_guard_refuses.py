"""Connections and databases that `guard` refuses, and a process that was stopped."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.orm import Session

import lockwatch
from lockwatch.core.lease import Lease
from tests.core.leases.leasing import (
    PATIENCE_SECS,
    TTL,
    Times,
    eventually,
    write,
    written,
)
from tests.support import dump, execute, path_of, raw, row

# Connections that protect nothing


def _in_autocommit_by_engine(url: str) -> Engine:
    return create_engine(url, isolation_level="AUTOCOMMIT")


def _in_autocommit_by_option(url: str) -> Engine:
    return create_engine(url).execution_options(isolation_level="AUTOCOMMIT")


def _in_autocommit_by_driver(url: str) -> Engine:
    return create_engine("sqlite://", creator=lambda: sqlite3.connect(path_of(url), isolation_level=None))


@pytest.mark.parametrize("make", [_in_autocommit_by_engine, _in_autocommit_by_option, _in_autocommit_by_driver])
def test_a_connection_in_autocommit_is_refused(url: str, lease: Lease, make: object) -> None:
    engine = make(url)  # type: ignore[operator]
    before = dump(url)
    with engine.connect() as connection, pytest.raises(lockwatch.ValidationError, match="AUTOCOMMIT"):
        lease.guard(connection)
    with Session(engine) as session, pytest.raises(lockwatch.ValidationError, match="AUTOCOMMIT"):
        lease.guard(session)
    engine.dispose()
    assert dump(url) == before


def test_a_connection_that_was_put_into_autocommit_is_refused(lease: Lease, engine: Engine) -> None:
    with engine.connect() as connection, pytest.raises(lockwatch.ValidationError, match="AUTOCOMMIT"):
        lease.guard(connection.execution_options(isolation_level="AUTOCOMMIT"))


def test_a_driver_that_never_begins_by_itself_is_taken_where_the_caller_begins(url: str, lease: Lease) -> None:
    engine = _in_autocommit_by_driver(url)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    execute(url, "CREATE TABLE work (done TEXT)")
    with engine.begin() as connection:
        lease.guard(connection)
        write(connection)
    engine.dispose()
    assert written(url) == 1


def test_what_is_no_connection_of_sqlalchemy_is_refused(url: str, lease: Lease, engine: Engine) -> None:
    with raw(url) as driver:
        for wrong in (engine, driver, None, "connection"):
            with pytest.raises(lockwatch.ValidationError, match="connection or a session of SQLAlchemy"):
                lease.guard(wrong)  # type: ignore[arg-type]


# Databases that do not do


def test_a_transaction_that_read_what_others_changed_since_is_told_to_retry(url: str, lease: Lease) -> None:
    engine = _in_autocommit_by_driver(url)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    execute(url, "CREATE TABLE work (done TEXT)")
    with engine.connect() as connection:
        connection.execute(text("SELECT * FROM work")).all()
        execute(url, "INSERT INTO work VALUES ('y')")
        with pytest.raises(lockwatch.DatabaseBusyError, match="retry the transaction"):
            lease.guard(connection)
        connection.rollback()
        lease.guard(connection)
        connection.rollback()
    engine.dispose()
    lease.check()


def test_a_guard_that_waited_too_long_for_another_writer_is_told_to_retry(
    url: str, lease: Lease, engine: Engine
) -> None:
    with raw(url) as writer, engine.connect() as connection:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(lockwatch.DatabaseBusyError, match="retry the transaction"):
            lease.guard(connection)
        writer.execute("ROLLBACK")
        lease.guard(connection)


def test_another_database_without_our_table_is_a_clear_error(lease: Lease, tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/other.db")
    with engine.connect() as connection, pytest.raises(lockwatch.DatabaseError, match="`locks`"):
        lease.guard(connection)
    engine.dispose()


def test_another_database_with_our_table_refuses_but_does_not_lose_the_lease(
    lease: Lease, times: Times, tmp_path: Path
) -> None:
    other = f"sqlite:///{tmp_path}/other.db"
    lockwatch.upgrade(other)
    engine = create_engine(other)
    with engine.connect() as connection, pytest.raises(lockwatch.LockExpiredError):
        lease.guard(connection)
    engine.dispose()
    assert eventually(lambda: not lease.is_doubted)
    times.advance(TTL / 3)
    assert eventually(lambda: lease.remaining() == TTL)


def test_a_database_that_cannot_be_written_is_a_clear_error(url: str, lease: Lease) -> None:
    engine = create_engine(f"sqlite:///file:{path_of(url)}?mode=ro&uri=true")
    with engine.connect() as connection, pytest.raises(lockwatch.DatabaseError, match="cannot be written"):
        lease.guard(connection)
    engine.dispose()


# A process that is stopped

_STOPPED = """
    import os, signal, sys, time
    import lockwatch
    from sqlalchemy import create_engine, text

    url = sys.argv[1]
    with lockwatch.connect(url) as service:
        hold = service.hold("plan", "p1", "a", ttl_seconds=5)
        lease = hold.__enter__()
        print("held", flush=True)
        sys.stdin.readline()
        refused = []
        try:
            lease.check()
        except lockwatch.LockExpiredError as error:
            refused.append("check")
        try:
            with create_engine(url).begin() as connection:
                lease.guard(connection)
                connection.execute(text("INSERT INTO work VALUES ('late')"))
        except lockwatch.LockExpiredError as error:
            refused.append("guard")
        print(*refused, lease.lost.is_set(), lease.lost_reason.reason.name, flush=True)
        hold.__exit__(KeyboardInterrupt, None, None)
"""


def test_a_process_that_was_stopped_past_its_ttl_has_lost_its_lease_and_cannot_write(url: str) -> None:
    """Two of them: one lease is taken over meanwhile, the other by nobody."""
    execute(url, "CREATE TABLE work (done TEXT)")
    untaken = url.replace("locks.db", "untaken.db")
    with raw(url) as source, closing(sqlite3.connect(path_of(untaken))) as copy:
        source.backup(copy)
    stopped = [_start(at) for at in (url, untaken)]
    for process in stopped:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        os.kill(process.pid, signal.SIGSTOP)
    with lockwatch.connect(url) as service:
        theirs = service.acquire("plan", "p1", "b", wait_seconds=PATIENCE_SECS)
        before = row(url, "plan/p1")
        assert eventually(lambda: _is_expired(untaken))
        for process in stopped:
            os.kill(process.pid, signal.SIGCONT)
            assert process.communicate("go on\n", timeout=PATIENCE_SECS)[0] == "check guard True EXPIRED\n"
        assert row(url, "plan/p1") == before
        assert service.get("plan", "p1") == theirs
    assert (written(url), written(untaken)) == (0, 0)


def _start(url: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(_STOPPED), url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _is_expired(url: str) -> bool:
    with lockwatch.connect(url) as service:
        lock = service.get("plan", "p1")
        return lock is not None and lock.is_expired(service.now())
