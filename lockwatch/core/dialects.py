"""What differs between databases, as data: how a connection is made ready, and what a driver's errors mean."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeAlias

from lockwatch.core.errors import DatabaseBusyError, DatabaseError
from lockwatch.core.interrupts import noting
from lockwatch.core.schema import COLUMNS
from lockwatch.core.text import clean
from lockwatch.core.timestamps import in_written_form, later, to_text

UPGRADE_HINT: Final = "`lockwatch db upgrade` makes or adopts it"

Clock: TypeAlias = Callable[[], datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One database's ways."""

    begin: str
    """Starts a transaction that may write."""
    forbid_writes: str
    """Makes the database refuse whatever the connection writes from then on."""
    data_version: str | None
    """Gives a value that changes when another connection changes the database, if there is such a thing."""
    prepare: Callable[[Any, Clock], None]
    """Makes a new driver connection ready; the clock is used where the database has none of its own."""
    check_table: Callable[[Any], bool]
    """Whether the ids of the table `locks` never come back; DatabaseError if the table is missing or not ours."""
    translate: Callable[[Exception], DatabaseError]
    """A driver's error as ours."""


def _prepare_sqlite(connection: sqlite3.Connection, clock: Clock) -> None:
    connection.isolation_level = None  # autocommit, whatever the engine was made for
    # Bytes that are not UTF-8 must neither fail nor be lost: the row they are in can then still be named.
    connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    connection.create_function("lockwatch_now", 0, noting(partial(_now, clock)))
    connection.create_function("lockwatch_later", 2, noting(later), deterministic=True)
    connection.create_function("lockwatch_utc", 1, noting(in_written_form), deterministic=True)
    # Without a write-ahead log NORMAL may lose or break the file when the power fails.
    if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
        connection.execute("PRAGMA synchronous = NORMAL")


def _now(clock: Clock) -> str:
    return to_text(clock())


_IDS_NEVER_RETURN: Final = re.compile(
    r"\bPRIMARY\s+KEY\s+(ASC\s+)?(ON\s+CONFLICT\s+\w+\s+)?AUTOINCREMENT\b", re.IGNORECASE
)


def _check_sqlite_table(connection: sqlite3.Connection) -> bool:
    columns = {row[1].lower() for row in connection.execute("PRAGMA table_info(locks)")}
    if not columns:
        raise DatabaseError(f"the database has no table `locks` yet; {UPGRADE_HINT}")
    missing = [name for name in COLUMNS if name not in columns]
    if missing:
        raise DatabaseError(f"the table `locks` is not lockwatch's: it has no column {', '.join(missing)}")
    (definition,) = connection.execute("SELECT sql FROM sqlite_master WHERE lower(name) = 'locks'").fetchone()
    return _IDS_NEVER_RETURN.search(definition) is not None


_SQLITE_BUSY: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_SQLITE_MEANINGS: Final = {
    sqlite3.SQLITE_NOTADB: "the file is not an SQLite database",
    sqlite3.SQLITE_READONLY: "the database cannot be written",
    sqlite3.SQLITE_CANTOPEN: "the database file cannot be opened",
    sqlite3.SQLITE_FULL: "the disk is full, or a lock of the table has the greatest id there can be",
    sqlite3.SQLITE_CORRUPT: "the database file is damaged",
    sqlite3.SQLITE_IOERR: "the database file cannot be read or written",
    sqlite3.SQLITE_PERM: "the database file may not be used",
    sqlite3.SQLITE_AUTH: "the database file may not be used",
}


def _translate_sqlite(error: Exception) -> DatabaseError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    words = clean(str(error))
    if code in _SQLITE_BUSY:
        return DatabaseBusyError(f"another connection keeps the database locked ({words})")
    if words.startswith(("no such table: locks", "no such column: locks.")):
        return DatabaseError(f"the table `locks` is missing or not lockwatch's ({words}); {UPGRADE_HINT}")
    meaning = _SQLITE_MEANINGS.get(code, "the database refused the statement")
    return DatabaseError(f"{meaning} ({words})")


SQLITE: Final = Dialect(
    begin="BEGIN IMMEDIATE",
    forbid_writes="PRAGMA query_only = ON",
    data_version="PRAGMA data_version",
    prepare=_prepare_sqlite,
    check_table=_check_sqlite_table,
    translate=_translate_sqlite,
)

DIALECTS: Final = {"sqlite": SQLITE}
