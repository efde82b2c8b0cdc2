"""The guard: a lease checked, and kept, inside the transaction that writes under it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

import lockwatch
from lockwatch import LockService, LossReason
from lockwatch.core.lease import Lease
from lockwatch.database import Database
from tests.contract.sites import SERVERS, Site, on
from tests.faults.losing import losing
from tests.faults.timeouts import SLACK_SECS


@pytest.fixture
def engine(site: Site) -> Iterator[Engine]:
    site.execute("DROP TABLE IF EXISTS work")
    site.execute("CREATE TABLE work (id INTEGER)")
    engine = Database.from_url(site.url).transactional_engine()
    yield engine
    engine.dispose()
    site.execute("DROP TABLE work")


def _callers(site: Site, isolation_level: str) -> Engine:
    """An engine as a caller would make one."""
    return create_engine(Database.from_url(site.url).engine().url, isolation_level=isolation_level, poolclass=NullPool)


def _write(connection: Connection | Session) -> None:
    connection.execute(text("INSERT INTO work VALUES (1)"))


def _written(site: Site) -> int:
    ((count,),) = site.execute("SELECT count(*) FROM work")
    return int(count)


def test_what_is_written_under_the_guard_is_committed(service: LockService, site: Site, engine: Engine) -> None:
    with service.hold("plan", "p1") as lease:
        with engine.begin() as connection:
            lease.guard(connection)
            _write(connection)
        with Session(engine) as session, session.begin():
            lease.guard(session)
            _write(session)
    assert _written(site) == 2


def _lost(lease: Lease, engine: Engine) -> lockwatch.LockExpiredError:
    with losing() as told, engine.begin() as connection:
        _write(connection)
        lease.guard(connection)
    return told[0]


def test_who_was_paused_past_a_takeover_writes_nothing(
    service: LockService, other: LockService, site: Site, engine: Engine
) -> None:
    with losing(), service.hold("plan", "p1", "a") as lease:
        site.age("plan/p1")
        taken = other.acquire("plan", "p1", "b")
        lost = _lost(lease, engine)
        assert (lost.reason, lost.holder) == (LossReason.TAKEN_OVER, taken)
    assert _written(site) == 0
    assert other.get("plan", "p1") == taken


@pytest.mark.parametrize(
    ("site", "encoding"),
    [
        ("mysql", "charset=utf8"),
        ("mysql", "charset=latin1"),
        ("mysql", "charset=utf8mb4&use_unicode=0"),
        ("postgres", "client_encoding=latin1"),
    ],
    indirect=["site"],
)
def test_a_callers_connection_of_few_characters_guards_a_lease_of_any_name(
    service: LockService, other: LockService, site: Site, engine: Engine, encoding: str
) -> None:
    url = engine.url.render_as_string(hide_password=False)
    callers = create_engine(f"{url}?{encoding}", poolclass=NullPool)
    name = "j\u00f3b \N{GRINNING FACE}"
    with losing(), service.hold("plan", name, f"{name} a") as lease:
        with callers.begin() as connection:
            lease.guard(connection)
            _write(connection)
        site.age(f"plan/{name}")
        taken = other.acquire("plan", name, f"{name} b")
        lost = _lost(lease, callers)
        assert (lost.reason, lost.holder) == (LossReason.TAKEN_OVER, taken)
    assert _written(site) == 1


def test_an_expired_or_removed_lease_guards_nothing(service: LockService, site: Site, engine: Engine) -> None:
    with losing(), service.hold("plan", "p1", "a") as lease:
        site.age("plan/p1")
        assert _lost(lease, engine).reason is LossReason.EXPIRED
    with losing(), service.hold("plan", "p2", "a") as lease:
        site.execute("DELETE FROM locks")
        assert _lost(lease, engine).reason is LossReason.REMOVED
    assert _written(site) == 0


def test_in_autocommit_nothing_is_guarded(service: LockService, site: Site, engine: Engine) -> None:
    with service.hold("plan", "p1") as lease:
        loose = engine.execution_options(isolation_level="AUTOCOMMIT")
        for refusing in (loose, _callers(site, "AUTOCOMMIT") if site.is_server else loose):
            with refusing.connect() as connection, pytest.raises(lockwatch.ValidationError, match="AUTOCOMMIT"):
                lease.guard(connection)


@on(*SERVERS)
def test_a_connection_to_another_kind_of_database_is_refused_and_no_lease_is_lost_for_it(
    service: LockService,
) -> None:
    with (
        service.hold("plan", "p1") as lease,
        create_engine("sqlite://", poolclass=NullPool).begin() as connection,
        pytest.raises(lockwatch.ValidationError, match=r"^connection: .*(PostgreSQL|MariaDB).*; got 'sqlite'$"),
    ):
        lease.guard(connection)


@on(*SERVERS)
def test_a_refused_acquire_does_not_wait_for_a_guard(service: LockService, other: LockService, engine: Engine) -> None:
    with service.hold("plan", "p1", "a") as lease, engine.begin() as connection:
        lease.guard(connection)
        begun = time.monotonic()
        with pytest.raises(lockwatch.LockConflictError) as refused:
            other.acquire("plan", "p1", "b")
        assert refused.value.holder.owner_id == "a"
        assert time.monotonic() - begun < SLACK_SECS
        assert other.acquire("plan", "p2", "b").owner_id == "b"


@on(*SERVERS)
def test_a_guarded_lease_is_not_taken_over_though_it_has_expired(
    service: LockService, other: LockService, site: Site, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement = "SET lock_timeout = '200ms'" if site.kind == "postgres" else "SET SESSION innodb_lock_wait_timeout = 0"
    with losing(), service.hold("plan", "p1", "a", ttl_seconds=30) as lease:
        with engine.begin() as connection:
            lease.guard(connection)
            real = LockService.now(other)
            monkeypatch.setattr(lockwatch.Lock, "is_expired", lambda _lock, _now: True)
            with other._tables.use() as table:
                table.connection.do(statement)
            with pytest.raises(lockwatch.DatabaseBusyError):
                other.acquire("plan", "p1", "b")
            monkeypatch.undo()
            assert real <= service.now()
            _write(connection)
        site.execute("DELETE FROM locks")
    assert _written(site) == 1


@on(*SERVERS)
def test_one_guarded_lease_holds_up_no_other_heartbeat(service: LockService, engine: Engine) -> None:
    held = [service.hold("plan", f"p{number}", ttl_seconds=6, heartbeat_seconds=0.3) for number in range(3)]
    with held[0] as guarded, held[1] as second, held[2] as third:
        with engine.begin() as connection:
            guarded.guard(connection)
            before = [lease.lock.expires_text for lease in (second, third)]
            time.sleep(1.5)
            assert all(lease.lock.expires_text > text for lease, text in zip((second, third), before, strict=True))
            kept = guarded.lock.expires_text
        give_up_at = time.monotonic() + 5
        while guarded.lock.expires_text == kept and time.monotonic() < give_up_at:
            time.sleep(0.02)
        assert guarded.lock.expires_text > kept


@on("postgres")
def test_a_transaction_that_saw_too_old_a_row_is_told_to_retry(site: Site, service: LockService) -> None:
    engine = _callers(site, "REPEATABLE READ")
    with service.hold("plan", "p1") as lease, engine.connect() as connection:
        connection.execute(text("SELECT count(*) FROM locks")).all()
        service.renew("plan", "p1", lease.lock.owner_id, 3000)
        with pytest.raises(lockwatch.DatabaseBusyError, match="retry the transaction"):
            lease.guard(connection)


@pytest.mark.parametrize("level", ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
@on(*SERVERS)
def test_every_isolation_level_can_be_guarded(site: Site, service: LockService, level: str) -> None:
    engine = _callers(site, level)
    with service.hold("plan", "p1") as lease, engine.begin() as connection:
        lease.guard(connection)
    with losing(), service.hold("plan", "p1", "a") as lease:
        site.age("plan/p1")
        with engine.begin() as connection:
            lease.guard(connection)


@on(*SERVERS)
def test_a_refused_lock_leaves_the_callers_transaction_whole(
    service: LockService, other: LockService, site: Site, engine: Engine
) -> None:
    service.acquire("plan", "p1", "a")
    with engine.begin() as connection:
        _write(connection)
        with pytest.raises(lockwatch.LockConflictError):
            other.acquire("plan", "p1", "b")
    assert _written(site) == 1


@pytest.mark.usefixtures("engine")
def test_a_lock_stays_when_the_callers_transaction_rolls_back(
    service: LockService, other: LockService, site: Site
) -> None:
    with site.raw() as run:
        run("BEGIN")
        run("INSERT INTO work VALUES (1)" if site.is_server else "SELECT count(*) FROM work")
        service.acquire("plan", "p1", "a")
        run("ROLLBACK")
    assert _written(site) == 0
    with pytest.raises(lockwatch.LockConflictError):
        other.acquire("plan", "p1", "b")
