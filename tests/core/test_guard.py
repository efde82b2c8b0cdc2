"""`guard`: a write that its lease no longer covers is refused, and nobody takes over before the commit."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.orm import Session, scoped_session, sessionmaker

import lockwatch
from lockwatch.core.errors import LossReason
from lockwatch.core.lease import Lease
from tests.core.leasing import PATIENCE_SECS, Times, eventually, service_at
from tests.support import age, dump, execute, path_of, raw, row

TTL = 30.0


@pytest.fixture
def times() -> Times:
    return Times()


@pytest.fixture
def service(url: str, times: Times, monkeypatch: pytest.MonkeyPatch) -> Iterator[lockwatch.LockService]:
    monkeypatch.setattr("lockwatch.core.rounds.TICK_SECS", 0.01)
    with service_at(url, times) as opened:
        yield opened


@pytest.fixture
def lease(service: lockwatch.LockService) -> Iterator[Lease]:
    hold = service.hold("plan", "p1", "a", ttl_seconds=TTL)
    yield hold.__enter__()
    hold.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    """The caller's own engine on the same database, with a table to write to."""
    execute(url, "CREATE TABLE work (done TEXT)")
    made = create_engine(url, connect_args={"timeout": 0.1})
    yield made
    made.dispose()


def _write(connection: Connection | Session) -> None:
    connection.execute(text("INSERT INTO work VALUES ('x')"))


def _written(url: str) -> int:
    ((count,),) = execute(url, "SELECT count(*) FROM work")
    return int(count)


# A lease that holds


def test_a_guarded_write_of_a_connection_is_committed(url: str, lease: Lease, engine: Engine) -> None:
    with engine.begin() as connection:
        lease.guard(connection)
        _write(connection)
    assert _written(url) == 1


@pytest.mark.parametrize("make", [Session, lambda engine: scoped_session(sessionmaker(engine))])
def test_a_guarded_write_of_a_session_is_committed(url: str, lease: Lease, engine: Engine, make: type[Session]) -> None:
    session = make(engine)
    lease.guard(session)
    _write(session)
    session.commit()
    session.close()
    assert _written(url) == 1


def test_a_guard_within_a_savepoint_of_a_transaction_protects_it(url: str, lease: Lease, engine: Engine) -> None:
    with engine.begin() as connection:
        _write(connection)
        with connection.begin_nested():
            lease.guard(connection)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            _try_to_write(url)
    assert _written(url) == 1


def test_a_guard_changes_nothing(url: str, lease: Lease, engine: Engine) -> None:
    before = dump(url)
    with engine.begin() as connection:
        lease.guard(connection)
        lease.guard(connection)
    assert dump(url) == before


def test_a_guarded_transaction_that_is_rolled_back_leaves_all_as_it_was(url: str, lease: Lease, engine: Engine) -> None:
    before = dump(url)
    with engine.connect() as connection:
        lease.guard(connection)
        _write(connection)
        connection.rollback()
    assert dump(url) == before
    lease.check()


def _try_to_write(url: str) -> None:
    with closing(sqlite3.connect(path_of(url), timeout=0)) as connection:
        connection.execute("INSERT INTO work VALUES ('y')")


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_nobody_takes_the_lease_over_between_the_guard_and_the_end_of_the_transaction(
    url: str, lease: Lease, engine: Engine, times: Times, end: str
) -> None:
    impatient = create_engine(
        "sqlite://", creator=lambda: sqlite3.connect(path_of(url), timeout=0, isolation_level=None), paramstyle="named"
    )
    with lockwatch.LockService(impatient, clock=times.wall) as other, engine.connect() as connection:
        lease.guard(connection)
        times.wall.advance(2 * TTL)  # by the clock that judges it is free for everybody now
        for _ in range(3):
            with pytest.raises(lockwatch.DatabaseBusyError):
                other.acquire("plan", "p1", "b", ttl_seconds=TTL)
        _write(connection)
        getattr(connection, end)()
        assert other.acquire("plan", "p1", "b", ttl_seconds=TTL).id > lease.fence
    assert _written(url) == (end == "commit")


# A lease that is lost


def test_the_guard_of_a_lease_that_is_known_to_be_lost_does_not_touch_the_database(
    lease: Lease, engine: Engine, times: Times
) -> None:
    statements: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    times.advance(TTL)
    with engine.connect() as connection, pytest.raises(lockwatch.LockExpiredError):
        lease.guard(connection)
    assert not statements


@pytest.mark.parametrize("kind", ["connection", "session"])
def test_a_write_after_a_takeover_is_refused_although_no_heartbeat_told_of_it(
    url: str, service: lockwatch.LockService, lease: Lease, engine: Engine, kind: str
) -> None:
    age(url, "plan/p1")
    theirs = service.acquire("plan", "p1", "b", ttl_seconds=TTL)
    with pytest.raises(lockwatch.LockExpiredError) as caught:  # noqa: PT012 as a caller would write it
        if kind == "connection":
            with engine.begin() as connection:
                lease.guard(connection)
                _write(connection)
        else:
            with Session(engine) as session, session.begin():
                lease.guard(session)
                _write(session)
    assert (caught.value.reason, caught.value.holder) == (LossReason.TAKEN_OVER, theirs)
    assert _written(url) == 0
    assert service.get("plan", "p1") == theirs


def test_what_a_guard_found_is_signalled_without_waiting_for_the_next_heartbeat(
    url: str, service: lockwatch.LockService, lease: Lease, engine: Engine
) -> None:
    age(url, "plan/p1")
    service.acquire("plan", "p1", "b", ttl_seconds=TTL)
    with engine.connect() as connection, pytest.raises(lockwatch.LockExpiredError):
        lease.guard(connection)
    assert lease.lost.wait(PATIENCE_SECS), "no clock was moved"
    assert lease.lost_reason is not None
    assert lease.lost_reason.reason is LossReason.TAKEN_OVER


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("DELETE FROM locks", LossReason.REMOVED),
        ("UPDATE locks SET expires_at = '2001-01-01'", LossReason.EXPIRED),
        ("UPDATE locks SET expires_at = 'soon'", LossReason.UNREADABLE),
        ("UPDATE locks SET owner_id = 'c'", LossReason.TAKEN_OVER),
        ("UPDATE locks SET id = 77", LossReason.TAKEN_OVER),
    ],
)
def test_a_guard_says_why_the_lease_is_lost(
    url: str, lease: Lease, engine: Engine, sql: str, reason: LossReason
) -> None:
    execute(url, sql)
    with engine.connect() as connection, pytest.raises(lockwatch.LockExpiredError) as caught:
        lease.guard(connection)
    assert caught.value.reason is reason


def test_a_lease_that_ran_out_by_the_clock_that_judges_is_refused(lease: Lease, engine: Engine, times: Times) -> None:
    times.wall.advance(TTL)
    with engine.connect() as connection, pytest.raises(lockwatch.LockExpiredError) as caught:
        lease.guard(connection)
    assert caught.value.reason is LossReason.EXPIRED


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
        _write(connection)
    engine.dispose()
    assert _written(url) == 1


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
    assert (_written(url), _written(untaken)) == (0, 0)


def _start(url: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(_STOPPED), url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _is_expired(url: str) -> bool:
    with lockwatch.connect(url) as service:
        lock = service.get("plan", "p1")
        return lock is not None and lock.is_expired(service.now())
