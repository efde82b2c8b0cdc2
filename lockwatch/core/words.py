"""What the servers' statements are composed of: what all databases say alike, in `Words` that each has of its own.

See `statements` for what is said. SQLite's are written out, since SQLAlchemy takes longer to load than all the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from sqlalchemy import (
    ColumnElement,
    Dialect,
    Executable,
    Integer,
    Select,
    and_,
    bindparam,
    delete,
    exists,
    func,
    literal_column,
    select,
)
from sqlalchemy.sql.dml import ReturningDelete
from sqlalchemy.sql.selectable import CTE, FromClause

from lockwatch.core.schema import locks
from lockwatch.core.statements import COLUMNS

ROW: Final = tuple(locks.c[name] for name in COLUMNS)
NEW_ROW: Final = ["owner_id", "resource_type", "resource_id", "acquired_at", "expires_at"]
GRANTED: Final = (locks.c.id, locks.c.acquired_at, locks.c.expires_at)

Compare: TypeAlias = Callable[[ColumnElement[str], str], ColumnElement[bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What statements that are otherwise alike are made of."""

    now: ColumnElement[str]
    """The moment, in the written form."""
    equals: Compare
    """Whether a column is the text that is bound to a name, exactly."""
    equals_bytes: Compare
    """The same where either may be no text."""

    @property
    def of_resource(self) -> ColumnElement[bool]:
        """The row of `type` and `resource`."""
        return and_(self.equals(locks.c.resource_type, "type"), self.equals(locks.c.resource_id, "resource"))

    @property
    def very_row(self) -> ColumnElement[bool]:
        """The row `lock`, if its `owner` and `expires` are as they were read."""
        return and_(
            locks.c.id == bindparam("lock"),
            self.equals_bytes(locks.c.owner_id, "owner"),
            self.equals_bytes(locks.c.expires_at, "expires"),
        )

    def is_free(self) -> ColumnElement[bool]:
        """Whether `resource` of `type` has no row."""
        return ~exists(select(literal_column("1")).select_from(locks).where(self.of_resource))


def common(words: Words, compiled: Callable[[Executable], str]) -> dict[str, str]:
    """The statements that all databases say alike."""
    return {
        "now": compiled(select(words.now)),
        "find": compiled(select(*ROW, words.now).where(words.of_resource)),
        "find_stored": compiled(
            select(*ROW).where(
                words.equals_bytes(locks.c.resource_type, "type"), words.equals_bytes(locks.c.resource_id, "resource")
            )
        ),
        "find_id": compiled(select(*ROW).where(locks.c.id == bindparam("lock"))),
        "of_owner": compiled(select(*ROW).where(words.equals(locks.c.owner_id, "owner"))),
        "all": compiled(select(*ROW).order_by(locks.c.id)),
        "end": compiled(end(words)),
        "next_page": compiled(_next_page()),
    }


def grant(clock: FromClause | None, now: ColumnElement[str], later: ColumnElement[str]) -> Select[Any]:
    """The row of a grant at `now`, read from `clock` where that is a table of its own."""
    cells: list[ColumnElement[Any]] = [bindparam("owner"), bindparam("type"), bindparam("resource"), now, later]
    row: Select[Any] = select(*cells)
    return row if clock is None else row.select_from(clock)


def end(words: Words) -> ReturningDelete[Any]:
    """That very row, deleted."""
    return delete(locks).where(words.very_row).returning(words.now)


def end_owned(words: Words, judged: ColumnElement[bool]) -> ReturningDelete[Any]:
    """The owner's row of a resource, deleted if its expiry is judged so."""
    is_owners = words.equals(locks.c.owner_id, "owner")
    return delete(locks).where(words.of_resource, is_owners, judged).returning(locks.c.expires_at, words.now)


def page() -> ColumnElement[bool]:
    """Whether a row is of the page `after` to `last`."""
    return and_(locks.c.id > bindparam("after"), locks.c.id <= bindparam("last"))


def compiler(dialect: Dialect) -> Callable[[Executable], str]:
    """What turns statements into text for a driver."""

    def compiled(statement: Executable) -> str:
        return str(statement.compile(dialect=dialect))  # type: ignore[attr-defined] # every Executable used here has it

    return compiled


def materialized(name: str, statement: Select[Any]) -> CTE:
    """A part of a statement that is done before, and once."""
    return statement.cte(name).prefix_with("MATERIALIZED")


def count_of(condition: ColumnElement[bool]) -> Select[Any]:
    """How many rows are so, as of `count_expired`."""
    judged: ColumnElement[Any] = literal_column("NULL")
    return select(judged, func.count()).select_from(locks).where(condition)


def _next_page() -> Select[Any]:
    ids = (
        select(locks.c.id)
        .where(locks.c.id > bindparam("after"))
        .order_by(locks.c.id)
        .limit(bindparam("size", type_=Integer))
        .offset(literal_column("0"))
        .subquery()
    )
    return select(func.max(ids.c.id))
