"""Every SQL statement on the table of locks, with its guards in the WHERE. Nothing is executed here.

Three rules give them their shape:

- **A change repeats what was read.** Takeover, renewal, release and the operators' statements name the very row
  (`id`, owner and expiry as stored), never a resource alone. Who lost a race changes nothing. Clean-up reads no row
  beforehand: what it deletes is judged in the deleting statement.
- **Time is read in the statement**, once it has the right to write: `lockwatch_now()`, and `lockwatch_later()`
  for what comes after it. Both are in the written form of `core.timestamps`.
- **Stored times are compared in one form.** They may be in any ISO-8601 form; `lockwatch_utc()` brings them into the
  written one, or to NULL if they name no moment.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Dialect,
    Executable,
    Integer,
    LargeBinary,
    String,
    Text,
    and_,
    bindparam,
    cast,
    delete,
    exists,
    func,
    insert,
    literal_column,
    select,
    update,
)

from lockwatch.core.schema import locks

_ROW: Final = (
    locks.c.id,
    locks.c.owner_id,
    locks.c.resource_type,
    locks.c.resource_id,
    locks.c.acquired_at,
    locks.c.expires_at,
)
_NOW: Final = func.lockwatch_now(type_=String)


def _later(moment: ColumnElement[str], seconds: ColumnElement[Any]) -> ColumnElement[str]:
    return func.lockwatch_later(moment, seconds, type_=String)


def _stored(column: ColumnElement[str]) -> ColumnElement[str]:
    """A column as text, whatever is stored, so that bytes that are no text can be compared too."""
    return func.coalesce(cast(column, Text), literal_column("''"))


def _given(name: str) -> ColumnElement[str]:
    return cast(bindparam(name, type_=Text), Text)


_OF_RESOURCE: Final = and_(
    locks.c.resource_type == bindparam("type"),
    locks.c.resource_id == bindparam("resource"),
)
_VERY_ROW: Final = and_(
    locks.c.id == bindparam("lock"),
    _stored(locks.c.owner_id) == _given("owner"),
    _stored(locks.c.expires_at) == _given("expires"),
)

_clock: Final = select(_NOW.label("now")).cte("clock").prefix_with("MATERIALIZED")

NOW: Final = select(_NOW)

INSERT: Final = (
    insert(locks)
    .from_select(
        ["owner_id", "resource_type", "resource_id", "acquired_at", "expires_at"],
        select(
            bindparam("owner"),
            bindparam("type"),
            bindparam("resource"),
            _clock.c.now,
            _later(_clock.c.now, bindparam("ttl")),
        ).where(~exists(select(literal_column("1")).select_from(locks).where(_OF_RESOURCE))),
    )
    .returning(locks.c.id, locks.c.acquired_at, locks.c.expires_at)
)
"""A grant, unless the resource has a row: (id, acquired_at, expires_at). One clock reading serves both times."""

FIND: Final = select(*_ROW, _NOW).where(_OF_RESOURCE)
"""The resource's row, if it has one, and now."""

OF_RESOURCE_ROW: Final = select(*_ROW).where(_OF_RESOURCE)
"""The resource's row, on a connection that knows no function of ours: a caller's."""

TOUCH: Final = (
    update(locks)
    .where(locks.c.id == bindparam("lock"), locks.c.owner_id == bindparam("owner"))
    .values(owner_id=locks.c.owner_id)
)
"""Nothing new for that very lease, whatever its expiry: to take the right to write, and to see that it is there."""

FIND_STORED: Final = select(*_ROW).where(
    _stored(locks.c.resource_type) == _given("type"), _stored(locks.c.resource_id) == _given("resource")
)
"""The row of a resource whose name may be no text."""

FIND_ID: Final = select(*_ROW).where(locks.c.id == bindparam("lock"))
"""The row with that id."""

OF_OWNER: Final = select(*_ROW).where(locks.c.owner_id == bindparam("owner"))
"""All rows of one owner."""

ALL: Final = select(*_ROW).order_by(locks.c.id)
"""The whole table."""

_EXPIRED: Final = func.lockwatch_utc(cast(locks.c.expires_at, LargeBinary), type_=String) <= bindparam(
    "now", type_=String
)

COUNT_EXPIRED: Final = select(func.count()).select_from(locks).where(_EXPIRED)
"""How many rows have expired at `now`."""

_next_ids: Final = (
    select(locks.c.id)
    .where(locks.c.id > bindparam("after"))
    .order_by(locks.c.id)
    .limit(bindparam("size", type_=Integer))
    .offset(literal_column("0"))
    .subquery()
)
NEXT_PAGE: Final = select(func.max(_next_ids.c.id))
"""The last id of the next `size` rows after one; NULL if there are none."""

DELETE_EXPIRED: Final = delete(locks).where(locks.c.id > bindparam("after"), locks.c.id <= bindparam("last"), _EXPIRED)
"""The rows of a page that have expired at `now`, judged in the statement that deletes them."""

END: Final = delete(locks).where(_VERY_ROW).returning(_NOW)
"""That very row, if it is still as it was read; the moment of its end if so."""

EXTEND: Final = (
    update(locks)
    .where(_VERY_ROW, bindparam("live_until", type_=String) > _NOW)
    .values(expires_at=func.max(bindparam("live_until", type_=String), _later(_NOW, bindparam("ttl"))))
    .returning(locks.c.expires_at)
)
"""A later expiry for that very row, if it is as it was read and still live: the new expiry.

`live_until` is the expiry that was read, in the written form, so that two texts of one form are compared. The
later of it and the new one is written: a clock may step back between two statements."""


class Statements:
    """The statements as SQL text for one dialect, compiled once: parameters go by name."""

    def __init__(self, dialect: Dialect) -> None:
        def sql(statement: Executable) -> str:
            return str(statement.compile(dialect=dialect))  # type: ignore[attr-defined]

        self.now = sql(NOW)
        self.insert = sql(INSERT)
        self.find = sql(FIND)
        self.find_stored = sql(FIND_STORED)
        self.find_id = sql(FIND_ID)
        self.of_owner = sql(OF_OWNER)
        self.all = sql(ALL)
        self.count_expired = sql(COUNT_EXPIRED)
        self.next_page = sql(NEXT_PAGE)
        self.delete_expired = sql(DELETE_EXPIRED)
        self.end = sql(END)
        self.extend = sql(EXTEND)
