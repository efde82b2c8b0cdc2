"""The databases that figures are taken on: each is new, upgraded, and gone afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias

import pytest

import lockwatch
from lockwatch.core.dialects import dialect_of
from lockwatch.core.sqlite import prepare
from lockwatch.core.statements import Statements
from lockwatch.core.timestamps import utc_now
from tests.contract import sites
from tests.contract.sites import Site

Run: TypeAlias = Callable[[str, Mapping[str, object]], Sequence[Any]]
"""Runs one statement on a driver's connection: its rows."""

LIVE: Final = "2999-01-01 00:00:00"
STALE: Final = "2020-01-01 00:00:00"
"""After which the many rows expire that `fill` makes, one a second. No two times are alike: among real ones few are."""

_numbers: Final = count()


class AbsentError(Exception):
    """A database that cannot be had here; why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One kind of database, and the plain use of its driver."""

    title: str
    driver: str
    dialect: str
    make: Callable[[str], AbstractContextManager[Site]]
    """Makes a database of that name, if it needs one."""
    rows: str
    """Inserts 100,000 locks that expire one after the other, from a moment on that is a parameter."""
    to_rest: str | None = None
    """What the database is told once much has changed."""
    ready: Callable[[Any], object] = id
    """Makes a connection of the driver understand lockwatch's statements."""

    @contextmanager
    def new(self) -> Iterator[Site]:
        """A new database.

        Raises:
            AbsentError: there is no server to make it on.
        """
        with ExitStack() as made:
            try:
                site = made.enter_context(self.make(f"lockwatch_figures_{os.getpid()}_{next(_numbers)}"))
            except (pytest.skip.Exception, pytest.fail.Exception) as reason:
                raise AbsentError(str(reason)) from None
            lockwatch.upgrade(site.url)
            yield site

    @property
    def statements(self) -> Statements:
        """What lockwatch says to it."""
        return dialect_of("dialect", self.dialect).statements

    @contextmanager
    def raw(self, site: Site) -> Iterator[Run]:
        """The driver at its fastest: one connection in autocommit, one cursor. psycopg prepares by itself."""
        with closing(site.connect()) as connection:
            self.ready(connection)
            cursor = connection.cursor()

            def run(sql: str, parameters: Mapping[str, object]) -> Sequence[Any]:
                cursor.execute(sql, parameters)
                rows: Sequence[Any] = cursor.fetchall()
                return rows

            yield run

    def fill(self, site: Site, begin: str) -> None:
        """Put 100,000 locks into it that expire from then on, and let it come to rest."""
        site.execute(self.rows, begin)
        if self.to_rest is not None:
            site.execute(self.to_rest)


@contextmanager
def _new_file(_name: str) -> Iterator[Site]:
    with TemporaryDirectory() as folder, sites.new_sqlite(Path(folder)) as site:
        yield site


SQLITE: Final = Place(
    title="SQLite",
    driver="sqlite3",
    dialect="sqlite",
    make=_new_file,
    rows="""
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000)
INSERT INTO locks (owner_id, resource_type, resource_id, acquired_at, expires_at)
SELECT 'w' || n, 'plan', 'p-' || n, '2019-12-31T00:00:00.000000Z',
  strftime('%Y-%m-%dT%H:%M:%S', ?, n || ' seconds') || printf('.%06dZ', n)
FROM numbers
""",
    ready=lambda connection: prepare(connection, utc_now),
)
POSTGRES: Final = Place(
    title="PostgreSQL",
    driver="psycopg",
    dialect="postgresql",
    make=sites.new_postgres,
    rows="""
INSERT INTO locks (owner_id, resource_type, resource_id, acquired_at, expires_at)
SELECT 'w' || n, 'plan', 'p-' || n, '2019-12-31T00:00:00.000000Z',
  to_char(?::timestamp + n * interval '1.000001 second', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
FROM generate_series(1, 100000) n
""",
    to_rest="VACUUM ANALYZE locks",
)
MARIADB: Final = Place(
    title="MariaDB",
    driver="PyMySQL",
    dialect="mysql",
    make=sites.new_mysql,
    rows="""
INSERT INTO locks (owner_id, resource_type, resource_id, acquired_at, expires_at)
SELECT CONCAT('w', seq), 'plan', CONCAT('p-', seq), '2019-12-31T00:00:00.000000Z',
  DATE_FORMAT(TIMESTAMPADD(MICROSECOND, seq * 1000001, ?), '%%Y-%%m-%%dT%%H:%%i:%%s.%%fZ')
FROM seq_1_to_100000
""",
    to_rest="ANALYZE TABLE locks",
)
PLACES: Final = (SQLITE, POSTGRES, MARIADB)
