"""Engines over an SQLite file, for what needs SQLAlchemy there: plans, migrations, and who asks for one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from lockwatch.core.sqlite import DIALECT as SQLITE
from lockwatch.core.timestamps import utc_now

Connect: TypeAlias = Callable[[], sqlite3.Connection]


def in_autocommit(connect: Connect) -> Engine:
    """An engine whose connections are in autocommit, and not pooled, as all here."""
    return create_engine("sqlite://", creator=connect, poolclass=NullPool, isolation_level="AUTOCOMMIT")


def writing(connect: Connect) -> Engine:
    """An engine whose transactions may write from their start on."""
    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)
    event.listen(engine, "begin", _begin)
    return engine


def transactional(connect: Connect) -> Engine:
    """The same, whose connections have the functions and settings of a lock service's."""
    engine = writing(connect)
    event.listen(engine, "connect", lambda driver, _record: SQLITE.prepare(driver, utc_now))
    return engine


def transactional_to_read(connect: Connect) -> Engine:
    """The same, to which the database refuses all that would write."""
    engine = transactional(connect)
    event.listen(engine, "connect", lambda driver, _record: driver.execute(SQLITE.forbid_writes))
    return engine


@contextmanager
def unwrapped() -> Iterator[None]:
    """Within, an error of the driver is raised as that, not in SQLAlchemy's wrapping."""
    try:
        yield
    except DBAPIError as error:
        if isinstance(error.orig, Exception):
            raise error.orig from error
        raise


def _begin(connection: Connection) -> None:
    if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
        connection.exec_driver_sql(SQLITE.begin)
