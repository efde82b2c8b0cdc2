"""What happened between two looks at the table, as far as they tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from itertools import islice
from typing import Final, TypeAlias, TypeVar

from lockwatch.core.model import Lock, Outcome
from lockwatch.tui.catalogue import Catalogue
from lockwatch.tui.deeds import Deeds
from lockwatch.tui.diff import Changed, Changes, Gone, lease_of

T = TypeVar("T")


class Happening(StrEnum):
    """What happened to a lease."""

    GRANTED = "granted"
    RENEWED = "renewed"
    RELEASED = "released"
    EXPIRED = "expired"
    TAKEN_OVER = "taken over"
    PURGED = "purged"
    GONE = "gone"
    CHANGED = "changed"


_ENDS: Final = (Happening.RELEASED, Happening.PURGED, Happening.TAKEN_OVER, Happening.GONE)
_DONE: Final = frozenset(map(str, (Happening.RELEASED, Happening.PURGED)))
_NEW_EXPIRIES: Final = (Happening.RENEWED, Happening.CHANGED)


Kind: TypeAlias = tuple[Happening, bool]
"""What happened, and whether it was this dashboard's doing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What happened to one lease.

    `at` is by the clock that judges: the moment itself if the table tells it, else that of the look. `successor` is who
    has the resource since. `ttl_seconds` is the TTL of a lease that expired, where it is known.
    """

    at: datetime
    happening: Happening
    lock: Lock
    successor: Lock | None = None
    by_you: bool = False
    ttl_seconds: float | None = None

    @property
    def kind(self) -> Kind:
        """What happened, and whether it was this dashboard's doing."""
        return self.happening, self.by_you

    @property
    def is_routine(self) -> bool:
        """Whether it is a sign of life, and no news."""
        return self.happening is Happening.RENEWED and not self.by_you

    def claimed(self, deeds: Deeds) -> Event:
        """The same, as this dashboard's doing if it was: the answer may come after the look that shows it."""
        if self.by_you:
            return self
        if self.happening in _ENDS and (done := deeds.of(lease_of(self.lock))) in _DONE:
            return replace(self, happening=Happening(done), by_you=True)
        if self.happening in _NEW_EXPIRIES and deeds.renewed(self.lock):
            return replace(self, happening=Happening.RENEWED, by_you=True)
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """How many more events of one look there were, of which kind."""

    at: datetime
    counts: Counter[Kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """From the look of `at` to that of `until` the database did not answer. What happened then is told of its end."""

    at: datetime
    until: datetime


@dataclass(frozen=True, kw_only=True)
class Between:
    """What changed from the look of `start` to that of `end`, and whose time was up since."""

    start: datetime
    end: datetime
    changes: Changes
    expired: Sequence[Lock]

    @property
    def size(self) -> int:
        """How many changes there are."""
        changes = self.changes
        return len(changes.granted) + len(changes.changed) + len(changes.gone) + len(self.expired)

    @cached_property
    def taken(self) -> frozenset[int]:
        """The grants that are takeovers, which are told as such, by `id()`."""
        return frozenset([id(gone.successor) for gone in self.changes.gone.values() if gone.successor is not None])

    def events(self, deeds: Deeds) -> Iterator[Event]:
        """Everything, one by one; what happened to one lease in its order."""
        yield from self.grants()
        yield from (self.new_expiry(changed, deeds) for changed in self.changes.changed)
        yield from (self.expiry(lock) for lock in self.expired)
        yield from self.ends(deeds)

    def grants(self, most: int | None = None) -> Iterator[Event]:
        """The grants; of more than `most` the last."""
        for lock in _last(self.changes.granted, most):
            if id(lock) not in self.taken:
                yield Event(at=self._moment(lock.acquired_at), happening=Happening.GRANTED, lock=lock)

    def ends(self, deeds: Deeds, most: int | None = None) -> Iterator[Event]:
        """The leases that went; of more than `most` the last."""
        for gone in _last(self.changes.gone.values(), most):
            at = self._moment(gone.successor.acquired_at if gone.successor else None)
            event = Event(at=at, happening=self._how(gone), lock=gone.lock, successor=gone.successor)
            yield event.claimed(deeds)

    def expiry(self, lock: Lock, ttl_seconds: float | None = None) -> Event:
        """Its time was up."""
        return Event(at=self._moment(lock.expires_at), happening=Happening.EXPIRED, lock=lock, ttl_seconds=ttl_seconds)

    def new_expiry(self, changed: Changed, deeds: Deeds) -> Event:
        """It was renewed, or its expiry was changed otherwise: before its time was up, if that is so by now."""
        happening = Happening.RENEWED if changed.is_renewal else Happening.CHANGED
        return Event(at=self._moment(changed.after.expires_at), happening=happening, lock=changed.after).claimed(deeds)

    def unusual(self, deeds: Deeds) -> tuple[list[Changed], list[Changed]]:
        """The new expiries that are no holder's renewals: those set from here, and those that are not later."""
        ours = deeds.by_id()
        set_here: list[Changed] = []
        not_later: list[Changed] = []
        for changed in self.changes.changed:  # a hundred thousand of them must not be felt
            old, new = changed.before.expires_at, changed.after.expires_at
            if ours and ours.get(changed.after.id) == changed.after.expires_text:
                set_here.append(changed)
            elif old is None or new is None or new <= old:
                not_later.append(changed)
        return set_here, not_later

    def shows(self, outcomes: Iterable[Outcome]) -> bool:
        """Whether an answer that came after it may be about what it shows."""
        gone = self.changes.gone
        return any(outcome.is_done and (outcome.now or lease_of(outcome.seen) in gone) for outcome in outcomes)

    def counts(self, deeds: Deeds, set_here: Collection[Changed], not_later: Collection[Changed]) -> Counter[Kind]:
        """How many of which kind there are, without the holders' renewals: little work for each."""
        counts = self._count_ends(deeds)
        counts[Happening.GRANTED, False] = len(self.changes.granted) - len(self.taken)
        counts[Happening.RENEWED, True] = len(set_here)
        counts[Happening.CHANGED, False] = len(not_later)
        counts[Happening.EXPIRED, False] = len(self.expired)
        return counts

    def _count_ends(self, deeds: Deeds) -> Counter[Kind]:
        """How many leases went how, as `ends` tells it of each."""
        others, counts = self._count_deeds(deeds)
        unknown = [gone.lock.expires_at for gone in others if gone.successor is None]
        start, end = self.start, self.end
        released = purged = 0
        for expires_at in unknown:
            if expires_at is not None and expires_at > end:
                released += 1
            elif expires_at is not None and expires_at <= start:
                purged += 1
        counts[Happening.TAKEN_OVER, False] = len(others) - len(unknown)
        counts[Happening.RELEASED, False] = released
        counts[Happening.PURGED, False] = purged
        counts[Happening.GONE, False] = len(unknown) - released - purged
        return counts

    def _count_deeds(self, deeds: Deeds) -> tuple[Collection[Gone], Counter[Kind]]:
        """The leases that went without this dashboard, and how many others went how."""
        ours, all_gone = deeds.by_id(), self.changes.gone.values()
        if not ours:
            return all_gone, Counter()
        deeds_done = list(map(ours.get, [gone.lock.id for gone in all_gone]))
        counts = Counter({(Happening(done), True): n for done, n in Counter(deeds_done).items() if done in _DONE})
        if counts.total() == len(all_gone):
            return (), counts
        return [gone for gone, done in zip(all_gone, deeds_done, strict=True) if done not in _DONE], counts

    def _how(self, gone: Gone) -> Happening:
        """How a lease went, if nobody here did it. Where its time was up between the looks, nobody can tell."""
        if gone.successor is not None:
            return Happening.TAKEN_OVER
        expires_at = gone.lock.expires_at
        if expires_at is None or self.start < expires_at <= self.end:
            return Happening.GONE
        return Happening.RELEASED if expires_at > self.end else Happening.PURGED

    def _moment(self, moment: datetime | None) -> datetime:
        """A moment that the table tells, if it lies between the looks."""
        return moment if moment is not None and self.start < moment <= self.end else self.end


def between(changes: Changes, catalogue: Catalogue, previous: datetime | None) -> Between | None:
    """What the look of a catalogue shows, beside the one of `previous`; None if it is the first."""
    if previous is None:
        return None
    end = catalogue.taken_at
    return Between(start=previous, end=end, changes=changes, expired=catalogue.expired_between(previous, end))


def _last(items: Collection[T], most: int | None) -> Iterable[T]:
    return items if most is None or len(items) <= most else islice(items, len(items) - most, None)
