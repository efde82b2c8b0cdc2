"""The fence, checked where the data is: a lease is verified inside the transaction that writes under it.

On a server the lease's row is locked and read; on SQLite an UPDATE of it that changes nothing takes the file's write
lock. Until the caller's transaction ends nobody can take the lease over, and a holder that was paused past its TTL
finds that out before it writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from lockwatch.core.dialect import Dialect
from lockwatch.core.dialects import dialect_of
from lockwatch.core.errors import DatabaseBusyError, DatabaseError, ValidationError
from lockwatch.core.loss import Loss, loss_of
from lockwatch.core.model import Lock

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from lockwatch.core.dialect import Clock

_MUST: Final = "must be in a transaction: in AUTOCOMMIT nothing is protected from one statement to the next"


def find_loss(connection: Connection | Session, lock: Lock, dialect: Dialect, clock: Clock) -> Loss | None:
    """Why the lock is lost; or None, and then it is its owner's until the connection's transaction ends.

    Raises:
        ValidationError: it is no connection or session of SQLAlchemy, is in AUTOCOMMIT, or of another kind of database.
        DatabaseBusyError: the transaction has read what others changed since, or waited too long: retry it.
        DatabaseError: the database has no such table, or cannot be written.
    """
    core = _connection_of(connection)
    if dialect_of("connection", core.dialect.name) is not dialect:
        raise ValidationError("connection", core.dialect.name, f"must be to the lock's own database: {dialect.title}")
    try:
        row, now, is_in_transaction = dialect.guard(core, lock, clock)
    except DBAPIError as error:
        raise _translate(dialect, error) from error.orig
    if not is_in_transaction:
        raise ValidationError("connection", "one in AUTOCOMMIT", _MUST)
    return loss_of(lock, (Lock.from_row(row), now) if row else None)


def _connection_of(connection: Connection | Session) -> Connection:
    if isinstance(connection, Connection):
        return connection
    of_session = getattr(connection, "connection", None)  # a Session, a scoped one too, without importing the ORM
    core = of_session() if callable(of_session) else None
    if not isinstance(core, Connection):
        raise ValidationError("connection", connection, "must be a connection or a session of SQLAlchemy")
    return core


def _translate(dialect: Dialect, error: DBAPIError) -> DatabaseError:
    meant = dialect.translate(error.orig if isinstance(error.orig, Exception) else error)
    if isinstance(meant, DatabaseBusyError):
        return DatabaseBusyError(f"the guard could not be had; retry the transaction ({meant})")
    return meant
