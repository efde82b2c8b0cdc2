"""Locks in a MariaDB database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.util import asbool

from lockwatch.core.errors import DatabaseBusyError
from lockwatch.core.mariadb import DIALECT, open_bare, open_connection, settle
from lockwatch.core.schema import EXACT
from lockwatch.core.text import clean
from lockwatch.database import UPGRADE_TIMEOUT_SECS, Condition
from lockwatch.server import Server, durability

_LOCK_NAME: Final = "SHA2(CONCAT('lockwatch upgrade ', DATABASE()), 224)"
_IS_READ_ONLY: Final = text("SELECT @@read_only AND CURRENT_USER() NOT LIKE 'root@%'")
_WOULD_DELETE: Final = text("EXPLAIN DELETE FROM locks WHERE id IS NULL")
_REFUSED: Final = (1044, 1142, 1143, 1227, 1290, 1792)

_SERVER: Final = "SELECT VERSION(), @@tx_isolation"
_OURS: Final = "table_schema = DATABASE() AND table_name = 'locks'"
_COLLATION: Final = (
    f"SELECT collation_name FROM information_schema.columns WHERE {_OURS} AND column_name = 'resource_id'"  # noqa: S608  # nosec B608 # ours
)
_DURABILITY: Final = "SELECT @@innodb_flush_log_at_trx_commit IN (1, 3)"
_BLOAT: Final = f"SELECT data_length + index_length, data_free FROM information_schema.tables WHERE {_OURS}"  # noqa: S608  # nosec B608 # ours
MUCH_FREE: Final = 100 * 2**20
"""From how many free bytes on a table is bloated, if they are more than what it holds, too."""


@dataclass(frozen=True, slots=True)
class MariadbDatabase(Server):
    """One of a MariaDB server's databases."""

    SCHEMES: ClassVar = ("mariadb", "mariadb+pymysql", "mysql", "mysql+pymysql")
    DRIVER: ClassVar = "mariadb+pymysql"
    MODULE: ClassVar = "pymysql"
    EXTRA: ClassVar = "mysql"
    PORT: ClassVar = 3306
    SOCKET: ClassVar = "unix_socket"

    def _connect(self) -> Any:
        return self._connected(open_connection)

    def _connect_bare(self) -> Any:
        return self._connected(open_bare)

    def _connected(self, connect: Callable[[dict[str, Any]], Any]) -> Any:
        try:
            return connect(self._arguments())
        except (TypeError, AttributeError, ValueError, OSError) as error:  # the driver looks at few of them itself
            self._refuse_parameters(error)

    def _arguments(self) -> dict[str, Any]:
        """See `Server._arguments`. Beside `ssl_verify_...` the driver would forget the files that `ssl` has."""
        arguments = super(MariadbDatabase, self)._arguments()  # the bare one names the class before its slots
        tls = arguments.get("ssl")
        if isinstance(tls, dict):
            verified, named = (arguments.pop(f"ssl_verify_{what}", None) for what in ("cert", "identity"))
            if verified is not None:
                tls["verify_mode"] = asbool(verified)
            if named is not None or not tls.get("verify_mode", True):
                tls["check_hostname"] = asbool(named or False)
        return arguments

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
        yield
        connection.execute(text(f"DO RELEASE_LOCK({_LOCK_NAME})"))  # after an error the connection's end releases it

    def _has(self, connection: Connection, table: str) -> bool:
        find = "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = :name"
        return connection.scalar(text(find), {"name": table}) is not None

    def conditions(self) -> list[Condition]:
        """See `Database.conditions`: version, isolation, durability, collation, and free space in the table."""
        version, isolation = self.ask(_SERVER)
        return [
            Condition(name="Server", message=f"MariaDB {clean(version)}"),
            Condition(name="Isolation", message=f"lock calls run at {clean(isolation).lower().replace('-', ' ')}"),
            durability(bool(self.ask(_DURABILITY)[0]), "set innodb_flush_log_at_trx_commit to 1"),
            *map(_collation, filter(None, [self.ask(_COLLATION)])),
            *map(_bloat, filter(None, [self.ask(_BLOAT)])),
        ]

    def _may_write(self, connection: Connection) -> bool:
        if connection.scalar(_IS_READ_ONLY):
            return False
        try:
            connection.execute(_WOULD_DELETE)
        except DBAPIError as error:
            return not (error.orig and error.orig.args and error.orig.args[0] in _REFUSED)
        return True


def _collation(found: Any) -> Condition:
    if found[0] == EXACT:
        return Condition(name="Collation", message=f"{EXACT}: names that differ are different locks")
    message = f"{clean(str(found[0]))}: names that differ by case or accent may be one lock"
    return Condition(name="Collation", message=message, hint="`lockwatch db upgrade` makes it exact")


def _bloat(found: Any) -> Condition:
    used, free = (int(number or 0) for number in found)
    message = f"the table `locks` takes {used / 1024:.0f} KiB, and {free / 1024:.0f} KiB of its file are free"
    hint = "`OPTIMIZE TABLE locks` gives them back" if free > max(MUCH_FREE, used) else None
    return Condition(name="Bloat", message=message, hint=hint)
