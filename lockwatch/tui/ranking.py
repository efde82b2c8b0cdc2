"""In which order locks are listed. Every order is total, so that no two rows ever swap places."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf
from typing import Any, Final, TypeAlias

from lockwatch.core.model import Lock

RankKey: TypeAlias = Callable[[Lock], tuple[Any, ...]]


class Column(StrEnum):
    """What rows can be sorted by."""

    LEFT = "left"
    RESOURCE = "resource"
    OWNER = "owner"
    HELD = "held"
    FENCE = "fence"

    @property
    def meaning(self) -> str:
        """In words, after `by`."""
        return {Column.LEFT: "time left", Column.HELD: "time held"}.get(self, str(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sort:
    """By which column, and whether the greatest comes first."""

    column: Column = Column.LEFT
    is_descending: bool = False

    def next(self) -> Sort:
        """By the next column."""
        columns = list(Column)
        return Sort(column=columns[(columns.index(self.column) + 1) % len(columns)])

    def reversed(self) -> Sort:
        """The other way round."""
        return replace(self, is_descending=not self.is_descending)


def _by_name(lock: Lock) -> tuple[str, str, str, str]:
    return (lock.resource_type, lock.resource_id, str(lock.id), lock.owner_id)


def _end(lock: Lock) -> float:
    return lock.expires_at.timestamp() if lock.expires_at else -inf  # the unreadable come first: they need a person


def _held(lock: Lock) -> float:
    return -lock.acquired_at.timestamp() if lock.acquired_at else inf


def _fence(lock: Lock) -> int:
    return lock.id if isinstance(lock.id, int) else -1


_FIRST: Final[dict[Column, Callable[[Lock], Any]]] = {
    Column.LEFT: _end,
    Column.OWNER: lambda lock: lock.owner_id,
    Column.HELD: _held,
    Column.FENCE: _fence,
}


def rank_key(column: Column) -> RankKey:
    """What the order by a column compares: its value, and then the name."""
    first = _FIRST.get(column)
    return _by_name if first is None else lambda lock: (first(lock), *_by_name(lock))


def ranked(by_name: Sequence[Lock], column: Column) -> list[Lock]:
    """Locks that are in the order of their names in that of a column."""
    first = _FIRST.get(column)
    return list(by_name) if first is None else sorted(by_name, key=first)


def named(locks: Iterable[Lock]) -> list[Lock]:
    """Locks in the order of their names."""
    return sorted(locks, key=_by_name)


def updated(rows: Sequence[Lock], went: Iterable[Lock], came: Sequence[Lock], column: Column) -> list[Lock]:
    """Rows that are in order, without some and with others: work for those, and little for the rest."""
    gone = set(map(id, went))
    kept = [lock for lock in rows if id(lock) not in gone] if gone else list(rows)
    key = rank_key(column)
    if len(came) * 8 > len(kept):
        return sorted([*kept, *came], key=key)
    merged: list[Lock] = []
    start = 0
    for lock in sorted(came, key=key):
        end = bisect_left(kept, key(lock), start, key=key)
        merged += kept[start:end]
        merged.append(lock)
        start = end
    merged += kept[start:]
    return merged


def place(rows: Sequence[Lock], lock: Lock, sort: Sort) -> int:
    """The index at which a lock stands among rows in that order, or would stand."""
    key = rank_key(sort.column)
    rank, low, high = key(lock), 0, len(rows)
    while low < high:
        middle = (low + high) // 2
        found = key(rows[middle])
        if (found > rank) if sort.is_descending else (found < rank):
            low = middle + 1
        else:
            high = middle
    return low
