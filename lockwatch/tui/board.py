"""What an operator sees: rows in a total order, a cursor and marks that hold leases, and ghosts of leases that went.

The cursor holds a lease, never a row number. When its lease goes, the line stays as a ghost until the cursor
moves; when it no longer matches what is listed, since time passed, it stays too. The ghosts of others stay for a
few seconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Final

from lockwatch.core.model import Lock, Outcome
from lockwatch.tui.catalogue import Catalogue, Selection, narrow, select
from lockwatch.tui.diff import Changes, Lease, lease_of
from lockwatch.tui.ghosts import Ghost, Ghosts
from lockwatch.tui.lives import Lives, Ours
from lockwatch.tui.marks import Marks
from lockwatch.tui.ranking import Sort, place
from lockwatch.tui.tally import Counts
from lockwatch.tui.wish import Filter, Standing, Wish, standing

MANY_GONE: Final = 50
"""When more leases than this go at once, only those that were in view get ghosts."""


class Board:
    """All that is known of the table, arranged for a screen. Knows no terminal; `now` is the database's clock."""

    def __init__(self, wish: Wish | None = None) -> None:
        self.catalogue = Catalogue()
        self.rows: list[Lock] = []
        """What is listed, in order: locks that match the filter, and ghosts among them. Not to be changed."""
        self.cursor: Lease | None = None
        self.marks = Marks()
        self.ours = Ours()
        self.window = range(0)
        """Which rows are in view."""
        self._selection = Selection(wish=wish or Wish())
        self._ghosts = Ghosts()
        self._chosen: Lock | None = None
        self._kept: Lease | None = None
        self._has_leftover = False
        self._cursor_index = 0
        self._counts: Counts | None = None

    def see(self, catalogue: Catalogue, changes: Changes, selection: Selection | None = None) -> None:
        """Take in what a look showed. `selection` is what was wished for of it when it was arranged."""
        in_view = self._in_view() if len(changes.gone) > MANY_GONE else changes.gone
        for lease, gone in changes.gone.items():
            if lease in in_view:
                self._ghosts.add(lease, gone, catalogue.taken_at)
            self.ours.forget(lease)
        for lock in changes.granted:
            self._ghosts.drop(lease_of(lock))
        self.marks.see(changes)
        unchanged = catalogue.locks is self.catalogue.locks and self.is_filled
        self.catalogue = catalogue
        if unchanged:
            self.pass_time(catalogue.taken_at)
        else:
            fits = selection is not None and selection.wish == self.wish
            self._select(selection if fits and selection else select(catalogue, self.wish, catalogue.taken_at))

    def pass_time(self, now: datetime) -> bool:
        """Let old ghosts go, except under the cursor, and what does not match any more: whether the rows changed."""
        before = self.rows
        if self._ghosts.pass_time(now, self.cursor) or self._has_leftover:
            self._arrange()
        self._follow_time(now)
        return self.rows is not before

    def wish_for(self, wish: Wish, now: datetime) -> None:
        """List other locks, or in another order. A cursor that is hidden goes to the next, and comes back."""
        if wish == self.wish:
            return
        self._kept = None
        if wish.sort == self.wish.sort:
            self._selection = narrow(self.catalogue, self._selection, wish.filter, now)
        else:
            self._selection = select(self.catalogue, wish, now)
        self._arrange(by_hand=True)

    def move(self, lines: int) -> None:
        """Move the cursor by a number of lines, as far as there are any."""
        if self.rows:
            self.move_to(self.cursor_index + lines)

    def move_to(self, index: int) -> None:
        """Put the cursor on the row with this index, or the nearest there is."""
        if self.rows:
            self._cursor_index = min(max(index, 0), len(self.rows) - 1)
            self._chosen = self.rows[self._cursor_index]
            self.cursor = lease_of(self._chosen)
            self._has_leftover = self._kept is not None and self._kept != self.cursor

    def note(self, done: str, outcomes: Iterable[Outcome]) -> None:
        """Remember what this dashboard did; `done` is a participle. The rows change by the next look alone."""
        for outcome in outcomes:
            if not outcome.is_done:
                continue
            if outcome.now is None:
                self._ghosts.note_end(done, outcome)
            elif outcome.now.expires_text != outcome.seen.expires_text:
                self.ours.note(outcome.now)

    @property
    def wish(self) -> Wish:
        """What is listed, and how."""
        return self._selection.wish

    @property
    def filter(self) -> Filter:
        """What is listed."""
        return self.wish.filter

    @property
    def sort(self) -> Sort:
        """In which order."""
        return self.wish.sort

    @property
    def lives(self) -> Lives:
        """What was seen of the leases' lives."""
        return self.catalogue.lives

    @property
    def is_filled(self) -> bool:
        """Whether the table was ever read."""
        return self.catalogue.looks > 0

    @property
    def taken_at(self) -> datetime:
        """When the table was last read, by the clock that judges."""
        return self.catalogue.taken_at

    @property
    def shown(self) -> int:
        """How many locks match the filter."""
        return len(self._selection.rows)

    @property
    def total(self) -> int:
        """How many locks there are."""
        return len(self.catalogue.locks)

    @property
    def cursor_index(self) -> int:
        """Which row the cursor is on; 0 where there is none."""
        return self._cursor_index

    @property
    def selected(self) -> Lock | None:
        """What is under the cursor, ghost or not."""
        return self.rows[self._cursor_index] if self.cursor is not None and self.rows else None

    def index_of(self, lease: Lease) -> int | None:
        """Which row shows a lease, if any does."""
        lock = self.find(lease) or self._ghosts.lock(lease)
        if lock is None:
            return None
        index = place(self.rows, lock, self.sort)
        return index if index < len(self.rows) and lease_of(self.rows[index]) == lease else None

    def find(self, lease: Lease) -> Lock | None:
        """A lease as it was seen last; None if it went."""
        return self.catalogue.find(lease)

    def ghost(self, lock: Lock) -> Ghost | None:
        """Its ghost, if the lease went."""
        return self._ghosts.get(lease_of(lock))

    def done_by_us(self, lease: Lease) -> str | None:
        """How this dashboard ended a lease, as a participle, if it did."""
        return self._ghosts.done_by_us(lease)

    def standing(self, lock: Lock, now: datetime) -> Standing:
        """How a lock stands."""
        return standing(lock, self.lives, now, self.taken_at)

    def counts(self, now: datetime) -> Counts:
        """How many of all locks stand how."""
        return self.catalogue.tally.at(now, self.taken_at)

    def stale(self, now: datetime) -> tuple[list[Lock], int]:
        """The stale locks that match the filter, in the order of the rows, and how many others do not match."""
        listed = [lock for lock in self._selection.rows if lock.is_expired(now)]
        return listed, self.counts(now).stale - len(listed)

    def listed(self) -> list[Lock]:
        """The locks that match the filter, in the order of the rows. Not to be changed."""
        return self._selection.rows

    def _in_view(self) -> set[Lease]:
        rows = self.rows[self.window.start : self.window.stop]
        return {*map(lease_of, rows), *self.marks, *([self.cursor] if self.cursor else [])}

    def _follow_time(self, now: datetime) -> None:
        """Select anew if locks came to stand otherwise, and that is what they are listed by."""
        counts = self.counts(now)
        if self.filter.standing is not None and counts != self._counts:
            self._select(select(self.catalogue, self.wish, now))
        self._counts = counts

    def _select(self, selection: Selection) -> None:
        """Take in what is wished for, of a newer look or moment."""
        self._selection = selection
        if self.filter.standing is not None:
            self._kept = self.cursor
        self._arrange()

    def _arrange(self, *, by_hand: bool = False) -> None:
        others = [lock for lock in self._ghosts.locks() if self._shows_ghost(lock)]
        kept = self.find(self._kept) if self._kept is not None and self._kept == self.cursor else None
        rows = self._selection.rows
        if kept is not None and not self._is_listed(kept):
            others.append(kept)
        if others:
            rows = list(rows)
            for lock in others:
                rows.insert(place(rows, lock, self.sort), lock)
        self.rows, self._has_leftover = rows, False
        self._hold_cursor(by_hand)

    def _is_listed(self, lock: Lock) -> bool:
        rows = self._selection.rows
        index = place(rows, lock, self.sort)
        return index < len(rows) and rows[index] is lock

    def _shows_ghost(self, lock: Lock) -> bool:
        """Whether it would be listed, if it had not gone; the one under the cursor is, however it stood."""
        lease = lease_of(lock)
        ghost = self._ghosts.get(lease)
        if not self.filter.names(lock) or ghost is None or self.find(lease) is not None:
            return False
        wanted = self.filter.standing
        return wanted is None or lease == self.cursor or self.standing(lock, ghost.gone_at) is wanted

    def _hold_cursor(self, by_hand: bool) -> None:
        """Leave the cursor on its lease; what an operator does may bring it back to the one that was chosen last."""
        if self._chosen is None and self.rows:
            self._chosen = self.rows[0]
        if self._chosen is None:
            return
        chosen = lease_of(self._chosen)
        for lease in (chosen, self.cursor) if by_hand else (self.cursor, chosen):
            index = self.index_of(lease) if lease else None
            if index is not None:
                self.cursor, self._cursor_index = lease, index
                return
        self._go_to_nearest(self._chosen)

    def _go_to_nearest(self, chosen: Lock) -> None:
        if not self.rows:
            self.cursor, self._cursor_index = None, 0
            return
        current = self.find(lease_of(chosen)) or chosen
        self._cursor_index = min(place(self.rows, current, self.sort), len(self.rows) - 1)
        self.cursor = lease_of(self.rows[self._cursor_index])


def only_owner(wish: Wish, owner: str | None) -> Wish:
    """The same wish, for this owner's locks alone; for all owners' if there is none."""
    return replace(wish, filter=replace(wish.filter, owner=owner))
