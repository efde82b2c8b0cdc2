"""MariaDB's ways, over PyMySQL.

A grant is an INSERT ... SELECT: InnoDB then keeps its counter to the statement until that ends, so that numbers come in
the order of grants. READ COMMITTED keeps it from locking gaps between rows, of which deadlocks would come.
An UPDATE gives no rows back. What it wrote is told by LAST_INSERT_ID(), which comes with the answer.
"""

from __future__ import annotations

import re
import select as waiting
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Numeric,
    Select,
    String,
    bindparam,
    cast,
    delete,
    func,
    insert,
    literal_column,
    select,
    update,
)
from sqlalchemy.dialects.mysql import DATETIME
from sqlalchemy.dialects.mysql.pymysql import MySQLDialect_pymysql

from lockwatch.core.dialect import (
    ANSWER_TIMEOUT_SECS,
    CONNECT_TIMEOUT_SECS,
    LOCK_TIMEOUT_SECS,
    STATEMENT_TIMEOUT_SECS,
    Clock,
    Cursor,
    Dialect,
    Guarded,
    Parameters,
    Session,
)
from lockwatch.core.errors import DatabaseError
from lockwatch.core.guard_words import held_row, key_in_hex, out_of_hex
from lockwatch.core.mariadb_errors import lacks, translate
from lockwatch.core.mariadb_table import check_table
from lockwatch.core.model import Lock, as_text
from lockwatch.core.schema import EXACT, locks
from lockwatch.core.statements import Statements
from lockwatch.core.text import clean
from lockwatch.core.timestamps import to_text, written
from lockwatch.core.words import GRANTED, NEW_ROW, ROW, Words, common, compiler, count_of, end_owned, grant, page
from lockwatch.core.written_form import has_shape, is_moment, others

LEAST_VERSION: Final = (10, 6)

_FORMAT: Final[ColumnElement[str]] = literal_column("'%Y-%m-%dT%H:%i:%s.%fZ'")
_UTC: Final[ColumnElement[Any]] = literal_column("UTC_TIMESTAMP(6)")
_MICROSECOND: Final[ColumnElement[Any]] = literal_column("MICROSECOND")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _text(moment: ColumnElement[Any]) -> ColumnElement[str]:
    return func.DATE_FORMAT(moment, _FORMAT, type_=String)


def _given(name: str) -> ColumnElement[str]:
    return bindparam(name, type_=String).collate(EXACT)


def _equals(column: ColumnElement[str], name: str) -> ColumnElement[bool]:
    return column == _given(name)


def _equals_stored(column: ColumnElement[str], name: str) -> ColumnElement[bool]:
    return func.coalesce(column, literal_column("''")) == _given(name)


_WORDS: Final = Words(now=_text(_UTC), equals=_equals, equals_bytes=_equals_stored)


def _later() -> ColumnElement[Any]:
    microseconds = func.ROUND(bindparam("ttl") * literal_column("1000000"))
    return func.TIMESTAMPADD(_MICROSECOND, microseconds, _UTC)


def _statements() -> Statements:
    compiled = compiler(MySQLDialect_pymysql(paramstyle="pyformat"))
    granted = grant(None, _WORDS.now, _text(_later())).where(_WORDS.is_free())
    extend = compiled(_extension())
    judgeable = is_moment("REGEXP")
    expired = (locks.c.expires_at <= _given("now")) & judgeable
    listed = locks.c.id.op("IN", is_comparison=True)(bindparam("ids"))
    return Statements(
        **common(_WORDS, compiled),
        insert=compiled(insert(locks).from_select(NEW_ROW, granted, include_defaults=False).returning(*GRANTED)),
        end_owned=compiled(end_owned(_WORDS, judgeable)),
        extend=extend,
        extend_unlocked=f"SET STATEMENT innodb_lock_wait_timeout = 0 FOR {extend}",
        count_expired=compiled(count_of(expired)),
        # A DELETE waits for every row that it looks at; so it is told which ones, by a look that waits for none. It
        # judges them itself: to do that twice would take longer than the rest.
        expired_runs=compiled(_runs(has_shape() & (locks.c.expires_at <= _given("now")))),
        delete_expired=compiled(delete(locks).where(page(), expired)),
        delete_listed=compiled(delete(locks).where(listed, expired)),
        maybe_expired=compiled(select(*ROW).where(page(), expired)),
        unjudged=compiled(others(judgeable)),
    )


def _runs(condition: ColumnElement[bool]) -> Select[Any]:
    """Of the rows of a page that are so: in a run without a gap each id is as far from the first as its number is."""
    number = cast(func.row_number().over(order_by=locks.c.id), Numeric(20))  # as no integer, it runs over nowhere
    rows = select(locks.c.id, (locks.c.id - number).label("run")).where(page(), condition).subquery("numbered")
    return select(func.min(rows.c.id), func.max(rows.c.id)).group_by(rows.c.run)


def _extension() -> Any:
    live_until = bindparam("live_until", type_=String)
    until = cast(func.LEFT(live_until, literal_column("26")), DATETIME(fsp=6))
    expiry = func.GREATEST(until, _later())
    noted = func.LAST_INSERT_ID(func.TIMESTAMPDIFF(_MICROSECOND, literal_column("'1970-01-01'"), expiry))
    return (
        update(locks)
        .where(_WORDS.very_row, live_until > _WORDS.now)
        .values(expires_at=func.IF(noted, _text(expiry), literal_column("''")))
    )


class Noted:
    """The answer to an UPDATE that noted down the moment it wrote: as a row, if it changed one.

    It does not come with the answer where a trigger has inserted a row of its own, and is then asked for.
    """

    def __init__(self, cursor: Any) -> None:
        self.rowcount = int(cursor.rowcount)
        self._microseconds = cursor.lastrowid
        if self.rowcount and not self._microseconds:
            cursor.execute("SELECT LAST_INSERT_ID()")
            ((self._microseconds,),) = cursor.fetchall()

    def fetchall(self) -> Sequence[Any]:
        """The moment, in the written form."""
        if not self.rowcount:
            return []
        return [(to_text(_EPOCH + timedelta(microseconds=self._microseconds)),)]

    def fetchmany(self, _size: int) -> Sequence[Any]:
        """No more than that."""
        return self.fetchall()


class MariadbSession:
    """A driver connection that runs statements by itself, like those of the other drivers."""

    def __init__(self, driver: Any) -> None:
        self._driver = driver

    def execute(self, sql: str, parameters: Parameters | tuple[()] = (), /) -> Cursor:
        """Run one statement."""
        cursor = self._driver.cursor()
        cursor.execute(sql, parameters)
        return cursor if cursor.description else Noted(cursor)

    def close(self) -> None:
        """Nothing is kept."""


def open_connection(arguments: dict[str, Any]) -> Any:
    """A new connection for transactions, made ours."""
    driver = open_bare({"autocommit": False, **arguments})
    settle(driver)
    return driver


def open_bare(arguments: dict[str, Any]) -> Any:
    """A new connection as the server gives it, for `prepare`: each thing that is set takes an answer."""
    import pymysql  # type: ignore[import-untyped] # late: it may not be installed

    if "password" in arguments:
        arguments = {**arguments, "password": arguments["password"].encode()}  # the driver's own choice is Latin-1
    arguments = {**_DEFAULTS, **arguments}
    # The driver's own connect timeout ends before the server's greeting, which may not come either.
    driver = pymysql.connect(**{**arguments, "read_timeout": arguments["connect_timeout"]})
    driver._read_timeout = arguments["read_timeout"]  # noqa: SLF001 # the driver has no public name for it
    return driver


_DEFAULTS: Final = {
    "connect_timeout": CONNECT_TIMEOUT_SECS,
    "read_timeout": ANSWER_TIMEOUT_SECS,
    "write_timeout": ANSWER_TIMEOUT_SECS,
    "charset": "utf8mb4",
    "autocommit": None,
}
_SETTINGS: Final = {
    "sql_mode": "'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
    "innodb_lock_wait_timeout": LOCK_TIMEOUT_SECS,
    "lock_wait_timeout": LOCK_TIMEOUT_SECS,
    "lc_messages": "'en_US'",
    "completion_type": "'NO_CHAIN'",
    "unique_checks": 1,
    "sql_big_selects": 1,
    "sql_select_limit": 2**64 - 1,
    "group_concat_max_len": 2**16,
}


def settle(driver: Any, statement_timeout_secs: float = STATEMENT_TIMEOUT_SECS) -> None:
    """Make a session ours, whatever the server's defaults: isolation, timeouts, strictness, character set."""
    version = _require_mariadb(driver.get_server_info())
    timeout = {"max_statement_time": statement_timeout_secs} if version else {}
    assigned = ", ".join(f"{name} = {value}" for name, value in (_SETTINGS | timeout).items())
    driver.set_character_set("utf8mb4")
    driver.use_unicode = True
    with driver.cursor() as cursor:
        cursor.execute(f"SET SESSION {assigned}")
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")


def _require_mariadb(version: str) -> tuple[int, ...]:
    found = re.search(r"(\d+)\.(\d+)\.\d+-MariaDB", version, re.IGNORECASE)
    numbers = tuple(map(int, found.groups())) if found else ()
    if numbers < LEAST_VERSION:
        least = ".".join(map(str, LEAST_VERSION))
        raise DatabaseError(f"lockwatch needs MariaDB {least} or later, and this server is {clean(version)}")
    return numbers


def _prepare(driver: Any, _clock: Clock) -> Session:
    driver.autocommit(True)  # noqa: FBT003 the driver takes it so
    settle(driver)
    return MariadbSession(driver)


def _in_hex(column: ColumnElement[Any]) -> ColumnElement[str]:
    return func.HEX(func.CONVERT(column.op("USING")(literal_column("utf8mb4"))))


def _is_given_in_hex(column: ColumnElement[str], name: str) -> ColumnElement[bool]:
    given = func.UNHEX(bindparam(name)).op("USING")(literal_column("utf8mb4"))
    return column == func.CONVERT(given, type_=String).collate(EXACT)


_HOLD_ROW: Final = held_row(_in_hex, _is_given_in_hex)
_IN_TRANSACTION: Final[ColumnElement[int]] = literal_column("@@in_transaction")
_JUDGE: Final = select(_WORDS.now, _IN_TRANSACTION)


def _guard(connection: Connection, lock: Lock, _clock: Clock) -> Guarded:
    """Locks the row, and then looks at the clock: the lock may have been waited for.

    Only the locking read tells the truth: a plain one may still show the row as it was when the transaction began.
    """
    row = connection.execute(_HOLD_ROW, key_in_hex(lock)).first()
    now, in_transaction = connection.execute(_JUDGE).one()
    return Guarded(out_of_hex(row), written(as_text(now)), bool(in_transaction))


def _is_gone(driver: Any) -> bool:
    socket = driver._sock  # noqa: SLF001 # the driver has no public name for it
    if socket is None:
        return True
    ready = waiting.poll()
    ready.register(socket.fileno(), waiting.POLLIN)
    return bool(ready.poll(0))  # nothing was asked: what came can only be a farewell


DIALECT: Final = Dialect(
    title="MariaDB",
    statements=_statements(),
    begin="START TRANSACTION",
    forbid_writes="SET SESSION TRANSACTION READ ONLY",
    prepare=_prepare,
    check_table=check_table,
    guard=_guard,
    translate=translate,
    lacks=lacks,
    is_gone=_is_gone,
    holds_anything=False,
    pages_at_once=4,
)
