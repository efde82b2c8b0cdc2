"""A lease as its keeper sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lockwatch.core.lease import Lease

MOST_EARLY_SECS: Final = 1.0
EARLY_SHARE: Final = 1 / 10
"""How early a heartbeat may come, in seconds and as a share of its interval."""


@dataclass(slots=True, kw_only=True)
class Kept:
    """A lease, when its next heartbeat is due, and which holds share it."""

    lease: Lease
    interval: float
    due: float
    is_ours: bool
    """Whether the first of these holds was granted it as a new row, so that the last to end releases it."""
    holders: set[object]
    is_ending: bool = False
    """Whether it is being released: that its row is gone is no loss then."""

    def is_due(self, now: float) -> bool:
        """Whether its heartbeat is due, or will be in a moment, or somebody found the lease lost."""
        early = min(MOST_EARLY_SECS, self.interval * EARLY_SHARE)
        return self.lease.is_doubted or self.due <= now + early

    def share(self, holder: object, sent_at: float, ttl_seconds: float, interval_seconds: float) -> None:
        """One more hold, asked for at `sent_at`, which may want a longer TTL or more heartbeats."""
        self.holders.add(holder)
        self.lease.ttl_seconds = max(self.lease.ttl_seconds, ttl_seconds)
        self.interval = min(self.interval, interval_seconds)
        self.due = min(self.due, sent_at + interval_seconds)
