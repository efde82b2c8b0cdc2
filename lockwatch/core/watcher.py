"""Polling the table: the same question again and again, answered cheaply while nothing changes.

A row that is as it was is the very same `Lock` in the next answer, so that who watches a large table works
on what changed and not on all of it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lockwatch.core.model import Lock, Row
from lockwatch.core.timestamps import from_text

if TYPE_CHECKING:
    from datetime import datetime

    from lockwatch.core.connection import Connection
    from lockwatch.core.held import HeldTables


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What one look at the table saw, beside the look before it.

    `locks` are all, ordered by id; the very same tuple as before if nothing changed. `came` are those that were not
    there so, `went` those of the look before that are no longer so: a row that changed is in both. `by_id` finds one by
    its id, or by its whole row if an id is there twice, as in a table that is not lockwatch's own.
    """

    taken_at: datetime
    locks: tuple[Lock, ...]
    by_id: Mapping[Hashable, Lock] = field(default_factory=dict)
    came: tuple[Lock, ...] = ()
    went: tuple[Lock, ...] = ()


@dataclass(frozen=True, slots=True)
class Rows:
    """The locks of a look, and each by its id, or by its whole row where another had that id before."""

    locks: tuple[Lock, ...] = ()
    by_id: dict[Hashable, Lock] = field(default_factory=dict)


class Watcher:
    """One poller's view of the table, for one thread at a time. While nothing changed, no row is read again."""

    def __init__(self, tables: HeldTables) -> None:
        self._tables = tables
        self._connection: Connection | None = None
        self._version: object = None
        self._rows = Rows()

    def look(self) -> Watched:
        """All locks now, and what changed since the last look that succeeded.

        Raises:
            DatabaseError: it cannot be reached or used; the next call tries anew.
        """
        with self._tables.look() as table:
            taken_at = table.now()
            version = table.connection.data_version()
            if version is not None and table.connection is self._connection and version == self._version:
                return Watched(taken_at=taken_at, locks=self._rows.locks, by_id=self._rows.by_id)
            self._rows, came, went = compare(self._rows, table.each())
            self._connection, self._version = table.connection, version
            return Watched(taken_at=taken_at, locks=self._rows.locks, by_id=self._rows.by_id, came=came, went=went)

    def close(self) -> None:
        """Close its connection."""
        self._tables.close()


def compare(before: Rows, rows: Iterable[Row]) -> tuple[Rows, tuple[Lock, ...], tuple[Lock, ...]]:
    """The rows as locks, with those of `before` that are as they were; which came, and which went."""
    left = dict(before.by_id)
    now: dict[Hashable, Lock] = {}
    came: list[Lock] = []
    for row in rows:
        key = row[0] if row[0] not in now else tuple(row)
        lock = left.get(key)
        if lock is not None and _is(lock, row):
            del left[key]
        else:
            lock = Lock.from_row(row)
            came.append(lock)
        now[key] = lock
    if not came and not left:
        return before, (), ()
    return Rows(tuple(now.values()), now), tuple(came), tuple(left.values())


def _is(lock: Lock, row: Row) -> bool:
    """Whether a row is still what was read as this lock. Cells that are no text are read anew."""
    _, owner, resource_type, resource_id, acquired, expires = row
    return (
        lock.expires_text == expires
        and lock.owner_id == owner
        and lock.resource_id == resource_id
        and lock.resource_type == resource_type
        and isinstance(acquired, str)
        and lock.acquired_at == from_text(acquired)
    )
