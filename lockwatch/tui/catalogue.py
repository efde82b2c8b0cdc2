"""All that one look at the table showed, arranged for a screen: made by the poller's thread, shown by the screen's.

Nothing of it changes afterwards, but that an order which is asked for is kept. A look costs what changed, and little
for the rest, so that a hundred thousand locks do not keep the screen from its keys.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from lockwatch.core.model import Lock
from lockwatch.core.watcher import Watched
from lockwatch.tui.diff import Changes, Lease, diff, lease_of
from lockwatch.tui.lives import Lives
from lockwatch.tui.ranking import Column, named, rank_key, ranked, updated
from lockwatch.tui.tally import Tally, moments
from lockwatch.tui.wish import Filter, Wish

BEFORE_ALL: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """The table as of `taken_at`. `looks` counts how often it was read."""

    taken_at: datetime = BEFORE_ALL
    looks: int = 0
    locks: tuple[Lock, ...] = ()
    tally: Tally = field(default_factory=Tally)
    lives: Lives = field(default_factory=Lives)
    _by_id: Mapping[Hashable, Lock] = field(default_factory=dict)
    _orders: dict[Column, list[Lock]] = field(default_factory=lambda: {Column.RESOURCE: [], Column.LEFT: []})

    def after(self, watched: Watched, keep: Column) -> tuple[Catalogue, Changes]:
        """What the next look makes of it, with the order of the column `keep` at hand; and what changed."""
        changes = diff(watched.came, watched.went)
        previous = self.taken_at if self.looks else None
        lives = self.lives.after(changes, watched.taken_at, previous)
        tally = self.tally
        if watched.came or watched.went:
            went = [moments(lock, self.lives) for lock in watched.went]
            tally = tally.after(went, [moments(lock, lives) for lock in watched.came])
        return Catalogue(
            taken_at=watched.taken_at,
            looks=self.looks + 1,
            locks=watched.locks,
            tally=tally,
            lives=lives,
            _by_id=watched.by_id,
            _orders=self._orders_after(watched, keep),
        ), changes if self.looks else Changes()

    def find(self, lease: Lease) -> Lock | None:
        """A lease as it was seen last; None if it is not there."""
        lock = self._by_id.get(lease.id)
        if lock is None or lease_of(lock) == lease:
            return lock
        return next((lock for lock in self.locks if lease_of(lock) == lease), None)

    def in_order(self, column: Column) -> list[Lock]:
        """All locks, in the order of a column. Not to be changed."""
        order = self._orders.get(column)
        if order is None:
            order = self._orders[column] = ranked(self._orders[Column.RESOURCE], column)
        return order

    def expired_between(self, start: datetime, end: datetime) -> list[Lock]:
        """The locks whose time was up after `start`, at `end` at the latest."""
        order = self.in_order(Column.LEFT)
        first, last = (bisect_right(order, moment.timestamp(), key=_end) for moment in (start, end))
        return order[first:last]

    def _orders_after(self, watched: Watched, keep: Column) -> dict[Column, list[Lock]]:
        if not watched.came and not watched.went:
            return self._orders
        if not self.locks:
            by_name = named(watched.locks)
            return {column: ranked(by_name, column) for column in {Column.RESOURCE, Column.LEFT, keep}}
        kept = {Column.RESOURCE, Column.LEFT, keep} & self._orders.keys()
        return {column: updated(self._orders[column], watched.went, watched.came, column) for column in kept}


def _end(lock: Lock) -> float:
    end: float = rank_key(Column.LEFT)(lock)[0]
    return end


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What a wish selects of a catalogue, in its order. Not to be changed."""

    wish: Wish = field(default_factory=Wish)
    rows: list[Lock] = field(default_factory=list)


def select(catalogue: Catalogue, wish: Wish, now: datetime) -> Selection:
    """The locks that are wished for, as they stand at `now`."""
    rows = catalogue.in_order(wish.sort.column)
    if wish.sort.is_descending:
        rows = rows[::-1]
    return Selection(wish=wish, rows=wish.filter.select(rows, catalogue.lives, now, catalogue.taken_at))


def narrow(catalogue: Catalogue, earlier: Selection, text_filter: Filter, now: datetime) -> Selection:
    """The same order with another filter; little work if it only narrows the one before."""
    wish = Wish(filter=text_filter, sort=earlier.wish.sort)
    if not text_filter.narrows(earlier.wish.filter):
        return select(catalogue, wish, now)
    return Selection(wish=wish, rows=text_filter.select(earlier.rows, catalogue.lives, now, catalogue.taken_at))
