"""Leases that went, which stay on the screen for a while as lines that say so."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from lockwatch.core.model import Lock, Outcome
from lockwatch.tui.diff import Gone, Lease, lease_of

GHOST_SECS: Final = 5.0
"""How long the line of a lease that went stays, in seconds, when the cursor is elsewhere."""
_MOST_ENDS: Final = 20_000
"""How many ends that this dashboard brought about are remembered until a look shows them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ghost:
    """A lease that went: as it was last seen, when it was missed, who has the resource since, what we did to it."""

    lock: Lock
    gone_at: datetime
    successor: Lock | None
    done_by_us: str | None = None


class Ghosts:
    """The ghosts, and what this dashboard did to which leases."""

    def __init__(self) -> None:
        self._ghosts: dict[Lease, Ghost] = {}
        self._ends: dict[Lease, str] = {}

    def add(self, lease: Lease, gone: Gone, at: datetime) -> None:
        """A lease went."""
        done = self._ends.get(lease)
        self._ghosts[lease] = Ghost(lock=gone.lock, gone_at=at, successor=gone.successor, done_by_us=done)

    def drop(self, lease: Lease) -> None:
        """A lease is back, after all."""
        self._ghosts.pop(lease, None)

    def get(self, lease: Lease) -> Ghost | None:
        """The ghost of a lease."""
        return self._ghosts.get(lease)

    def lock(self, lease: Lease) -> Lock | None:
        """A lease that went, as it was seen last."""
        ghost = self._ghosts.get(lease)
        return ghost.lock if ghost else None

    def locks(self) -> list[Lock]:
        """The leases that went, as they were seen last."""
        return [ghost.lock for ghost in self._ghosts.values()]

    def note_end(self, done: str, outcome: Outcome) -> None:
        """This dashboard ended a lease; `done` is a participle."""
        lease = lease_of(outcome.seen)
        self._ends[lease] = done
        while len(self._ends) > _MOST_ENDS:
            del self._ends[next(iter(self._ends))]
        if lease in self._ghosts:
            self._ghosts[lease] = replace(self._ghosts[lease], done_by_us=done)

    def done_by_us(self, lease: Lease) -> str | None:
        """How this dashboard ended a lease, as a participle, if it did."""
        return self._ends.get(lease)

    def pass_time(self, now: datetime, cursor: Lease | None) -> bool:
        """Let old ones go, except under the cursor: whether any went."""
        old = [
            lease
            for lease, ghost in self._ghosts.items()
            if lease != cursor and abs((now - ghost.gone_at).total_seconds()) >= GHOST_SECS
        ]
        for lease in old:
            del self._ghosts[lease]
        return bool(old)
