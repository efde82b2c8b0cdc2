"""Databases to hold the contract against: each one's URL, and a way to it that goes past lockwatch."""

from __future__ import annotations

import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Final, NoReturn

import psycopg
import pymysql  # type: ignore[import-untyped] # the driver has no types
import pytest
from sqlalchemy import URL, make_url

from lockwatch.core.timestamps import to_text
from tests.contract import leftovers

POSTGRES_URL: Final = os.environ.get("LOCKWATCH_TEST_POSTGRES_URL", "postgresql://postgres@127.0.0.1:5432/postgres")
MYSQL_URL: Final = os.environ.get("LOCKWATCH_TEST_MYSQL_URL", "mysql://root@127.0.0.1:3306/mysql")
KINDS: Final = ("sqlite", "postgres", "mysql")
SERVERS: Final = ("postgres", "mysql")
SERVERS_ARE_REQUIRED: Final = os.environ.get("LOCKWATCH_TEST_REQUIRE_SERVERS") == "1"

COLUMNS: Final = "id, owner_id, resource_type, resource_id, acquired_at, expires_at"
EPOCH: Final = "1970-01-01T00:00:00.000000Z"
SIX_COLUMNS: Final = (
    "owner_id VARCHAR(255) NOT NULL, resource_type VARCHAR(50) NOT NULL, resource_id VARCHAR(255) NOT NULL,"
    " acquired_at VARCHAR(30) NOT NULL, expires_at VARCHAR(30) NOT NULL, UNIQUE (resource_type, resource_id)"
)


def on(*kinds: str, fixture: str = "site") -> pytest.MarkDecorator:
    """Runs a test on these databases alone: on others it has no meaning."""
    return pytest.mark.parametrize(fixture, kinds, indirect=True)


@dataclass(frozen=True, slots=True)
class Site(ABC):
    """One database."""

    url: str

    kind: ClassVar[str]
    is_server: ClassVar[bool] = True
    numbered: ClassVar[str]
    """The column `id` as other programs declare it whose ids never come back."""
    plain: ClassVar[str]
    """The column `id` of a program that gives it a number itself."""
    numbers: ClassVar[str]
    """A table `numbers` with a column `number` that counts up to `{count}`."""
    name_of_number: ClassVar[str] = "'crowd-' || number"

    @contextmanager
    def raw(self) -> Iterator[Callable[..., list[Any]]]:
        """A connection of the driver in autocommit: a call runs one statement (`?` for a parameter), gives its rows."""
        with closing(self.connect()) as connection:
            yield lambda sql, *parameters: self._run(connection, sql, parameters)

    def execute(self, sql: str, *parameters: object) -> list[Any]:
        """One statement on a connection of its own: its rows."""
        with self.raw() as run:
            return run(sql, *parameters)

    @abstractmethod
    def connect(self) -> Any:
        """A connection of the driver, in autocommit."""

    @abstractmethod
    def now(self) -> datetime:
        """The moment by the clock that judges."""

    def text(self, seconds: float = 0) -> str:
        """The moment `seconds` from now by the clock that judges, in the written form."""
        return to_text(self.now() + timedelta(seconds=seconds))

    def age(self, resource: str, expires_at: str = EPOCH) -> None:
        """Set the expiry of a resource's row, to the past if nothing else is said."""
        resource_type, _, resource_id = resource.partition("/")
        sql = "UPDATE locks SET expires_at = ? WHERE resource_type = ? AND resource_id = ?"
        self.execute(sql, expires_at, resource_type, resource_id)
        row = self.row(resource)
        assert row is not None, f"{resource} has no row"
        assert row[5] == expires_at

    def rows(self) -> list[tuple[Any, ...]]:
        """All rows ordered by id."""
        return [tuple(row) for row in self.execute(f"SELECT {COLUMNS} FROM locks ORDER BY id")]

    def row(self, resource: str) -> tuple[Any, ...] | None:
        """A resource's row; None if it has none."""
        found = [row for row in self.rows() if f"{row[2]}/{row[3]}" == resource]
        return found[0] if found else None

    def insert_row(self, resource: str = "plan/p1", owner: str = "stranger", expires_at: str = EPOCH) -> int:
        """Put a row into the table as another program would: its id."""
        (number,) = self.insert_rows({resource: expires_at}, owner)
        return number

    def insert_rows(self, expiries: Mapping[str, str], owner: str = "stranger") -> list[int]:
        """The same with many, which expire as is said of each: their ids."""
        cells = [(owner, *name.split("/", 1), EPOCH, expires_at) for name, expires_at in expiries.items()]
        rows = ", ".join(["(?, ?, ?, ?, ?)"] * len(cells))
        sql = f"INSERT INTO locks (owner_id, resource_type, resource_id, acquired_at, expires_at) VALUES {rows}"
        return [int(number) for (number,) in self.execute(f"{sql} RETURNING id", *chain.from_iterable(cells))]

    def crowd(self, count: int) -> None:
        """Put many stale rows into the table, by one statement."""
        self.execute(
            "INSERT INTO locks (owner_id, resource_type, resource_id, acquired_at, expires_at)"
            f" SELECT 'gone', 'plan', {self.name_of_number}, ?, ? FROM {self.numbers.format(count=count)}",
            *(EPOCH, EPOCH),
        )

    def make_table(self, number: str, rest: str = SIX_COLUMNS) -> None:
        """A table `locks` of another program."""
        self.execute(f"CREATE TABLE locks (id {number}, {rest})")

    def clear(self) -> None:
        """Take all locks and plans away; ids go on."""
        with self.raw() as run:
            for table in ("plan_runs", "plans", "locks"):
                run(f"DELETE FROM {table}")

    @abstractmethod
    def _run(self, connection: Any, sql: str, parameters: Sequence[object]) -> list[Any]: ...


@dataclass(frozen=True, slots=True)
class SqliteSite(Site):
    """An SQLite file."""

    kind: ClassVar = "sqlite"
    is_server: ClassVar = False
    numbered: ClassVar = "INTEGER PRIMARY KEY AUTOINCREMENT"
    plain: ClassVar = "INTEGER PRIMARY KEY"
    numbers: ClassVar = (
        "(WITH RECURSIVE up (number) AS (VALUES (1) UNION ALL SELECT number + 1 FROM up WHERE number < {count})"
        " SELECT number FROM up)"
    )

    def connect(self) -> sqlite3.Connection:
        return sqlite3.connect(
            self.url.removeprefix("sqlite:///"), timeout=30, isolation_level=None, check_same_thread=False
        )

    def now(self) -> datetime:
        return datetime.now(UTC)

    def _run(self, connection: Any, sql: str, parameters: Sequence[object]) -> list[Any]:
        return list(connection.execute(sql, parameters).fetchall())


@dataclass(frozen=True, slots=True)
class PostgresSite(Site):
    """A PostgreSQL database."""

    kind: ClassVar = "postgres"
    numbered: ClassVar = "SERIAL PRIMARY KEY"
    plain: ClassVar = "INTEGER PRIMARY KEY"
    numbers: ClassVar = "generate_series(1, {count}) numbers (number)"

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.url.replace("+psycopg", "", 1), autocommit=True)  # the library knows no drivers

    def now(self) -> datetime:
        ((now,),) = self.execute("SELECT clock_timestamp()")
        return now.astimezone(UTC)  # type: ignore[no-any-return]

    def _run(self, connection: Any, sql: str, parameters: Sequence[object]) -> list[Any]:
        cursor = connection.execute(sql.replace("?", "%s"), parameters)
        return list(cursor.fetchall()) if cursor.description else []


@dataclass(frozen=True, slots=True)
class MysqlSite(Site):
    """A MariaDB database."""

    kind: ClassVar = "mysql"
    numbered: ClassVar = "INTEGER AUTO_INCREMENT PRIMARY KEY"
    plain: ClassVar = "INTEGER PRIMARY KEY"
    numbers: ClassVar = "(SELECT seq AS number FROM seq_1_to_{count}) numbers"
    name_of_number: ClassVar = "CONCAT('crowd-', number)"

    def connect(self) -> Any:
        return _connect_mysql(make_url(self.url))

    def now(self) -> datetime:
        ((now,),) = self.execute("SELECT UTC_TIMESTAMP(6)")
        return now.replace(tzinfo=UTC)  # type: ignore[no-any-return]

    def _run(self, connection: Any, sql: str, parameters: Sequence[object]) -> list[Any]:
        with connection.cursor() as cursor:
            cursor.execute(sql.replace("?", "%s"), parameters)
            return list(cursor.fetchall()) if cursor.description else []


def _connect_mysql(url: URL) -> Any:
    return pymysql.connect(
        host=url.host,
        port=url.port or 3306,
        user=url.username,
        password=url.password or "",
        database=url.database,
        charset="utf8mb4",
        autocommit=True,
    )


def do_without(reason: str) -> NoReturn:
    """Skip a test for that reason, or fail it where nothing may be missing."""
    (pytest.fail if SERVERS_ARE_REQUIRED else pytest.skip)(reason)


def drop_leftovers(kind: str) -> None:
    """Drop what earlier runs left behind on a server, if it answers."""
    made = PostgresSite if kind == "postgres" else MysqlSite
    with suppress(psycopg.OperationalError, pymysql.err.OperationalError):
        leftovers.drop(kind, made(POSTGRES_URL if kind == "postgres" else MYSQL_URL).execute)


@contextmanager
def new_sqlite(folder: Path) -> Iterator[Site]:
    """A file of its own; it is made at the first use."""
    yield SqliteSite(f"sqlite:///{folder}/locks.db")


@contextmanager
def new_postgres(name: str) -> Iterator[Site]:
    """A database of its own on the server, dropped at the end."""
    url = make_url(POSTGRES_URL)
    libpq = url.set(drivername="postgresql").render_as_string(hide_password=False)
    with _reached("PostgreSQL", POSTGRES_URL, lambda: psycopg.connect(libpq, autocommit=True)) as admin:
        admin.execute(f'CREATE DATABASE "{name}"')
        try:
            yield PostgresSite(url.set(database=name).render_as_string(hide_password=False))
        finally:
            admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@contextmanager
def new_mysql(name: str) -> Iterator[Site]:
    """The same on MariaDB, in a character set that fits few names: the tables have their own."""
    url = make_url(MYSQL_URL)
    with _reached("MariaDB", MYSQL_URL, lambda: _connect_mysql(url)) as admin, admin.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE `{name}` CHARACTER SET latin1")
        try:
            yield MysqlSite(url.set(database=name).render_as_string(hide_password=False))
        finally:
            _end_others(cursor, name)
            cursor.execute(f"DROP DATABASE `{name}`")


@contextmanager
def reader_of(site: Site) -> Iterator[str]:
    """The URL of a user of a server who may only read the site; the user goes at the end."""
    name = make_url(site.url).database
    user = f"{name}_r"
    is_postgres = site.kind == "postgres"
    site.execute(f"CREATE ROLE {user} LOGIN" if is_postgres else f"CREATE USER {user}")
    try:
        site.execute(f"GRANT SELECT ON {'ALL TABLES IN SCHEMA public' if is_postgres else f'{name}.*'} TO {user}")
        yield make_url(site.url).set(username=user).render_as_string(hide_password=False)
    finally:
        if is_postgres:
            site.execute(f"DROP OWNED BY {user}")
        site.execute(f"DROP {'ROLE' if is_postgres else 'USER'} {user}")


def _end_others(cursor: Any, name: str) -> None:
    cursor.execute("SELECT id FROM information_schema.processlist WHERE db = %s", (name,))
    for (number,) in cursor.fetchall():
        with suppress(pymysql.err.OperationalError):  # it may have ended by itself meanwhile
            cursor.execute(f"KILL {number}")


@contextmanager
def _reached(title: str, url: str, connect: Callable[[], Any]) -> Iterator[Any]:
    try:
        admin = connect()
    except (psycopg.OperationalError, pymysql.err.OperationalError) as error:
        where = make_url(url).render_as_string(hide_password=True)
        do_without(f"no {title} at {where}: {str(error).partition(chr(10))[0]}")
    with closing(admin):
        yield admin
