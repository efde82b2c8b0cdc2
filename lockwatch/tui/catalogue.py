"""All that one look at the table showed, arranged for a screen: made by the poller's thread, shown by the screen's.

Nothing of it changes afterwards, but that an order which is asked for is kept. A look costs what changed, and little
for the rest, so that a hundred thousand locks do not keep the screen from its keys.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from lockwatch.core.model import Lock
from lockwatch.core.watcher import Watched
from lockwatch.tui.diff import Changes, Lease, diff, lease_of
from lockwatch.tui.lives import Lives
from lockwatch.tui.ranking import Column, named, rank_key, ranked, updated
from lockwatch.tui.tally import Tally, moments
from lockwatch.tui.wish import Filter, Wish, shown

_MANY: Final = 4
"""Of one part in so many of all locks the texts are made; of more those that are kept for all are searched."""
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
    _texts: list[str] | None = None
    _making_texts: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)

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

    def texts(self) -> list[str]:
        """What each lock shows, to be searched, in the order of their names: made when first asked for."""
        with self._making_texts:  # who asks while they are made waits: to make them twice would take both longer
            if self._texts is None:
                object.__setattr__(self, "_texts", list(map(shown, self._orders[Column.RESOURCE])))
        return self._texts or []

    def holding(self, words: Sequence[str], rows: list[Lock]) -> list[Lock]:
        """Those of the rows that show every word, in their order."""
        if len(rows) * _MANY < len(self.locks):
            return [lock for lock in rows if all(word in shown(lock) for word in words)]
        for word in words:
            texts = zip(self._orders[Column.RESOURCE], self.texts(), strict=True)
            found = {id(lock) for lock, text in texts if word in text}
            if len(found) < len(self.locks):
                rows = [lock for lock in rows if id(lock) in found]
        return rows

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
    return Selection(wish=wish, rows=_filtered(catalogue, wish.filter, wish.filter.of_whom(rows), now))


def narrow(catalogue: Catalogue, earlier: Selection, wanted: Filter, now: datetime) -> Selection:
    """The same order with another filter; little work if it only narrows the one before."""
    wish = Wish(filter=wanted, sort=earlier.wish.sort)
    if not wanted.narrows(earlier.wish.filter):
        return select(catalogue, wish, now)
    return Selection(wish=wish, rows=_filtered(catalogue, wanted, earlier.rows, now))


def _filtered(catalogue: Catalogue, wanted: Filter, rows: list[Lock], now: datetime) -> list[Lock]:
    if wanted.words:
        rows = catalogue.holding(wanted.words, rows)
    return wanted.standing_so(rows, catalogue.lives, now, catalogue.taken_at)
