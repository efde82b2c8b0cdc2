"""What PostgreSQL's errors mean, by their SQLSTATE."""

from __future__ import annotations

from typing import Final

from lockwatch.core.dialect import UPGRADE_HINT
from lockwatch.core.errors import DatabaseBusyError, DatabaseError, LostRaceError
from lockwatch.core.text import clean

_RACES: Final = ("40001", "40P01")
_BUSY: Final = ("55P03", "57014")
_UNDEFINED: Final = ("42P01", "42703")
_MEANINGS: Final = {
    "08": "the database cannot be reached",
    "22P05": "the database's character set lacks a character",
    "25006": "the database cannot be written",
    "28": "the database refused the user",
    "3D000": "there is no such database",
    "42501": "the database refused the user",
    "53": "the database has no room for more",
    "57": "the database ended the connection",
}


def translate(error: Exception) -> DatabaseError:
    """A driver's error as ours."""
    code = _code(error)
    words = words_of(error)
    if code in _RACES:
        return LostRaceError(f"another transaction came first ({words})")
    if code in _BUSY:
        return DatabaseBusyError(f"another connection keeps the row locked, or the database is too slow ({words})")
    if code in _UNDEFINED and "locks" in words:
        return DatabaseError(f"the table `locks` is missing or not lockwatch's ({words}); {UPGRADE_HINT}")
    if not code and (refusal := words.partition("FATAL:")[2].strip()):  # who connects is told no code
        return DatabaseError(f"the database refused the connection ({refusal})")
    if not code:
        return DatabaseError(f"the database cannot be reached ({words})")
    meaning = next((said for start, said in _MEANINGS.items() if code.startswith(start)), None)
    return DatabaseError(f"{meaning or 'the database refused the statement'} ({words})")


def _code(error: Exception) -> str:
    """A guard's error comes from the driver of the caller's choice: psycopg2 has another name for it."""
    return getattr(error, "sqlstate", None) or getattr(error, "pgcode", None) or ""


def words_of(error: Exception) -> str:
    """What the server or the driver said first, without the statement that it quotes."""
    said = getattr(getattr(error, "diag", None), "message_primary", None) or str(error)
    return clean(said.strip().partition("\n")[0])


def lacks(error: Exception, table: str) -> bool:
    """Whether an error says that a table of that name, or one like it, is missing, or a column of it."""
    return _code(error) in _UNDEFINED and table in words_of(error)
