"""How a service comes by driver connections of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lockwatch.core.dialect import Dialect
from lockwatch.core.dialects import DRIVERS, dialect_of
from lockwatch.core.errors import ValidationError

if TYPE_CHECKING:
    from sqlalchemy import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Opener:
    """Opens connections to one database, each of which is then its caller's alone."""

    dialect: Dialect
    failure: type[Exception]
    """What the driver raises."""
    open: Callable[[], Any]
    """A new connection of the driver. Raises DatabaseError."""


def opener_of(engine: Engine) -> Opener:
    """Opens connections as an engine's pool does, and waits for none of those.

    Raises:
        ValidationError: lockwatch does not know the engine's database, or does not use its driver.
    """
    from sqlalchemy.exc import DBAPIError  # late: who has no engine needs no SQLAlchemy, which loads for long

    dialect, driver = dialect_of("engine", engine.dialect.name), engine.dialect.driver
    known = DRIVERS.get(engine.dialect.name, driver)
    if driver != known:
        raise ValidationError("engine", driver, f"must use the driver {known}, which lockwatch knows")
    failure: type[Exception] = engine.dialect.loaded_dbapi.Error
    pool = engine.pool.recreate()

    def connect() -> Any:
        try:
            pooled = pool.connect()
        except (DBAPIError, failure) as error:  # opening a raw connection wraps some errors and not others
            cause = error.orig if isinstance(error, DBAPIError) and isinstance(error.orig, Exception) else error
            raise dialect.translate(cause) from cause
        connection = pooled.dbapi_connection
        pooled.detach()
        return connection

    return Opener(dialect=dialect, failure=failure, open=connect)
