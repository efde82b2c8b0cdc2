"""The fence, checked where the data is: a lease is verified inside the transaction that writes under it.

On SQLite an UPDATE of the lease's row that changes nothing takes the file's write lock. Until the caller's transaction
ends nobody can take the lease over, and a holder that was paused past its TTL finds that out before it writes.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from lockwatch.core.errors import DatabaseBusyError, LossReason, ValidationError
from lockwatch.core.loss import Loss
from lockwatch.core.model import Lock
from lockwatch.core.statements import OF_RESOURCE_ROW, TOUCH
from lockwatch.core.timestamps import utc_now

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from lockwatch.core.dialects import Clock

_MUST: Final = "must be in a transaction: in AUTOCOMMIT nothing is protected from one statement to the next"


def find_loss(connection: Connection | Session, lock: Lock, clock: Clock = utc_now) -> Loss | None:
    """Why the lock is lost; or None, and then it is its owner's until the connection's transaction ends.

    Raises:
        ValidationError: the connection is in AUTOCOMMIT, or of a database that lockwatch does not serve.
        DatabaseBusyError: the transaction has read what others changed since, or waited too long: retry it.
    """
    core = connection if isinstance(connection, Connection) else connection.connection()
    if core.dialect.name != "sqlite":
        raise ValidationError("connection", core.dialect.name, "must be of an SQLite database")
    is_there = _touch(core, lock)
    if not _is_in_transaction(core):
        raise ValidationError("connection", "one in AUTOCOMMIT", _MUST)
    row = core.execute(OF_RESOURCE_ROW, {"type": lock.resource_type, "resource": lock.resource_id}).first()
    return _judge(Lock.from_row(row) if row else None, is_there, clock)


def _touch(connection: Connection, lock: Lock) -> bool:
    try:
        return connection.execute(TOUCH, {"lock": lock.id, "owner": lock.owner_id}).rowcount == 1
    except OperationalError as error:
        if getattr(error.orig, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        raise DatabaseBusyError(f"the guard could not be had; retry the transaction ({error.orig})") from error.orig


def _judge(found: Lock | None, is_there: bool, clock: Clock) -> Loss | None:
    if found is None:
        return Loss(reason=LossReason.REMOVED)
    if not is_there:
        return Loss(reason=LossReason.TAKEN_OVER, holder=found)
    if not found.is_readable:
        return Loss(reason=LossReason.UNREADABLE)
    return Loss(reason=LossReason.EXPIRED) if found.is_expired(clock()) else None


def _is_in_transaction(connection: Connection) -> bool:
    driver = connection.connection.driver_connection
    return isinstance(driver, sqlite3.Connection) and driver.in_transaction
