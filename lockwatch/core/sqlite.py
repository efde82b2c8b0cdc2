"""SQLite's ways. It has no clock and no way with ISO-8601: functions of ours serve its statements."""

from __future__ import annotations

import re
import sqlite3
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from lockwatch.core.dialect import UPGRADE_HINT, Clock, Dialect, Guarded, Session
from lockwatch.core.errors import DatabaseBusyError, DatabaseError
from lockwatch.core.interrupts import noting
from lockwatch.core.model import Lock
from lockwatch.core.sqlite_statements import OF_RESOURCE, STATEMENTS, TOUCH
from lockwatch.core.statements import COLUMNS
from lockwatch.core.text import clean
from lockwatch.core.timestamps import in_written_form, later, to_text

if TYPE_CHECKING:
    from sqlalchemy import Connection


def prepare(connection: sqlite3.Connection, clock: Clock) -> Session:
    """Make a new driver connection ready."""
    connection.isolation_level = None  # autocommit, whatever the engine was made for
    # Bytes that are not UTF-8 must neither fail nor be lost: the row they are in can then still be named.
    connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    connection.create_function("lockwatch_now", 0, noting(partial(_now, clock)))
    connection.create_function("lockwatch_later", 2, noting(later), deterministic=True)
    connection.create_function("lockwatch_utc", 1, noting(in_written_form), deterministic=True)
    # Without a write-ahead log NORMAL may lose or break the file when the power fails.
    if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
        connection.execute("PRAGMA synchronous = NORMAL")
    return connection.cursor()  # one for all statements: to make one costs as much as a small statement


def _now(clock: Clock) -> str:
    return to_text(clock())


_IDS_NEVER_RETURN: Final = re.compile(
    r"\bPRIMARY\s+KEY\s+(ASC\s+)?(ON\s+CONFLICT\s+\w+\s+)?AUTOINCREMENT\b", re.IGNORECASE
)


def _check_table(session: Session) -> str | None:
    columns = {row[1].lower() for row in session.execute("PRAGMA table_info(locks)").fetchall()}
    if not columns:
        raise DatabaseError(f"the database has no table `locks` yet; {UPGRADE_HINT}")
    missing = [name for name in COLUMNS if name not in columns]
    if missing:
        raise DatabaseError(f"the table `locks` is not lockwatch's: it has no column {', '.join(missing)}")
    ((definition,),) = session.execute("SELECT sql FROM sqlite_master WHERE lower(name) = 'locks'").fetchall()
    return None if _IDS_NEVER_RETURN.search(definition) else "ids of the table `locks` can come back"


def _guard(connection: Connection, lock: Lock, clock: Clock) -> Guarded:
    """An UPDATE that changes nothing takes the file's write lock. The connection knows no function of ours."""
    connection.exec_driver_sql(TOUCH, {"lock": lock.id, "owner": lock.owner_id})
    in_transaction = bool(getattr(connection.connection.driver_connection, "in_transaction", False))
    row = connection.exec_driver_sql(OF_RESOURCE, {"type": lock.resource_type, "resource": lock.resource_id}).first()
    now: datetime = clock()
    return Guarded(row, now, in_transaction)


_BUSY: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_MEANINGS: Final = {
    sqlite3.SQLITE_NOTADB: "the file is not an SQLite database",
    sqlite3.SQLITE_READONLY: "the database cannot be written",
    sqlite3.SQLITE_CANTOPEN: "the database file cannot be opened",
    sqlite3.SQLITE_FULL: "the disk is full, or a lock of the table has the greatest id there can be",
    sqlite3.SQLITE_CORRUPT: "the database file is damaged",
    sqlite3.SQLITE_IOERR: "the database file cannot be read or written",
    sqlite3.SQLITE_PERM: "the database file may not be used",
    sqlite3.SQLITE_AUTH: "the database file may not be used",
}


_LACKING: Final = ("no such table: ", "no such column: ", "table ")


def _lacks(error: Exception, table: str) -> bool:
    return str(error).startswith(tuple(f"{words}{table}" for words in _LACKING))


def _translate(error: Exception) -> DatabaseError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    words = clean(str(error))
    if code in _BUSY:
        return DatabaseBusyError(f"another connection keeps the database locked ({words})")
    if words.startswith(("no such table: locks", "no such column: locks.")):
        return DatabaseError(f"the table `locks` is missing or not lockwatch's ({words}); {UPGRADE_HINT}")
    meaning = _MEANINGS.get(code, "the database refused the statement")
    return DatabaseError(f"{meaning} ({words})")


DIALECT: Final = Dialect(
    title="SQLite",
    statements=STATEMENTS,
    begin="BEGIN IMMEDIATE",
    forbid_writes="PRAGMA query_only = ON",
    data_version="PRAGMA data_version",
    prepare=prepare,
    check_table=_check_table,
    guard=_guard,
    translate=_translate,
    lacks=_lacks,
    is_gone=lambda _driver: False,
    holds_anything=True,
    idle_secs=None,
)
