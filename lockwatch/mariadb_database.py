"""Locks in a MariaDB database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.exc import DBAPIError

from lockwatch.core.errors import DatabaseBusyError, ValidationError
from lockwatch.core.mariadb import DIALECT, open_connection, settle
from lockwatch.database import UPGRADE_TIMEOUT_SECS
from lockwatch.server import Server

_LOCK_NAME: Final = "SHA2(CONCAT('lockwatch upgrade ', DATABASE()), 224)"
_IS_READ_ONLY: Final = text("SELECT @@read_only AND CURRENT_USER() NOT LIKE 'root@%'")
_WOULD_DELETE: Final = text("EXPLAIN DELETE FROM locks WHERE id IS NULL")
_REFUSED: Final = (1044, 1142, 1143, 1227, 1290, 1792)


@dataclass(frozen=True, slots=True)
class MariadbDatabase(Server):
    """One of a MariaDB server's databases."""

    SCHEMES: ClassVar = ("mariadb", "mariadb+pymysql", "mysql", "mysql+pymysql")
    DRIVER: ClassVar = "mariadb+pymysql"
    MODULE: ClassVar = "pymysql"
    EXTRA: ClassVar = "mysql"
    PORT: ClassVar = 3306

    def _connect(self) -> Any:
        try:
            return open_connection(self._arguments())
        except TypeError as error:  # of a keyword that the driver does not know
            names = ", ".join(self.url.query)
            raise ValidationError("database", names, "must have no parameters but those of the driver") from error

    def _settle_transactions(self, engine: Engine, read_only: bool) -> None:
        def connect(driver: Any, _record: Any) -> None:
            if read_only:
                with driver.cursor() as cursor:
                    cursor.execute(DIALECT.forbid_writes)

        event.listen(engine, "connect", connect)

    @contextmanager
    def _upgrading_alone(self, connection: Connection) -> Iterator[None]:
        settle(connection.connection.driver_connection, statement_timeout_secs=0)
        wait = f"SELECT GET_LOCK({_LOCK_NAME}, {UPGRADE_TIMEOUT_SECS:.0f})"  # nosec B608 # ours
        if not connection.scalar(text(wait)):
            raise DatabaseBusyError("another upgrade of the same database takes too long; try again")
        try:
            yield
        finally:
            connection.execute(text(f"DO RELEASE_LOCK({_LOCK_NAME})"))

    def _has(self, connection: Connection, table: str) -> bool:
        find = "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = :name"
        return connection.scalar(text(find), {"name": table}) is not None

    def _may_write(self, connection: Connection) -> bool:
        if connection.scalar(_IS_READ_ONLY):
            return False
        try:
            connection.execute(_WOULD_DELETE)
        except DBAPIError as error:
            return not (error.orig and error.orig.args and error.orig.args[0] in _REFUSED)
        return True
