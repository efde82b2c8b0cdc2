"""URLs, names, passwords, and what a database that refuses or hangs makes of a call."""

from __future__ import annotations

import importlib
import re
import time
import traceback
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

import lockwatch
from lockwatch.core import cleaning
from lockwatch.database import Database
from tests.contract.asking import PASSWORD, SHOWN, Asking
from tests.contract.sites import SERVERS, Site, on
from tests.faults.timeouts import LOCK_SECS, SLACK_SECS, shorten_locks


def test_a_url_of_each_scheme_leads_to_its_database(site: Site) -> None:
    schemes = {
        "postgres": ("postgresql", "postgresql+psycopg"),
        "mysql": ("mysql", "mariadb", "mysql+pymysql", "mariadb+pymysql"),
        "sqlite": ("sqlite", "sqlite+pysqlite"),
    }[site.kind]
    for scheme in schemes:
        url = f"{scheme}:{site.url.partition(':')[2]}"
        with lockwatch.connect(url) as service:
            assert service.acquire("plan", scheme, "a").resource_id == scheme


@on(*SERVERS)
def test_a_server_is_called_by_database_host_and_port(site: Site) -> None:
    url = make_url(site.url).set(password=PASSWORD)
    name = Database.from_url(url.render_as_string(hide_password=False)).name
    assert name == f"{url.database}@{url.host}:{url.port}"
    without_port = url.set(port=None, host="::1").render_as_string(hide_password=False)
    assert Database.from_url(without_port).name == f"{url.database}@[::1]:{5432 if site.kind == 'postgres' else 3306}"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql://u@/x?host=/run/postgresql", "x@/run/postgresql"),
        ("postgresql://u@%2Frun%2Fpostgresql/x", "x@/run/postgresql"),
        ("postgresql://u@/x?host=db1:5432&host=db2:5433", "x@db1:5432,db2:5433"),
        ("mariadb://u@/x?unix_socket=/run/mysqld.sock", "x@/run/mysqld.sock"),
        ("mariadb://u@localhost/x?unix_socket=/run/mysqld.sock", "x@/run/mysqld.sock"),
        ("mariadb://u@%2Frun%2Fmysqld.sock/x", "x@/run/mysqld.sock"),
    ],
)
def test_a_database_behind_a_socket_or_several_hosts_is_called_by_them(url: str, name: str) -> None:
    assert Database.from_url(url).name == name


def test_a_password_of_odd_characters_opens_the_database_and_is_seen_nowhere(asking: Asking) -> None:
    assert PASSWORD not in asking.whole
    with lockwatch.connect(asking.whole) as service:
        assert service.acquire("plan", "p1", "a").owner_id == "a"
    assert Database.from_url(asking.bare, password=PASSWORD).is_at_head()
    with lockwatch.connect(asking.bare, password=PASSWORD) as service:
        assert service.get("plan", "p1") is not None
    assert Database.from_url(asking.whole, password="another").is_at_head()  # noqa: S106 what the URL has is stronger


def test_a_wrong_password_is_refused_and_seen_nowhere(asking: Asking) -> None:
    wrong = Database.from_url(asking.bare, password=f"{PASSWORD}!")
    with pytest.raises(lockwatch.DatabaseError, match=r"refused the (user|connection)") as refused:
        wrong.revision()
    told = "".join(traceback.format_exception(refused.value)) + repr(wrong) + wrong.name
    with lockwatch.connect(asking.with_password(f"{PASSWORD}!")) as service:
        with pytest.raises(lockwatch.DatabaseError, match=r"refused the (user|connection)") as refused:
            service.snapshot()
        told += "".join(traceback.format_exception(refused.value)) + repr(service)
    assert not [part for part in SHOWN if part in told]


@on(*SERVERS)
def test_a_password_reaches_the_driver_as_it_is(site: Site) -> None:
    whole = make_url(site.url).set(password=PASSWORD).render_as_string(hide_password=False)
    assert Database.from_url(whole)._arguments()["password"] == PASSWORD  # type: ignore[attr-defined] # a server's
    assert PASSWORD not in repr(Database.from_url(whole))


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("postgresql://u:secret@host", "must name a database"),
        ("mysql://u:secret@host/", "must name a database"),
        ("oracle://u:secret@host/x", "PostgreSQL"),
        ("postgresql+psycopg2://u:secret@host/x", "PostgreSQL"),
        ("postgresql://u:secret@host:port/x", "PostgreSQL"),
        ("postgresql://u:a@secret@host/x", "as %40"),
        ("mariadb://u:a@secret/b@host/x", "as %40"),
        ("mariadb://u:a@b/c?secret@host/x", "as %40"),
        ("postgresql://u:secret@host/a%00b", "UTF-8"),
        ("postgresql://u\udcff:secret@host/x", "UTF-8"),
        ("mariadb://u:secret\udcff@host/x", "UTF-8"),
        ("mariadb://u:secret@host\udcff/x", "UTF-8"),
        ("postgresql://u:secret@host/x?application_name=\udcff", "UTF-8"),
    ],
)
def test_what_is_no_database_of_ours_is_said_without_its_password(url: str, rule: str) -> None:
    with pytest.raises(lockwatch.ValidationError, match=rule) as refused:
        Database.from_url(url)
    assert "secret" not in f"{refused.value} {refused.value.args}"


@pytest.mark.parametrize("scheme", ["postgresql", "postgresql+psycopg", "mariadb", "mysql"])
def test_the_url_that_an_error_gives_as_an_example_can_be_used(scheme: str) -> None:
    with pytest.raises(lockwatch.ValidationError, match="must name a database") as refused:
        Database.from_url(f"{scheme}://host")
    example = re.search(r"\S+://host/name", str(refused.value))
    assert example
    assert Database.from_url(example[0]).name.startswith("name@host:")


@on(*SERVERS)
def test_a_password_that_no_driver_can_take_is_refused(site: Site) -> None:
    without = make_url(site.url).set(password=None).render_as_string()
    with pytest.raises(lockwatch.ValidationError, match=r"^password: .*UTF-8.*; got '…'$"):
        lockwatch.connect(without, password="secret\udcff")  # noqa: S106 no secret


@on(*SERVERS)
def test_a_host_that_there_cannot_be_is_said(site: Site) -> None:
    url = make_url(site.url).set(host="a..b").render_as_string(hide_password=False)
    with lockwatch.connect(url) as service, pytest.raises(lockwatch.ValidationError, match=r"host.*'a\.\.b'"):
        service.snapshot()


@pytest.mark.parametrize("extra", ["postgres", "mysql"])
def test_a_missing_driver_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch, extra: str) -> None:
    real = importlib.import_module

    def missing(name: str, package: str | None = None) -> Any:
        if name in {"psycopg", "pymysql"}:
            raise ImportError(name)
        return real(name, package)

    monkeypatch.setattr("lockwatch.server.import_module", missing)
    scheme = {"postgres": "postgresql", "mysql": "mariadb"}[extra]
    with pytest.raises(lockwatch.DatabaseError, match=rf"pip install 'lockwatch\[{extra}\]'"):
        lockwatch.connect(f"{scheme}://u@host/x")


ENCRYPTED = {
    "postgres": ("sslmode=require", "sslmode=verify-full"),
    "mysql": ("ssl_verify_cert=true", "ssl_verify_identity=true"),
}


@on(*SERVERS)
def test_who_asks_for_tls_has_it_or_is_told_that_the_server_has_none(site: Site) -> None:
    ((has_tls,),) = site.execute("SHOW ssl" if site.kind == "postgres" else "SELECT @@have_ssl")
    if has_tls.lower() in {"on", "yes"}:
        pytest.skip("the server under test has TLS")
    for option in ENCRYPTED[site.kind]:
        refusing = pytest.raises(lockwatch.DatabaseError, match="SSL")
        with lockwatch.connect(f"{site.url}?{option}") as service, refusing as refused:
            service.acquire("plan", "p1", "a")
        assert len(str(refused.value).splitlines()) == 1
    assert site.rows() == []


MISTAKES = {
    "postgres": ("bogus=secret", "connect_timeout=secret"),
    "mysql": ("bogus=secret", "connect_timeout=secret", "ssl=secret", "charset=secret", "read_timeout=-1"),
    "sqlite": (),
}


def test_a_parameter_that_the_driver_cannot_take_is_named_without_its_value(site: Site) -> None:
    for mistake in MISTAKES[site.kind]:
        name = mistake.partition("=")[0]
        with pytest.raises(lockwatch.ValidationError, match=f"no parameters but those of its driver.*'{name}'") as no:
            Database.from_url(f"{site.url}?{mistake}").revision()
        assert "secret" not in str(no.value)


@on("mysql")
def test_a_certificate_that_cannot_be_read_is_told_with_its_parameter(site: Site, tmp_path: Path) -> None:
    (tmp_path / "not.pem").write_text("nonsense")
    for file in ("none.pem", "not.pem"):
        database = Database.from_url(f"{site.url}?ssl_ca={tmp_path}/{file}")
        with pytest.raises(lockwatch.DatabaseError, match=r"cannot be used .*; the parameters are ssl_ca"):
            database.revision()


@on(*SERVERS)
def test_a_server_that_is_not_there_is_said_at_once(site: Site) -> None:
    nowhere = make_url(site.url).set(port=1, password="secret")  # noqa: S106 nobody asks for it
    begun = time.monotonic()
    refusing = pytest.raises(lockwatch.DatabaseError, match="cannot be reached")
    with lockwatch.connect(nowhere.render_as_string(hide_password=False)) as service, refusing as refused:
        service.acquire("plan", "p1", "a")
    assert time.monotonic() - begun < 6
    assert "secret" not in "".join(traceback.format_exception(refused.value))


@on(*SERVERS)
def test_a_database_that_is_not_there_is_said(site: Site) -> None:
    missing = make_url(site.url).set(database="no_such_database").render_as_string(hide_password=False)
    with lockwatch.connect(missing) as service, pytest.raises(lockwatch.DatabaseError, match="no_such_database"):
        service.now()


def test_a_missing_table_is_the_error_at_once(new_site: Site) -> None:
    lockwatch.upgrade(new_site.url)
    with lockwatch.connect(new_site.url) as service:
        service.now()
        new_site.execute("DROP TABLE locks")
        begun = time.monotonic()
        with pytest.raises(lockwatch.DatabaseError, match="`locks` is missing") as refused:
            service.acquire("plan", "p1", "a", wait_seconds=10)
        assert not isinstance(refused.value, lockwatch.DatabaseBusyError)
        assert time.monotonic() - begun < SLACK_SECS


def test_an_id_beyond_all_measure_is_refused_at_once(site: Site) -> None:
    begun = time.monotonic()
    with lockwatch.connect(site.url) as service, pytest.raises(lockwatch.ValidationError):
        service.acquire("plan", "x" * 10_000, "a", wait_seconds=10)
    assert time.monotonic() - begun < SLACK_SECS


def test_a_dead_session_on_the_row_ends_a_call_in_time_with_an_error_that_says_so(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten_locks(monkeypatch)
    site.insert_row("plan/p1", "gone")
    with lockwatch.connect(site.url) as service, site.raw() as run:
        run("BEGIN" if site.is_server else "BEGIN IMMEDIATE")
        run("UPDATE locks SET owner_id = 'hangs'")
        begun = time.monotonic()
        with pytest.raises(lockwatch.DatabaseBusyError, match="keeps the"):
            service.acquire("plan", "p1", "a")
        assert time.monotonic() - begun < LOCK_SECS + SLACK_SECS
        run("ROLLBACK")
        assert service.acquire("plan", "p1", "a").owner_id == "a"


@on(*SERVERS)
def test_a_statement_that_takes_too_long_is_ended_by_the_server(site: Site) -> None:
    sleep = "SELECT pg_sleep(30)" if site.kind == "postgres" else "SELECT SLEEP(30) FROM DUAL WHERE SLEEP(30) = 9"
    quick = "SET statement_timeout = '300ms'" if site.kind == "postgres" else "SET SESSION max_statement_time = 0.3"
    with lockwatch.connect(site.url) as service, service._tables.use() as table:
        table.connection.do(quick)
        begun = time.monotonic()
        with pytest.raises(lockwatch.DatabaseBusyError):
            table.connection.rows(sleep)
        assert time.monotonic() - begun < 5


SETTINGS = {
    "postgres": (
        (
            "SELECT current_setting('statement_timeout'), current_setting('lock_timeout'),"
            " current_setting('transaction_isolation'), current_setting('synchronous_commit')"
        ),
        ("10s", "5s", "read committed", "on"),
    ),
    "mysql": (
        "SELECT @@max_statement_time, @@innodb_lock_wait_timeout, @@tx_isolation",
        (10.0, 5, "READ-COMMITTED"),
    ),
}


@on(*SERVERS)
def test_every_session_has_our_settings_whatever_the_defaults(site: Site) -> None:
    ask, expected = SETTINGS[site.kind]
    alter = f"ALTER DATABASE {make_url(site.url).database}"
    if site.kind == "postgres":
        site.execute(f"{alter} SET default_transaction_isolation = 'serializable'")
        site.execute(f"{alter} SET synchronous_commit = off")
    with lockwatch.connect(site.url) as service, service._tables.use() as table:
        (found,) = table.connection.rows(ask)
    assert tuple(found) == expected
    with Database.from_url(site.url).transactional_engine().connect() as connection:
        assert tuple(connection.exec_driver_sql(ask).one()) == expected
    if site.kind == "postgres":
        site.execute(f"{alter} RESET ALL")


def test_a_service_to_read_only_changes_nothing_and_the_server_sees_to_it(site: Site) -> None:
    site.insert_row("plan/p1", "a")
    before = site.rows()
    with lockwatch.connect(site.url, read_only=True) as service:
        assert len(service.snapshot().locks) == service.count_stale_locks() == 1
        with pytest.raises(lockwatch.ReadOnlyError):
            service.cleanup_expired()
        with service._tables.look() as table, pytest.raises(lockwatch.DatabaseError, match="cannot be written"):
            cleaning.delete_expired(table)
    assert site.rows() == before


def test_a_user_who_may_only_read_is_known_as_such(served: Site, reader: str) -> None:
    assert Database.from_url(reader).why_unwritable() == "this user may not change the locks"
    assert Database.from_url(served.url).why_unwritable() is None
    with lockwatch.connect(reader) as service:
        assert service.snapshot().locks == ()
        with pytest.raises(lockwatch.DatabaseError, match="refused the user"):
            service.acquire("plan", "p1", "a")


@on("postgres", fixture="new_site")
def test_another_programs_trigger_is_told_as_what_it_is(new_site: Site) -> None:
    lockwatch.upgrade(new_site.url)
    new_site.execute(
        "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'not on \x1b[2J mondays'; END $$"
    )
    new_site.execute("CREATE TRIGGER no BEFORE INSERT ON locks FOR EACH ROW EXECUTE FUNCTION no()")
    with lockwatch.connect(new_site.url) as service, pytest.raises(lockwatch.DatabaseError, match="not on \u241b"):
        service.acquire("plan", "p1", "a")
