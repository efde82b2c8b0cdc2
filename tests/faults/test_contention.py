"""Deadlocks and serialisation failures provoked, and servers that let nobody more in."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Final

import psycopg
import pymysql  # type: ignore[import-untyped] # the driver has no types
import pytest
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.pool import NullPool

import lockwatch
from lockwatch import Lease, LockService
from lockwatch.database import Database
from tests.contract.sites import Site
from tests.faults.crew import Crew
from tests.faults.worker import WRITES

PATIENCE_SECS: Final = 20.0


def _guard_both(site: Site, leases: tuple[Lease, Lease], meeting: threading.Barrier) -> list[str]:
    """Guard two leases, one after the other, in one transaction: with what words it was refused until it was done."""
    engine = Database.from_url(site.url).transactional_engine()
    refusals: list[str] = []
    give_up_at = time.monotonic() + PATIENCE_SECS
    while True:
        try:
            with engine.begin() as connection:
                leases[0].guard(connection)
                if not refusals:
                    meeting.wait(PATIENCE_SECS)
                leases[1].guard(connection)
        except lockwatch.DatabaseBusyError as busy:
            refusals.append(str(busy))
            if time.monotonic() > give_up_at:
                raise
        else:
            return refusals


def test_a_deadlock_between_guards_refuses_one_of_them_and_its_transaction_can_be_retried(served: Site) -> None:
    with lockwatch.connect(served.url) as service, ThreadPoolExecutor(2) as pool:
        with service.hold("plan", "p1") as one, service.hold("plan", "p2") as two:
            meeting = threading.Barrier(2)
            done = [pool.submit(_guard_both, served, pair, meeting) for pair in ((one, two), (two, one))]
            refusals = [words for future in done for words in future.result()]
        assert served.rows() == []
    assert refusals
    assert all("retry the transaction" in words for words in refusals)


def _in_the_way(site: Site, stop: threading.Event) -> None:
    """Another program that locks rows of the table in any order, for a moment each time."""
    with site.raw() as run:
        while not stop.is_set():
            for order in ("ASC", "DESC"):
                try:
                    run("BEGIN")
                    run(f"SELECT id FROM locks ORDER BY id {order} FOR UPDATE")  # noqa: S608 # one of the two above
                    run("COMMIT")
                except (psycopg.errors.DeadlockDetected, pymysql.err.OperationalError):
                    run("ROLLBACK")
            time.sleep(0.005)


def test_no_deadlock_with_a_strangers_transactions_reaches_a_worker(served: Site, crew: Crew) -> None:
    served.execute("DROP TABLE IF EXISTS fault_writes")
    served.execute(WRITES.format(number=served.numbered))
    stop = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        strangers = [pool.submit(_in_the_way, served, stop) for _ in range(2)]
        for _ in range(3):
            crew.hire(served.url)
        crew.wait_for_grants(6)
        codes = crew.finish()
        stop.set()
        for stranger in strangers:
            stranger.result()
    found = crew.check(longest_call_seconds=25)
    assert codes == [0] * 3
    assert found.violations == []
    assert set(found.errors) <= {"LockExpiredError", "write: DatabaseBusyError", "write: OperationalError"}


def test_what_a_transaction_cannot_see_yet_is_a_serialisation_failure_to_be_retried(served: Site) -> None:
    url = Database.from_url(served.url).engine().url
    if served.kind == "mysql":
        if not served.execute("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'"):
            pytest.skip("this MariaDB knows no snapshot isolation: its locking reads see the newest row")
        url = url.update_query_dict({"init_command": "SET innodb_snapshot_isolation = ON"})
    engine = create_engine(url, isolation_level="REPEATABLE READ", poolclass=NullPool)
    with lockwatch.connect(served.url) as service, service.hold("plan", "p1") as lease:
        with engine.connect() as connection:
            connection.execute(text("SELECT count(*) FROM locks")).all()
            service.renew("plan", "p1", lease.lock.owner_id, 3000)
            with pytest.raises(lockwatch.DatabaseBusyError, match="retry the transaction"):
                lease.guard(connection)
        with engine.begin() as connection:
            lease.guard(connection)


@pytest.fixture
def crowded(served: Site) -> Iterator[str]:
    """The URL of a user who may have two connections at once."""
    name = f"{make_url(served.url).database}_two"
    makes = {
        "postgres": (f"CREATE ROLE {name} LOGIN CONNECTION LIMIT 2", f"GRANT ALL ON locks, locks_id_seq TO {name}"),
        "mysql": (f"CREATE USER {name} WITH MAX_USER_CONNECTIONS 2", f"GRANT ALL ON locks TO {name}"),
    }
    ends = {"postgres": (f"DROP OWNED BY {name}", f"DROP ROLE {name}"), "mysql": (f"DROP USER {name}",)}
    for statement in makes[served.kind]:
        served.execute(statement)
    yield make_url(served.url).set(username=name).render_as_string(hide_password=False)
    for statement in ends[served.kind]:
        served.execute(statement)


def test_a_server_that_lets_nobody_more_in_hurts_no_lease_and_says_so(crowded: str) -> None:
    with ExitStack() as opened, lockwatch.connect(crowded) as late:
        services: list[LockService] = [opened.enter_context(lockwatch.connect(crowded)) for _ in range(2)]
        lease = opened.enter_context(services[0].hold("plan", "p1", ttl_seconds=5, heartbeat_seconds=0.2))
        services[1].now()
        begun = time.monotonic()
        with pytest.raises(lockwatch.DatabaseError, match=r"connection|room"):
            late.acquire("plan", "p2", "a", wait_seconds=10)
        assert time.monotonic() - begun < 3
        before = lease.lock.expires_text
        give_up_at = time.monotonic() + PATIENCE_SECS
        while lease.lock.expires_text == before and time.monotonic() < give_up_at:
            time.sleep(0.02)
        assert lease.lock.expires_text > before
        services[1].close()
        assert _admitted(late, give_up_at), "nobody was let in, though there was room"


def _admitted(late: LockService, give_up_at: float) -> bool:
    """Whether it is let in: the server takes a moment to notice who has left."""
    while time.monotonic() < give_up_at:
        try:
            return late.acquire("plan", "p2", "a").owner_id == "a"
        except lockwatch.DatabaseError:
            time.sleep(0.02)
    return False
