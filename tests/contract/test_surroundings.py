"""What a URL, a server's defaults or another program set around the table changes nothing about the locks in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

import pytest
from sqlalchemy import create_engine, event, make_url

import lockwatch
from lockwatch import LockService
from lockwatch.database import Database
from lockwatch.diagnostics import Status, examine
from tests.contract.leftovers import new_name
from tests.contract.sites import Site, on


@pytest.mark.parametrize(
    "settings",
    [
        "completion_type = 'CHAIN'",  # after a COMMIT, the next grant would be in a transaction that nobody ends
        "completion_type = 'RELEASE'",
        "autocommit = 0",
        "unique_checks = 0, foreign_key_checks = 0",
        "sql_select_limit = 1",
        "max_join_size = 1",
        "sql_safe_updates = 1",
        "group_concat_max_len = 4",
        "sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,ORACLE'",
    ],
)
@on("mysql")
def test_no_setting_of_a_mariadb_server_hides_a_grant_or_a_row(site: Site, other: LockService, settings: str) -> None:
    with lockwatch.connect(f"{site.url}?init_command={quote(f'SET {settings}')}") as service:
        for name in ("p1", "p2", "back\\slash'"):
            service.acquire("plan", name, "a")
        assert len(service.snapshot().locks) == 3
        assert service.release_all_for_owner("a") == 3
        lock = service.acquire("plan", "p1", "a")
        with pytest.raises(lockwatch.LockConflictError):
            other.acquire("plan", "p1", "b")
        assert other.get("plan", "p1") == lock


@pytest.mark.parametrize(
    ("site", "encoding"),
    [
        ("mysql", "charset=latin1"),
        ("mysql", "charset=utf8"),
        ("mysql", "charset=utf8mb4&use_unicode=0"),
        ("postgres", "client_encoding=latin1"),
        ("postgres", "client_encoding=SQL_ASCII"),
        ("postgres", "options=-c%20client_encoding=latin1"),
    ],
    indirect=["site"],
)
def test_a_name_is_the_same_one_whatever_character_set_the_url_asks_for(
    site: Site, other: LockService, encoding: str
) -> None:
    with lockwatch.connect(f"{site.url}?{encoding}") as service:
        for name in ("j\u00f3b", "j\u00c3\u00b3b", "\N{GRINNING FACE}"):
            lock = service.acquire("plan", name, f"{name}-owner")
            assert other.get("plan", name) == lock == service.get("plan", name)
        assert len(other.snapshot().locks) == 3


@on("mysql")
def test_a_renewal_tells_what_it_wrote_though_another_programs_trigger_inserts_a_row(
    site: Site, service: LockService
) -> None:
    site.execute("CREATE TABLE audit (id BIGINT AUTO_INCREMENT PRIMARY KEY, expires_at VARCHAR(30))")
    site.execute("CREATE TRIGGER noted AFTER UPDATE ON locks FOR EACH ROW INSERT INTO audit VALUES (0, new.expires_at)")
    try:
        service.acquire("plan", "p1", "a", 60)
        assert service.renew("plan", "p1", "a", 600) == service.get("plan", "p1")
    finally:
        site.execute("DROP TRIGGER noted")
        site.execute("DROP TABLE audit")


@on("postgres", fixture="new_site")
def test_the_options_of_the_environment_count_beside_ours(new_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    new_site.execute("CREATE SCHEMA app")
    monkeypatch.setenv("PGOPTIONS", "-c search_path=app")
    lockwatch.upgrade(new_site.url)
    with lockwatch.connect(new_site.url) as service:
        service.acquire("plan", "p1", "a")
        monkeypatch.delenv("PGOPTIONS")
        assert new_site.execute("SELECT owner_id FROM app.locks") == [("a",)]


@on("postgres", fixture="new_site")
def test_what_a_callers_engine_sets_for_its_connections_counts_for_ours(
    new_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_site.execute("CREATE SCHEMA app")
    with monkeypatch.context() as patched:
        patched.setenv("PGOPTIONS", "-c search_path=app")
        lockwatch.upgrade(new_site.url)
    engine = create_engine(make_url(new_site.url).set(drivername="postgresql+psycopg"))
    event.listen(engine, "connect", lambda driver, _record: driver.execute("SET search_path TO app"))
    with LockService(engine) as service:
        service.acquire("plan", "p1", "a")
    engine.dispose()
    assert new_site.execute("SELECT owner_id FROM app.locks") == [("a",)]


ASK_ISOLATION: Final = {"postgres": "SHOW transaction_isolation", "mysql": "SELECT @@tx_isolation"}


@pytest.mark.parametrize("level", ["READ UNCOMMITTED", "REPEATABLE READ", "SERIALIZABLE", "AUTOCOMMIT"])
def test_a_callers_engine_of_any_isolation_level_locks_at_ours(served: Site, level: str) -> None:
    engine = create_engine(Database.from_url(served.url).engine().url, isolation_level=level)
    with LockService(engine) as service, lockwatch.connect(served.url) as other:
        with service._tables.use() as table:
            ((found,),) = table.connection.rows(ASK_ISOLATION[served.kind])
        assert found.lower().replace("-", " ") == "read committed"
        service.acquire("plan", "p1", "a")
        assert service.release("plan", "p1", "a")
        assert other.acquire("plan", "p1", "b") == service.get("plan", "p1")
        with pytest.raises(lockwatch.LockConflictError):
            service.acquire("plan", "p1", "a")
    engine.dispose()


@pytest.fixture
def latin1(served: Site) -> Iterator[str]:
    """The URL of a PostgreSQL database of few characters, upgraded."""
    name = new_name()
    made = f"CREATE DATABASE {name} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    served.execute(made)
    try:
        url = make_url(served.url).set(database=name).render_as_string(hide_password=False)
        lockwatch.upgrade(url)
        yield url
    finally:
        served.execute(f"DROP DATABASE {name} WITH (FORCE)")


@on("postgres", fixture="served")
def test_a_name_that_the_databases_character_set_lacks_is_refused_as_such_and_diagnostics_warn_of_it(
    latin1: str,
) -> None:
    with lockwatch.connect(latin1) as service:
        for name in ("Job", "job", "j\u00f3b", "\u00e9"):
            service.acquire("plan", name, "a")
        assert len(service.snapshot().locks) == 4
        for name in ("\N{GRINNING FACE}", "e\u0301"):
            with pytest.raises(lockwatch.DatabaseError, match=r"character set lacks a character.*LATIN1"):
                service.acquire("plan", name, "a")
    check = {check.name: check for check in examine(latin1)}["Collation"]
    assert (check.status, check.message[:7]) == (Status.WARNING, "LATIN1:")
