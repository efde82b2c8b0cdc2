"""How many locks stand how, at any moment, without a look at each of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from lockwatch.core.model import Lock
from lockwatch.core.state import EXPIRING_SECS, EXPIRING_SHARE
from lockwatch.tui.ttl import Renewals


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many locks are in which state."""

    held: int = 0
    expiring: int = 0
    stale: int = 0
    unreadable: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.held + self.expiring + self.stale + self.unreadable


class Tally:
    """The moments at which locks change their state, in order, so that counting is a search."""

    def __init__(self, locks: Iterable[Lock] = (), renewals: Renewals | None = None) -> None:
        renewals = renewals or Renewals()
        self._unreadable = 0
        self._ends: list[float] = []
        self._warnings: list[float] = []
        for lock in locks:
            if lock.expires_at is None:
                self._unreadable += 1
            else:
                end = lock.expires_at.timestamp()  # a number, since no date is before the year 1
                self._ends.append(end)
                self._warnings.append(end - _warning(lock, renewals))
        self._ends.sort()
        self._warnings.sort()

    def at(self, now: datetime) -> Counts:
        """The counts at a moment, by the clock that judges."""
        stale = bisect_right(self._ends, now.timestamp())
        warned = bisect_right(self._warnings, now.timestamp())
        return Counts(held=len(self._ends) - warned, expiring=warned - stale, stale=stale, unreadable=self._unreadable)


def _warning(lock: Lock, renewals: Renewals) -> float:
    """How many seconds before its end a lock is about to expire; as `core.state.state_of` has it."""
    ttl = renewals.ttl(lock)
    return EXPIRING_SECS if ttl is None else ttl.seconds * EXPIRING_SHARE
