"""How many locks stand how, at any moment, without a look at each of them."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import NamedTuple

from lockwatch.core.model import Lock
from lockwatch.core.state import EXPIRING_SECS, EXPIRING_SHARE
from lockwatch.tui.lives import Lives


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many locks stand how. Each is counted once, as its row tells it."""

    held: int = 0
    expiring: int = 0
    stale: int = 0
    unreadable: int = 0
    late: int = 0


class Moments(NamedTuple):
    """When a lock changes its state, as POSIX timestamps: about to expire, its holder late (or never), expired."""

    warning: float
    late: float
    end: float

    @property
    def is_early(self) -> bool:
        """Whether its holder is late before it is about to expire."""
        return self.late < self.warning


def moments(lock: Lock, lives: Lives) -> Moments | None:
    """When a lock changes its state; None if its expiry cannot be read. As `core.state.state_of` has it."""
    if lock.expires_at is None:
        return None
    end = lock.expires_at.timestamp()
    ttl = lives.ttl_seconds(lock)
    late_at = lives.late_at(lock)
    late = late_at.timestamp() if late_at else inf
    return Moments(
        warning=end - (EXPIRING_SECS if ttl is None else ttl * EXPIRING_SHARE),
        late=late if late < end else inf,
        end=end,
    )


class Tally:
    """The moments at which locks change their state, in order, so that counting is a search. It never changes."""

    def __init__(
        self,
        ends: Sequence[float] = (),
        warnings: Sequence[float] = (),
        lates: Sequence[float] = (),
        late_ends: Sequence[float] = (),
        early_lates: Sequence[float] = (),
        early_warnings: Sequence[float] = (),
        unreadable: int = 0,
    ) -> None:
        self._ends = ends
        self._warnings = warnings
        self._lates = lates
        self._late_ends = late_ends
        self._early_lates = early_lates
        self._early_warnings = early_warnings
        """Early are those whose holder is late before they are about to expire."""
        self._unreadable = unreadable

    def after(self, went: Sequence[Moments | None], came: Sequence[Moments | None]) -> Tally:
        """The same without some locks, and with others."""
        old, new = [one for one in went if one], [one for one in came if one]
        was_late, is_late = [one for one in old if one.late < inf], [one for one in new if one.late < inf]
        was_early, is_early = [one for one in was_late if one.is_early], [one for one in is_late if one.is_early]
        return Tally(
            _updated(self._ends, (one.end for one in old), [one.end for one in new]),
            _updated(self._warnings, (one.warning for one in old), [one.warning for one in new]),
            _updated(self._lates, (one.late for one in was_late), [one.late for one in is_late]),
            _updated(self._late_ends, (one.end for one in was_late), [one.end for one in is_late]),
            _updated(self._early_lates, (one.late for one in was_early), [one.late for one in is_early]),
            _updated(self._early_warnings, (one.warning for one in was_early), [one.warning for one in is_early]),
            self._unreadable + len(came) - len(new) - len(went) + len(old),
        )

    def at(self, now: datetime, seen_at: datetime | None = None) -> Counts:
        """The counts at a moment by the clock that judges. Who is late is judged as of the last look, `seen_at`."""
        moment = now.timestamp()
        seen = seen_at.timestamp() if seen_at else moment
        stale = bisect_right(self._ends, moment)
        warned = bisect_right(self._warnings, moment)
        late = max(0, bisect_right(self._lates, seen) - bisect_right(self._late_ends, moment))
        early = bisect_right(self._early_lates, seen) - bisect_right(self._early_warnings, moment)
        late_and_not_warned = min(late, max(0, early))
        return Counts(
            held=len(self._ends) - warned - late_and_not_warned,
            expiring=max(0, warned - stale - (late - late_and_not_warned)),
            stale=stale,
            unreadable=self._unreadable,
            late=late,
        )


def _updated(numbers: Sequence[float], went: Iterable[float], came: Sequence[float]) -> Sequence[float]:
    """Numbers in order, without some and with others."""
    kept = array("d", numbers)
    for number in went:
        del kept[bisect_left(kept, number)]
    if len(came) * 8 > len(kept):
        return array("d", sorted((*kept, *came)))
    for number in came:
        insort(kept, number)
    return kept
