"""Which locks an operator wants to see, and in which order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from lockwatch.core.model import Lock
from lockwatch.core.state import state_of
from lockwatch.core.text import LONGEST, clean
from lockwatch.tui.lives import Lives
from lockwatch.tui.look import Look
from lockwatch.tui.ranking import Sort


class Standing(StrEnum):
    """How a lock stands, as the screen tells it: its state, or that its holder is late."""

    HELD = "held"
    EXPIRING = "expiring"
    STALE = "stale"
    LATE = "late"
    UNREADABLE = "unreadable"


def standing(lock: Lock, lives: Lives, now: datetime, seen_at: datetime) -> Standing:
    """How a lock stands at `now`. Who is late is judged as of the last look, `seen_at`: nothing newer is known."""
    if lock.expires_at is None:
        return Standing.UNREADABLE
    if lock.expires_at <= now:
        return Standing.STALE
    late_at = lives.late_at(lock)
    if late_at is not None and late_at <= seen_at:
        return Standing.LATE
    return Standing(state_of(lock, now, lives.ttl_seconds(lock)).value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Locks whose resource or owner holds every word of `text`, whatever its case, as they are shown.

    And, where they are given, of exactly this owner, of this type, and that stand so.
    """

    text: str = ""
    owner: str | None = None
    resource_type: str | None = None
    standing: Standing | None = None
    _words: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_words", tuple(sorted(self.text.casefold().split(), key=len, reverse=True)))

    def __bool__(self) -> bool:
        return bool(self._words) or (self.owner, self.resource_type, self.standing) != (None, None, None)

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its text, the longest first, in the case in which they are compared."""
        return self._words

    def names(self, lock: Lock) -> bool:
        """Whether a lock's name and owner match. They never change, so that time does not matter."""
        return bool(self.of_whom([lock])) and all(word in shown(lock) for word in self._words)

    def of_whom(self, rows: list[Lock]) -> list[Lock]:
        """Those of its owner and of its type, in their order; the very same list if it asks for neither."""
        if self.owner is not None:
            rows = [lock for lock in rows if lock.owner_id == self.owner]
        if self.resource_type is not None:
            rows = [lock for lock in rows if lock.resource_type == self.resource_type]
        return rows

    def standing_so(self, rows: list[Lock], lives: Lives, now: datetime, seen_at: datetime) -> list[Lock]:
        """Those that stand as it asks for, in their order; the very same list if it does not."""
        match self.standing:
            case None:
                return rows
            case Standing.STALE:
                return [lock for lock in rows if lock.expires_at is not None and lock.expires_at <= now]
            case Standing.UNREADABLE:
                return [lock for lock in rows if lock.expires_at is None]
            case wanted:
                return [lock for lock in rows if standing(lock, lives, now, seen_at) is wanted]

    def narrows(self, other: Filter) -> bool:
        """Whether all that matches this one matches the other one, too, whatever the time: as typing on does."""
        is_timeless = self.standing is None
        return is_timeless and self.text.startswith(other.text) and replace(self, text="") == replace(other, text="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Which locks, and in which order."""

    filter: Filter = field(default_factory=Filter)
    sort: Sort = field(default_factory=Sort)


def first_wish(look: Look) -> Wish:
    """What a dashboard lists at first."""
    text = clean(look.text).strip()
    return Wish(filter=Filter(text=text, owner=look.owner or None, resource_type=look.resource_type or None))


def shown(lock: Lock) -> str:
    """What a lock shows, to be searched for words: its resource and its owner, whatever their case."""
    text = f"{lock.resource_type}/{lock.resource_id} {lock.owner_id}"  # no word holds a blank
    if len(text) > LONGEST or not (text.isascii() and text.isprintable()):
        text = f"{clean(lock.resource)} {clean(lock.owner_id)}"
    return text.casefold()
