"""What an operator sees: rows in a total order, a cursor that holds a lease, and ghosts of leases that went.

The cursor holds a lease, never a row number. When its lease goes, the line stays as a ghost until the cursor
moves; the ghosts of others stay for a few seconds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, TypeAlias

from lockwatch.core.model import Lock, LockSnapshot, Outcome
from lockwatch.core.state import LockState, state_of
from lockwatch.tui.diff import Gone, Lease, diff, lease_of
from lockwatch.tui.filter import Filter
from lockwatch.tui.tally import Counts, Tally
from lockwatch.tui.ttl import Renewals

GHOST_SECS: Final = 5.0
"""How long the line of a lease that went stays, in seconds, when the cursor is elsewhere."""

_Order: TypeAlias = tuple[datetime, str, str, str, str]
_BEFORE_ALL: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ghost:
    """A lease that went: as it was last seen, when it was missed, who has the resource since, what we did to it."""

    lock: Lock
    gone_at: datetime
    successor: Lock | None
    done_by_us: str | None = None


class Board:
    """All that is known of the table, arranged for a screen. Knows no terminal; `now` is the database's clock."""

    def __init__(self) -> None:
        self.rows: list[Lock] = []
        """What is listed, in order: locks that match the filter, and ghosts among them."""
        self.filter = Filter()
        self.renewals = Renewals()
        self.cursor: Lease | None = None
        self.shown = 0
        """How many locks match the filter."""
        self.is_filled = False
        """Whether the table was ever read."""
        self.taken_at = _BEFORE_ALL
        """When the table was last read, by the clock that judges."""
        self._seen: tuple[Lock, ...] = ()
        self._live: dict[Lease, Lock] = {}
        self._ghosts: dict[Lease, Ghost] = {}
        self._settled: dict[Lease, str] = {}
        self._index: dict[Lease, int] = {}
        self._chosen: Lock | None = None
        self._tally = Tally()

    def see(self, snapshot: LockSnapshot) -> bool:
        """Take in a poll's answer: whether anything changed but the time."""
        previous = self.taken_at if self.is_filled else snapshot.taken_at
        self.taken_at = snapshot.taken_at
        if self.is_filled and snapshot.locks is self._seen:
            return False
        before, self._seen = self._live, snapshot.locks
        self._live = {lease_of(lock): lock for lock in snapshot.locks}
        changes = diff(before, self._live)
        self.renewals.see(changes, snapshot.taken_at, previous)
        for gone in changes.gone:
            self._haunt(gone, snapshot.taken_at)
        self.is_filled = True
        self._tally = Tally(snapshot.locks, self.renewals)
        self._arrange()
        return True

    def pass_time(self, now: datetime) -> bool:
        """Let old ghosts go, except under the cursor: whether any went."""
        old = [
            lease
            for lease, ghost in self._ghosts.items()
            if lease != self.cursor and abs((now - ghost.gone_at).total_seconds()) >= GHOST_SECS
        ]
        for lease in old:
            del self._ghosts[lease]
            self._settled.pop(lease, None)
        if old:
            self._arrange()
        return bool(old)

    def narrow(self, text: str) -> None:
        """Filter by a text. A cursor whose lease is hidden goes to the next one, and comes back with it."""
        self.filter = Filter(text)
        self._arrange()

    def move(self, lines: int) -> None:
        """Move the cursor by a number of lines, as far as there are any."""
        if self.rows:
            self.move_to(self.cursor_index + lines)

    def move_to(self, index: int) -> None:
        """Put the cursor on the row with this index, or the nearest there is."""
        if self.rows:
            self._chosen = self.rows[min(max(index, 0), len(self.rows) - 1)]
            self.cursor = lease_of(self._chosen)

    def note(self, done: str, outcomes: Iterable[Outcome]) -> None:
        """Remember what this dashboard did; `done` is a participle. The rows change by the next poll alone."""
        for outcome in outcomes:
            if outcome.is_done and outcome.now is not None:
                self.renewals.note_ours(outcome.now)
            elif outcome.is_done:
                self._note_end(done, lease_of(outcome.seen))

    @property
    def cursor_index(self) -> int:
        """Which row the cursor is on; 0 where there is none."""
        return self._index.get(self.cursor, 0) if self.cursor else 0

    @property
    def selected(self) -> Lock | None:
        """What is under the cursor, ghost or not."""
        return self.rows[self.cursor_index] if self.cursor in self._index else None

    @property
    def total(self) -> int:
        """How many locks there are."""
        return len(self._live)

    def index_of(self, lease: Lease) -> int | None:
        """Which row shows a lease, if any does."""
        return self._index.get(lease)

    def find(self, lease: Lease) -> Lock | None:
        """A lease as it was seen last; None if it went."""
        return self._live.get(lease)

    def ghost(self, lock: Lock) -> Ghost | None:
        """Its ghost, if the lease went."""
        return self._ghosts.get(lease_of(lock))

    def state(self, lock: Lock, now: datetime) -> LockState:
        """How a lock stands."""
        ttl = self.renewals.ttl(lock)
        return state_of(lock, now, ttl.seconds if ttl else None)

    def counts(self, now: datetime) -> Counts:
        """How many of all locks stand how."""
        return self._tally.at(now)

    def stale(self, now: datetime) -> tuple[list[Lock], int]:
        """The stale locks that match the filter, in the order of the rows, and how many others do not match."""
        listed = [lock for lock in self.rows if lock.is_expired(now) and lease_of(lock) in self._live]
        return listed, self.counts(now).stale - len(listed)

    def _haunt(self, gone: Gone, at: datetime) -> None:
        lease = lease_of(gone.lock)
        self._ghosts[lease] = Ghost(
            lock=gone.lock, gone_at=at, successor=gone.successor, done_by_us=self._settled.get(lease)
        )

    def _note_end(self, done: str, lease: Lease) -> None:
        self._settled[lease] = done
        if lease in self._ghosts:
            self._ghosts[lease] = replace(self._ghosts[lease], done_by_us=done)

    def _arrange(self) -> None:
        for lease in self._ghosts.keys() & self._live.keys():
            del self._ghosts[lease]
        everything = [*self._live.values(), *(ghost.lock for ghost in self._ghosts.values())]
        self.rows = sorted(filter(self.filter.matches, everything), key=_order)
        self._index = {lease_of(lock): index for index, lock in enumerate(self.rows)}
        self.shown = sum(lease in self._live for lease in self._index)
        self._hold_cursor()

    def _hold_cursor(self) -> None:
        if self._chosen is None and self.rows:
            self._chosen = self.rows[0]
        if self._chosen is not None and lease_of(self._chosen) in self._index:
            self.cursor = lease_of(self._chosen)
        elif self.cursor not in self._index:
            self.cursor = self._nearest()

    def _nearest(self) -> Lease | None:
        if not self.rows:
            return None
        after = bisect_left(self.rows, _order(self._chosen), key=_order) if self._chosen else 0
        return lease_of(self.rows[min(after, len(self.rows) - 1)])


def _order(lock: Lock) -> _Order:
    """By time left; equal ones by their key, so that no two of them ever swap places."""
    return (lock.expires_at or _BEFORE_ALL, lock.resource_type, lock.resource_id, str(lock.id), lock.owner_id)
