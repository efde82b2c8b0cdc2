"""What MariaDB's errors mean, by their number."""

from __future__ import annotations

from typing import Final

from lockwatch.core.dialect import UPGRADE_HINT
from lockwatch.core.errors import DatabaseBusyError, DatabaseError, LostRaceError, TakenError
from lockwatch.core.text import clean

_RACES: Final = (1213, 1020)
_BUSY: Final = (1205, 1969, 1317, 3024)
_DUPLICATE: Final = 1062
_UNDEFINED: Final = (1146, 1054)
_MEANINGS: Final = {
    1040: "the database has no room for more",
    1044: "the database refused the user",
    1045: "the database refused the user",
    1049: "there is no such database",
    1142: "the database refused the user",
    1203: "the database has no room for more",
    1226: "the database has no room for more",
    1290: "the database cannot be written",
    1467: "the database cannot give out another id",
    1792: "the database cannot be written",
    1836: "the database cannot be written",
}
_DRIVERS_OWN: Final = range(2000, 3000)


def translate(error: Exception) -> DatabaseError:
    """A driver's error as ours."""
    code, words = _code(error), words_of(error)
    if code in _RACES:
        return LostRaceError(f"another transaction came first ({words})")
    if code in _BUSY:
        return DatabaseBusyError(f"another connection keeps the row locked, or the database is too slow ({words})")
    if code == _DUPLICATE and not words.endswith(("'PRIMARY'", ".PRIMARY'")):
        return TakenError(f"the resource has a row already ({words})")
    if code in _UNDEFINED and "locks" in words:
        return DatabaseError(f"the table `locks` is missing or not lockwatch's ({words}); {UPGRADE_HINT}")
    if code in _DRIVERS_OWN or code == 0:
        return DatabaseError(f"the database cannot be reached ({words})")
    return DatabaseError(f"{_MEANINGS.get(code, 'the database refused the statement')} ({words})")


def _code(error: Exception) -> int:
    return error.args[0] if error.args and isinstance(error.args[0], int) else -1


def words_of(error: Exception) -> str:
    """What the server or the driver said."""
    return clean(str(error.args[1] if len(error.args) > 1 and error.args[1] else error))


def lacks(error: Exception, table: str) -> bool:
    """Whether an error says that a table of that name, or one like it, is missing, or a column of it."""
    return _code(error) in _UNDEFINED and table in words_of(error)
