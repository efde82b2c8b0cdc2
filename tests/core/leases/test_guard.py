"""`guard`: a write that its lease no longer covers is refused, and nobody takes over before the commit."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.orm import Session, scoped_session, sessionmaker

import lockwatch
from lockwatch.core.errors import LossReason
from lockwatch.core.lease import Lease
from tests.core.leases.leasing import (
    PATIENCE_SECS,
    TTL,
    Times,
    write,
    written,
)
from tests.support import age, dump, execute, path_of

# A lease that holds


def test_a_guarded_write_of_a_connection_is_committed(url: str, lease: Lease, engine: Engine) -> None:
    with engine.begin() as connection:
        lease.guard(connection)
        write(connection)
    assert written(url) == 1


@pytest.mark.parametrize("make", [Session, lambda engine: scoped_session(sessionmaker(engine))])
def test_a_guarded_write_of_a_session_is_committed(url: str, lease: Lease, engine: Engine, make: type[Session]) -> None:
    session = make(engine)
    lease.guard(session)
    write(session)
    session.commit()
    session.close()
    assert written(url) == 1


def test_a_guard_within_a_savepoint_of_a_transaction_protects_it(url: str, lease: Lease, engine: Engine) -> None:
    with engine.begin() as connection:
        write(connection)
        with connection.begin_nested():
            lease.guard(connection)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            _try_to_write(url)
    assert written(url) == 1


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
        write(connection)
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
        write(connection)
        getattr(connection, end)()
        assert other.acquire("plan", "p1", "b", ttl_seconds=TTL).id > lease.fence
    assert written(url) == (end == "commit")


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
                write(connection)
        else:
            with Session(engine) as session, session.begin():
                lease.guard(session)
                write(session)
    assert (caught.value.reason, caught.value.holder) == (LossReason.TAKEN_OVER, theirs)
    assert written(url) == 0
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
