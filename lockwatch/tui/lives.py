"""What was seen of the leases' lives since the dashboard began: renewals, and what they tell of TTLs and of habits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median, median_low
from typing import Final

from lockwatch.core.model import Lock
from lockwatch.core.state import ttl_of
from lockwatch.tui.clock import later
from lockwatch.tui.diff import Changed, Changes, Lease, lease_of
from lockwatch.tui.ttl import Ttl, estimate

PATIENCE: Final = 1.5
"""A holder is late when the time since its last renewal is more than so many times what it usually takes."""
_REMEMBERED: Final = 6
_HABIT: Final = 2
"""So many renewals make a habit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """An expiry that a holder set, and when that was first seen; None: before this dashboard began to watch it."""

    expires_at: datetime
    expires_text: str
    seen_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewal:
    """The renewals of a lease: how many were seen, the last of them, and the TTL it tells of.

    `beats` are the last few that are the holder's own, as far as that was known when the last one was seen;
    `usual_seconds` and `late_at` follow from them. They stay as they are until the next one: counts rely on that.
    """

    count: int
    ttl_seconds: float
    seen_at: datetime
    expires_text: str
    beats: tuple[Beat, ...]
    usual_seconds: float | None
    late_at: datetime | None

    @property
    def holder_seen_at(self) -> datetime | None:
        """When the holder's own last one was first seen."""
        return self.beats[-1].seen_at if self.beats else None


class Ours:
    """The expiries that were set from this dashboard: they say nothing about the holder."""

    def __init__(self) -> None:
        self._texts: dict[Lease, tuple[str, ...]] = {}

    def note(self, lock: Lock) -> None:
        """Remember that this expiry is an operator's doing."""
        lease = lease_of(lock)
        self._texts[lease] = (*self._texts.get(lease, ()), lock.expires_text)[-_REMEMBERED:]

    def forget(self, lease: Lease) -> None:
        """The lease is gone."""
        self._texts.pop(lease, None)

    def includes(self, lock: Lock) -> bool:
        """Whether a lock's expiry is one of them."""
        return lock.expires_text in self._texts.get(lease_of(lock), ())

    def without(self, lease: Lease, beats: Iterable[Beat]) -> tuple[Beat, ...]:
        """The beats that are the holder's."""
        ours = self._texts.get(lease, ())
        return tuple(beat for beat in beats if beat.expires_text not in ours)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lives:
    """What is known beyond the table's columns. It never changes: `after` gives the next."""

    ours: Ours = field(default_factory=Ours)
    began: datetime | None = None
    _renewals: Mapping[Lease, Renewal] = field(default_factory=dict)
    _first_seen: Mapping[Lease, datetime] = field(default_factory=dict)

    def after(self, changes: Changes, taken_at: datetime, previous: datetime | None) -> Lives:
        """The same, with what changed between the looks of `previous` and `taken_at`."""
        if self.began is None or previous is None:
            return Lives(ours=self.ours, began=taken_at)
        if not changes:
            return self
        renewals, first_seen = dict(self._renewals), dict(self._first_seen)
        for lease in changes.gone:
            renewals.pop(lease, None)
            first_seen.pop(lease, None)
        for lock in changes.granted:
            _note_first_sight(first_seen, lock, taken_at)
        for changed in changes.changed:
            _note_first_sight(first_seen, changed.after, taken_at)
            if changed.is_renewal:
                lease = lease_of(changed.after)
                renewals[lease] = self._renewed(lease, changed, taken_at, previous)
        return Lives(ours=self.ours, began=self.began, _renewals=renewals, _first_seen=first_seen)

    def last(self, lock: Lock) -> Renewal | None:
        """The renewals that were seen, if any."""
        return self._renewals.get(lease_of(lock)) if self._renewals else None

    def is_ours(self, lock: Lock) -> bool:
        """Whether its expiry was set from this dashboard."""
        return self.ours.includes(lock)

    def ttl(self, lock: Lock) -> Ttl | None:
        """Its TTL, as far as it can be told: from its renewals, or exactly while it was never renewed."""
        renewal = self.last(lock)
        if renewal is not None:
            return Ttl(seconds=renewal.ttl_seconds, is_exact=False)
        seconds = ttl_of(lock)
        return None if seconds is None else Ttl(seconds=seconds, is_exact=True)

    def ttl_seconds(self, lock: Lock) -> float | None:
        """The same as a number."""
        renewal = self.last(lock)
        return ttl_of(lock) if renewal is None else renewal.ttl_seconds

    def share_left(self, lock: Lock, now: datetime) -> float:
        """How much of its life is left, 0 to 1: of its TTL, or of the longest time left that was seen."""
        left = lock.remaining(now)
        if not left > 0:
            return 0.0
        whole = self.ttl_seconds(lock) or lock.remaining(self._first_seen.get(lease_of(lock)) or self.began or now)
        return min(1.0, left / whole) if whole > 0 else 0.0

    def late_at(self, lock: Lock) -> datetime | None:
        """From when on its holder is late: overdue by more than half of what it usually takes. None: no habit."""
        renewal = self.last(lock)
        return renewal.late_at if renewal else None

    def _renewed(self, lease: Lease, changed: Changed, taken_at: datetime, previous: datetime) -> Renewal:
        """What is known with one more renewal. Measured by expiries, it does not matter when they are looked at."""
        earlier, lock = self._renewals.get(lease), changed.after
        beats = earlier.beats if earlier else _beat(changed.before, None)
        beats = self.ours.without(lease, (*beats, *_beat(lock, taken_at)))[-_REMEMBERED - 1 :]
        usual = _usual_seconds(beats)
        known = earlier.ttl_seconds if earlier else ttl_of(changed.before)
        return Renewal(
            count=earlier.count + 1 if earlier else 1,
            ttl_seconds=_ttl_of(known, lock.remaining(taken_at), lock.remaining(previous)),
            seen_at=taken_at,
            expires_text=lock.expires_text,
            beats=beats,
            usual_seconds=usual,
            late_at=None if usual is None else _late_at(beats, usual, lock, taken_at),
        )


def _note_first_sight(first_seen: dict[Lease, datetime], lock: Lock, taken_at: datetime) -> None:
    if ttl_of(lock) is None and lock.is_readable:
        first_seen[lease_of(lock)] = taken_at


def _beat(lock: Lock, seen_at: datetime | None) -> tuple[Beat, ...]:
    """The expiry of a lock, if it can be read."""
    if lock.expires_at is None:
        return ()
    return (Beat(expires_at=lock.expires_at, expires_text=lock.expires_text, seen_at=seen_at),)


def _usual_seconds(beats: tuple[Beat, ...]) -> float | None:
    """After how many seconds the next one usually comes; None if too few were seen to tell."""
    steps = [(after.expires_at - before.expires_at).total_seconds() for before, after in pairwise(beats)]
    steps = [step for step in steps if step > 0]
    return median(steps) if len(steps) >= _HABIT else None


def _late_at(beats: tuple[Beat, ...], usual: float, lock: Lock, seen_at: datetime) -> datetime | None:
    """From when on the holder is late, as of a renewal by whomever that was seen at `seen_at`.

    A renewal never shortens a lease. Where an operator gave it more than its holder does, the holder's renewals leave
    no trace until that is used up: who cannot be seen is not late, unless it was before.
    """
    seen = [(beat.seen_at, beat.expires_at - beat.seen_at) for beat in beats if beat.seen_at is not None]
    if not seen or lock.expires_at is None:
        return None
    patience = PATIENCE * usual
    late_at = later(seen[-1][0], patience)
    visible_from = lock.expires_at - median_low(given for _, given in seen)
    is_hidden = visible_from - seen_at > timedelta(seconds=usual / 2)
    return later(visible_from, patience) if is_hidden and late_at > seen_at else late_at


def _ttl_of(known: float | None, least: float, most: float) -> float:
    """The TTL that a renewal tells of; the one known before as long as it may still be, however long nobody looked."""
    return known if known is not None and least <= known <= most else estimate(least, most)
