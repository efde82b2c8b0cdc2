"""What differs between databases, as data: one record for each, filled in by the module of that database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

from lockwatch.core.errors import DatabaseError
from lockwatch.core.statements import Statements

if TYPE_CHECKING:
    import sqlalchemy

    from lockwatch.core.model import Lock, Row

UPGRADE_HINT: Final = "`lockwatch db upgrade` makes or adopts it"

CONNECT_TIMEOUT_SECS: Final = 5
"""How long a server may take to let a connection in."""
STATEMENT_TIMEOUT_SECS: Final = 10
"""How long a server may work on one statement."""
LOCK_TIMEOUT_SECS: Final = 5
"""How long a statement waits on a server for what another transaction has locked."""
ANSWER_TIMEOUT_SECS: Final = 15
"""How long an answer is waited for, also from a server that keeps none of its own timeouts."""
IDLE_SECS: Final = 60.0
"""How long a connection to a server stays open that nobody uses."""

Clock: TypeAlias = Callable[[], datetime]
Parameters: TypeAlias = Mapping[str, object]


class Cursor(Protocol):
    """The answer to a statement."""

    @property
    def rowcount(self) -> int:
        """How many rows it changed."""

    def fetchall(self) -> Sequence[Any]:
        """All its rows."""

    def fetchmany(self, size: int) -> Sequence[Any]:
        """The next of its rows, none at the end."""


class Session(Protocol):
    """A driver connection in autocommit that was made ready."""

    def execute(self, sql: str, parameters: Parameters | tuple[()] = ..., /) -> Cursor:
        """Run one statement."""

    def close(self) -> None:
        """Keep nothing of it. The connection is closed after it."""


class Guarded(NamedTuple):
    """What a guard found in the caller's transaction, and holds until that ends."""

    row: Row | None
    """The row of the lease's resource."""
    now: datetime
    """The moment, by the clock that judges, once nobody else could change the row any more."""
    is_in_transaction: bool
    """Whether there is a transaction for it to be held in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One database's ways."""

    title: str
    """What people call it."""
    statements: Statements
    """Every statement on the table, in its words."""
    begin: str
    """Starts a transaction that may write."""
    forbid_writes: str
    """Makes the database refuse whatever the connection writes from then on."""
    data_version: str | None = None
    """Gives a value that changes when another connection changes the database, if there is such a thing."""
    prepare: Callable[[Any, Clock], Session]
    """Makes a new driver connection ready; the clock is used where the database has none of its own."""
    check_table: Callable[[Session], str | None]
    """Why `acquire` cannot have fencing tokens from the table `locks`; None if it can.

    DatabaseError if the table is missing or not ours."""
    guard: Callable[[sqlalchemy.Connection, Lock, Clock], Guarded]
    """Holds a lease's row in the caller's transaction, and reads it."""
    translate: Callable[[Exception], DatabaseError]
    """A driver's error as ours: LostRaceError if to try again may help at once."""
    lacks: Callable[[Exception, str], bool]
    """Whether a driver's error says that a table of that name, or one like it, is missing, or a column of it."""
    is_gone: Callable[[Any], bool]
    """Whether the other end of an idle driver connection has hung up. Asks nobody."""
    holds_anything: bool
    """Whether a cell may hold any bytes and an id any value, whatever the columns' types."""
    pages_at_once: int = 1
    """How many pages of rows a clean-up may take at once, where nobody waits for the rows of others."""
    idle_secs: float | None = IDLE_SECS
    """How long a connection stays open that nobody uses; None: as long as the service."""
