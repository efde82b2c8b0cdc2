"""PostgreSQL's ways, over psycopg 3.

A grant draws its number when the resource's slot is already its own. A plain INSERT draws it before it waits for the
unique key, so that grants come out of order, and a fence would let a paused older holder pass. Here an advisory lock on
the resource, for the transaction, comes first in the same statement, then the clock, then the number.

Behind a pooler that gives each transaction another session (PgBouncer) nothing can be set for a session: the timeouts
then come with each transaction, and statements are not prepared.
"""

from __future__ import annotations

import select as waiting
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Double,
    Select,
    String,
    Text,
    bindparam,
    cast,
    delete,
    func,
    literal_column,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

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
from lockwatch.core.guard_words import held_row, key_in_hex, out_of_hex
from lockwatch.core.model import Lock
from lockwatch.core.postgres_errors import lacks, translate
from lockwatch.core.postgres_table import check_table
from lockwatch.core.schema import locks
from lockwatch.core.statements import Statements
from lockwatch.core.timestamps import written
from lockwatch.core.words import GRANTED, NEW_ROW, ROW, Words, common, compiler, end_owned, grant, materialized, page
from lockwatch.core.written_form import has_shape, is_moment, others

if TYPE_CHECKING:
    import psycopg

_FORMAT: Final[ColumnElement[str]] = literal_column("""'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'""")
_UTC: Final = func.timezone(literal_column("'UTC'"), func.clock_timestamp())
_SECOND: ColumnElement[Any] = literal_column("interval '1 second'")


def _text(moment: ColumnElement[Any]) -> ColumnElement[str]:
    return func.to_char(moment, _FORMAT, type_=String)


def _equals(column: ColumnElement[str], name: str) -> ColumnElement[bool]:
    return column == bindparam(name, type_=String)


def _equals_stored(column: ColumnElement[str], name: str) -> ColumnElement[bool]:
    return func.coalesce(column, literal_column("''")) == bindparam(name, type_=String)


_WORDS: Final = Words(now=_text(_UTC), equals=_equals, equals_bytes=_equals_stored)


def _statements() -> Statements:
    compiled = compiler(PGDialect_psycopg(paramstyle="pyformat"))  # type: ignore[no-untyped-call] # not typed by SQLAlchemy
    in_bytes = literal_column('locks.expires_at COLLATE "C"', String)
    expired = (in_bytes <= bindparam("now", type_=String)) & has_shape()
    return Statements(
        **common(_WORDS, compiled),
        insert=compiled(_insertion()),
        end_owned=compiled(end_owned(_WORDS, is_moment("~"))),
        extend=compiled(_extension()),
        extend_unlocked=compiled(
            _extension().where(
                locks.c.id.in_(select(locks.c.id).where(_WORDS.very_row).with_for_update(skip_locked=True))
            )
        ),
        # To judge each time by a regular expression costs several times the DELETE. What has the shape of a time is
        # deleted if all times of that snapshot, in one text, turn out to be such.
        count_expired=compiled(_tally(locks.c.expires_at).where(expired)),
        one_snapshot="SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        expired_times=compiled(select(_lines(locks.c.expires_at)).where(page(), expired)),
        delete_expired=compiled(delete(locks).where(page(), expired)),
        maybe_expired=compiled(select(*ROW).where(page(), expired)),
        unjudged=compiled(others(has_shape())),
    )


def _lines(expiry: ColumnElement[str]) -> ColumnElement[str]:
    return func.string_agg(expiry, literal_column("chr(10)"), type_=String)


def _tally(expiry: ColumnElement[str]) -> Select[Any]:
    cells: list[ColumnElement[Any]] = [expiry, func.count()]
    return select(*cells).group_by(expiry)


def _insertion() -> Any:
    name = bindparam("type", type_=Text) + literal_column("'/'") + bindparam("resource", type_=Text)
    own = func.pg_advisory_xact_lock(func.hashtextextended(cast(name, Text), literal_column("0")))
    slot = materialized("slot", select(own.label("own")).where(_WORDS.is_free()))
    clock = materialized("clock", select(_UTC.label("now")).select_from(slot))
    row = grant(clock, _text(clock.c.now), _later(clock.c.now))
    insertion = insert(locks).from_select(NEW_ROW, row, include_defaults=False)
    return insertion.on_conflict_do_nothing(index_elements=["resource_type", "resource_id"]).returning(*GRANTED)


def _extension() -> Any:
    clock = materialized("clock", select(_UTC.label("now")))
    live_until = bindparam("live_until", type_=String)
    return (
        update(locks)
        .where(_WORDS.very_row, live_until > _text(clock.c.now))
        .values(expires_at=func.greatest(live_until, _later(clock.c.now)))
        .returning(locks.c.expires_at)
    )


def _later(moment: ColumnElement[Any]) -> ColumnElement[str]:
    return _text(moment + cast(bindparam("ttl", type_=Double), Double) * _SECOND)


BEGIN: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"
_SETTINGS: Final = {
    "statement_timeout": f"{STATEMENT_TIMEOUT_SECS}s",
    "lock_timeout": f"{LOCK_TIMEOUT_SECS}s",
    "synchronous_commit": "on",  # a server that crashes must not forget a grant, and give out its number again
}
SET_LOCAL: Final = tuple(f"SET LOCAL {name} = '{value}'" for name, value in _SETTINGS.items())
"""What a transaction sets for itself where its session is nobody's own."""
FORBID_WRITES: Final = "SET default_transaction_read_only = on"
OWN_SESSION: Final = "lockwatch.own_session"
"""A setting that is given as the connection is opened: where it is seen, so are the other ones."""
OPTIONS: Final = " ".join(
    f"-c {name}={value}"
    for name, value in {
        OWN_SESSION: "on",
        **_SETTINGS,
        "default_transaction_isolation": r"read\ committed",
    }.items()
)
"""What a session of our own is opened with."""


def open_connection(arguments: dict[str, Any]) -> psycopg.Connection[Any]:
    """A new connection, with our settings for its session if the other end takes them.

    An answer that does not come is given up, also if the server has stopped without a word.
    """
    from lockwatch.core.patient import PatientConnection, options_of_environment  # late: it needs the driver

    arguments = {**_DEFAULTS, **arguments, "prepare_threshold": None}
    own = f"{arguments.get('options') or options_of_environment()} {OPTIONS}".strip()
    try:
        return PatientConnection.connect(**{**arguments, "options": own})
    except PatientConnection.Refused as error:
        if _NO_SETTINGS not in str(error):
            raise
    return PatientConnection.connect(**arguments)


_NO_SETTINGS: Final = "unsupported startup parameter"
_DEFAULTS: Final = {
    "connect_timeout": CONNECT_TIMEOUT_SECS,
    "application_name": "lockwatch",
    "client_encoding": "utf8",
    "keepalives_idle": 10,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": ANSWER_TIMEOUT_SECS * 1000,
}


class PooledSession:
    """A session that is ours for a transaction at a time. Each statement is one, in one round trip."""

    def __init__(self, driver: psycopg.Connection[Any]) -> None:
        self._driver = driver
        self._settings = [BEGIN, *SET_LOCAL]

    def execute(self, sql: str, parameters: Parameters | tuple[()] = (), /) -> Cursor:
        """Run one statement, or begin a transaction."""
        if self._driver.info.transaction_status:
            return self._driver.execute(sql, parameters)
        if sql == FORBID_WRITES:
            self._settings.append("SET LOCAL transaction_read_only = on")
        try:
            with self._driver.pipeline():
                for setting in self._settings:
                    cursor = self._driver.execute(setting)
                if sql not in (BEGIN, FORBID_WRITES):
                    cursor = self._driver.execute(sql, parameters)
                if sql != BEGIN:
                    self._driver.execute("COMMIT")
        except Exception:
            self._driver.rollback()
            raise
        return cursor

    def close(self) -> None:
        """Nothing is kept."""


def is_pooled(driver: psycopg.Connection[Any]) -> bool:
    """Whether a connection was opened without our settings, or they did not get through to the server."""
    row = driver.execute(f"SELECT current_setting('{OWN_SESSION}', true)").fetchone()
    return row is None or row[0] != "on"


def _prepare(driver: psycopg.Connection[Any], _clock: Clock) -> Session:
    driver.prepare_threshold = None
    driver.commit()  # what a listener of the caller's engine may have begun, to set something
    driver.autocommit = True
    if is_pooled(driver):
        return PooledSession(driver)
    driver.prepare_threshold = 0
    return driver.cursor()  # one for all statements: to make one costs half of what a small statement does


def _in_hex(column: ColumnElement[Any]) -> ColumnElement[str]:
    return func.encode(func.convert_to(column, literal_column("'UTF8'")), literal_column("'hex'"))


def _is_given_in_hex(column: ColumnElement[str], name: str) -> ColumnElement[bool]:
    given = func.decode(bindparam(name, type_=Text), literal_column("'hex'"))
    return column == func.convert_from(given, literal_column("'UTF8'"), type_=String)


_HOLD_ROW: Final = held_row(_in_hex, _is_given_in_hex)
_JUDGE: Final = select(_WORDS.now, func.txid_current_if_assigned(type_=BigInteger))


def _guard(connection: Connection, lock: Lock, _clock: Clock) -> Guarded:
    """Locks the row, and then looks at the clock: the lock may have been waited for.

    To lock a row gives its transaction a number; in AUTOCOMMIT the next statement has none any more.
    """
    row = connection.execute(_HOLD_ROW, key_in_hex(lock)).first()
    now, transaction = connection.execute(_JUDGE).one()
    return Guarded(out_of_hex(row), written(now), row is None or transaction is not None)


def _is_gone(driver: psycopg.Connection[Any]) -> bool:
    if driver.closed:
        return True
    ready = waiting.poll()
    ready.register(driver.fileno(), waiting.POLLIN)
    return bool(ready.poll(0))  # nothing was asked: what came can only be a farewell


DIALECT: Final = Dialect(
    title="PostgreSQL",
    statements=_statements(),
    begin=BEGIN,
    forbid_writes=FORBID_WRITES,
    prepare=_prepare,
    check_table=check_table,
    guard=_guard,
    translate=translate,
    lacks=lacks,
    is_gone=_is_gone,
    holds_anything=False,
    pages_at_once=10,
)
