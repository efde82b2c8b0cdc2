"""Locks in a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from sqlalchemy import Connection, Engine, event, text

from lockwatch.core.postgres import DIALECT, SET_LOCAL, is_pooled, open_connection
from lockwatch.core.text import clean
from lockwatch.database import UPGRADE_TIMEOUT_SECS, Condition
from lockwatch.server import Server, durability

_ALONE: Final = text("SELECT pg_advisory_xact_lock(hashtextextended('lockwatch upgrade', 0))")
_MAY_WRITE: Final = text(
    "SELECT NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off' AND ("
    "to_regclass('locks') IS NULL OR has_table_privilege(to_regclass('locks'), 'DELETE'))"
)

_SERVER: Final = "SELECT current_setting('server_version'), current_setting('transaction_isolation')"
_DURABILITY: Final = "SELECT current_setting('fsync') = 'on'"
_NAMES: Final = (
    "SELECT current_setting('server_encoding'), bool_and(coalesce(collisdeterministic, true))"
    " FROM pg_attribute LEFT JOIN pg_collation ON pg_collation.oid = attcollation"
    " WHERE attrelid = to_regclass('locks') AND attnum > 0 AND NOT attisdropped"
)
_OF_EVERY_NAME: Final = ("UTF8", "SQL_ASCII")
_BLOAT: Final = (
    "SELECT n_live_tup, n_dead_tup, pg_table_size(relid) FROM pg_stat_user_tables WHERE relid = to_regclass('locks')"
)
MANY_DEAD_ROWS: Final = 10_000
"""From how many dead rows on a table may be bloated, if they are more than its live ones, too."""


@dataclass(frozen=True, slots=True)
class PostgresDatabase(Server):
    """One of a PostgreSQL server's databases."""

    SCHEMES: ClassVar = ("postgresql", "postgresql+psycopg")
    DRIVER: ClassVar = "postgresql+psycopg"
    MODULE: ClassVar = "psycopg"
    EXTRA: ClassVar = "postgres"
    PORT: ClassVar = 5432
    SOCKET: ClassVar = "host"

    def _engine_options(self) -> dict[str, Any]:
        return {"use_native_hstore": False}  # to look for it would take another answer of the server

    def _connect(self) -> Any:
        from psycopg import ProgrammingError  # late: it needs the driver

        try:
            return open_connection({**self._arguments(), "client_encoding": "utf8"})  # no other has all names
        except (ProgrammingError, UnicodeError) as error:
            self._refuse_parameters(error)

    def _settle_transactions(self, engine: Engine, read_only: bool) -> None:
        def settle(driver: Any, record: Any) -> None:
            was_autocommit, driver.autocommit = driver.autocommit, True
            record.info["lockwatch_pooled"] = is_pooled(driver)
            if read_only and not record.info["lockwatch_pooled"]:
                driver.execute(DIALECT.forbid_writes)
            driver.autocommit = was_autocommit

        def begin(connection: Connection) -> None:
            if connection.get_execution_options().get("isolation_level") == "AUTOCOMMIT":
                return
            if connection.info["lockwatch_pooled"]:
                read_only_too = ("SET LOCAL transaction_read_only = on",) if read_only else ()
                for setting in (*SET_LOCAL, *read_only_too):
                    connection.exec_driver_sql(setting)

        event.listen(engine, "connect", settle)
        event.listen(engine, "begin", begin)

    @contextmanager
    def _upgrading_alone(self, connection: Connection) -> Iterator[None]:
        connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{UPGRADE_TIMEOUT_SECS:.0f}s'")
        connection.execute(_ALONE)
        yield

    def _has(self, connection: Connection, table: str) -> bool:
        return connection.scalar(text("SELECT to_regclass(:name)::text"), {"name": table}) is not None

    def conditions(self) -> list[Condition]:
        """See `Database.conditions`: version, isolation, durability, collation, and dead rows of the table."""
        version, isolation = self.ask(_SERVER)
        return [
            Condition(name="Server", message=f"PostgreSQL {clean(version)}"),
            Condition(name="Isolation", message=f"lock calls run at {clean(isolation)}"),
            durability(bool(self.ask(_DURABILITY)[0]), "turn fsync on"),
            _collation(*self.ask(_NAMES)),
            *map(_bloat, filter(None, [self.ask(_BLOAT)])),
        ]

    def _may_write(self, connection: Connection) -> bool:
        return bool(connection.scalar(_MAY_WRITE))


def _collation(encoding: str, is_exact: bool | None) -> Condition:
    message, hint = f"{encoding}: names that differ are different locks", None
    if is_exact is False:
        message, hint = "names that differ by case or accent may be one lock", "`lockwatch db upgrade` makes it exact"
    elif encoding not in _OF_EVERY_NAME:
        message = f"{encoding}: a name with a character that it lacks cannot be locked"
        hint = "a database in UTF8 takes every name"
    return Condition(name="Collation", message=message, hint=hint)


def _bloat(found: Any) -> Condition:
    live, dead, size = found
    message = f"the table `locks` has {live} live and {dead} dead rows in {size / 1024:.0f} KiB"
    is_bloated = dead > max(MANY_DEAD_ROWS, live)
    hint = "autovacuum does not keep up; `VACUUM locks` makes room" if is_bloated else None
    return Condition(name="Bloat", message=message, hint=hint)
