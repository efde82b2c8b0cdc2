"""How long a lease lasts in all: six columns do not hold a TTL, so it is told from what was seen.

It is exact while the lease was never renewed, an estimate once this dashboard has seen a renewal, else unknown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from lockwatch.core.model import Lock
from lockwatch.core.state import ttl_of
from lockwatch.core.text import duration
from lockwatch.tui.diff import Changed, Changes, Lease, lease_of

_ROUND: Final = (300, 60, 30, 10, 5, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewal:
    """The last renewal of a lease that was seen: when it was first seen, and how many there were."""

    seen_at: datetime
    expires_text: str
    ttl_seconds: float
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ttl:
    """A lifetime in seconds, and whether it is sure."""

    seconds: float
    is_exact: bool

    def __str__(self) -> str:
        return f"{'' if self.is_exact else '~'}{ttl_text(self.seconds)}"


class Renewals:
    """What was seen of the leases' lives since the dashboard began."""

    def __init__(self) -> None:
        self._seen: dict[Lease, Renewal] = {}
        self._longest: dict[Lease, float] = {}
        self._ours: dict[Lease, str] = {}

    def see(self, changes: Changes, taken_at: datetime, previous: datetime) -> None:
        """Learn from what changed between the polls of `previous` and `taken_at`."""
        for gone in changes.gone:
            self._forget(lease_of(gone.lock))
        for lock in changes.granted:
            self._measure(lock, taken_at)
        for changed in changes.changed:
            self._measure(changed.after, taken_at)
            if changed.is_renewal:
                self._see_renewal(changed, taken_at, previous)

    def note_ours(self, lock: Lock) -> None:
        """Remember that this expiry is an operator's doing: it says nothing about the holder."""
        self._ours[lease_of(lock)] = lock.expires_text

    def last(self, lock: Lock) -> Renewal | None:
        """The last renewal that was seen, if any."""
        return self._seen.get(lease_of(lock))

    def is_ours(self, lock: Lock) -> bool:
        """Whether its expiry was set from this dashboard."""
        return self._ours.get(lease_of(lock)) == lock.expires_text

    def ttl(self, lock: Lock) -> Ttl | None:
        """Its TTL, as far as it can be told."""
        renewal = self._seen.get(lease_of(lock))
        if renewal is not None:
            return Ttl(seconds=renewal.ttl_seconds, is_exact=False)
        seconds = ttl_of(lock)
        return None if seconds is None else Ttl(seconds=seconds, is_exact=True)

    def share_left(self, lock: Lock, now: datetime) -> float:
        """How much of its life is left, 0 to 1: of its TTL, or of the longest time left that was seen."""
        ttl = self.ttl(lock)
        whole = ttl.seconds if ttl else self._longest.get(lease_of(lock), 0.0)
        left = lock.remaining(now)
        return min(1.0, left / whole) if whole > 0 and left > 0 else 0.0

    def _see_renewal(self, changed: Changed, taken_at: datetime, previous: datetime) -> None:
        lock = changed.after
        earlier = self._seen.get(lease_of(lock))
        self._seen[lease_of(lock)] = Renewal(
            seen_at=taken_at,
            expires_text=lock.expires_text,
            ttl_seconds=_estimate(lock.remaining(taken_at), lock.remaining(previous)),
            count=earlier.count + 1 if earlier else 1,
        )

    def _measure(self, lock: Lock, taken_at: datetime) -> None:
        if ttl_of(lock) is None and lock.is_readable:
            self._longest[lease_of(lock)] = lock.remaining(taken_at)

    def _forget(self, lease: Lease) -> None:
        for memory in (self._seen, self._longest, self._ours):
            memory.pop(lease, None)


def ttl_text(seconds: float) -> str:
    """A TTL as people say it: `60s`, `90s`, `5m`, `1h`; rounded only if it is longer than any that can be asked for."""
    whole = round(seconds)
    is_round = whole >= 120 and whole % 60 == 0 and (whole < 3600 or whole % 3600 == 0)
    return duration(whole) if is_round or whole >= 10_000 else f"{whole}s"


def _estimate(least: float, most: float) -> float:
    """The roundest number of seconds that a renewal between two polls allows; people choose round ones."""
    for step in _ROUND:
        candidate = math.ceil(least / step) * step
        if 0 < candidate <= most:
            return candidate
    return max(1.0, math.ceil(least))
