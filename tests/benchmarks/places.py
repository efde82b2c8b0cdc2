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

LIVE: Final = "2999-01-01T00:00:00."
STALE: Final = "2020-01-01T00:00:00."
"""How the expiries begin of the many rows that `fill` makes. No two are alike: among real ones few are."""

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
    """Inserts 100,000 locks whose expiries begin with a parameter."""
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

    def fill(self, site: Site, expiry: str) -> None:
        """Put 100,000 locks into it whose expiries begin so, and let it come to rest."""
        site.execute(self.rows, expiry)
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
SELECT 'w' || n, 'plan', 'p-' || n, '2019-12-31T00:00:00.000000Z', ? || substr('00000' || n, -6) || 'Z' FROM numbers
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
SELECT 'w' || n, 'plan', 'p-' || n, '2019-12-31T00:00:00.000000Z', ? || lpad(n::text, 6, '0') || 'Z'
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
  CONCAT(?, LPAD(seq, 6, '0'), 'Z')
FROM seq_1_to_100000
""",
    to_rest="ANALYZE TABLE locks",
)
PLACES: Final = (SQLITE, POSTGRES, MARIADB)
