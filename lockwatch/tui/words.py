"""What the screen says in words about a lock, as of a moment. All of it is safe on a terminal."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from lockwatch.core.model import Lock
from lockwatch.core.text import clean, duration
from lockwatch.tui.ghosts import Ghost

_YEAR_SECS: Final = 365.25 * 86_400
_MANY_DAYS_SECS: Final = 1_000 * 86_400


def brief(seconds: float) -> str:
    """Seconds in one coarse unit, in at most five characters up to 999 years, in six up to 9999."""
    years = int(abs(seconds) // _YEAR_SECS) if abs(seconds) >= _MANY_DAYS_SECS else 0
    return f"{'-' if seconds < 0 else ''}{years}y" if years else duration(seconds)


def since(moment: datetime, now: datetime) -> str:
    """How long ago: `3s`. Never negative."""
    return brief(max(0.0, (now - moment).total_seconds()))


def ago(moment: datetime, now: datetime) -> str:
    """How long ago: `3s ago`."""
    return f"{since(moment, now)} ago"


def clock_time(moment: datetime, now: datetime) -> str:
    """A moment in UTC: `02:41:07Z`, with its date unless that is today's."""
    return f"{moment:%H:%M:%SZ}" if moment.date() == now.date() else f"{moment:%Y-%m-%d %H:%M:%SZ}"


def times(count: int) -> str:
    """`once`, `twice`, `7 times`."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def number(count: int) -> str:
    """A count, its thousands apart."""
    return f"{count:,}"


def plural(count: int, one: str, many: str | None = None) -> str:
    """`1 lock`, `2 locks`; `many` where it is not `one` and an s."""
    return f"{number(count)} {one if count == 1 else many or f'{one}s'}"


def time_left(lock: Lock, now: datetime) -> str:
    """`28s left`, `stale for 12s`, or that it cannot be told."""
    if not lock.is_readable:
        return f"expiry unreadable: {clean(lock.expires_text)!r}"
    left = lock.remaining(now)
    return f"{brief(left)} left" if left > 0 else f"stale for {brief(-left)}"


def how_it_went(ghost: Ghost, now: datetime) -> str:
    """How a lease ended, as far as it was seen: `gone 3s ago, 40s before its expiry`."""
    when = ago(ghost.gone_at, now)
    holder = clean(ghost.successor.owner_id) if ghost.successor else None
    if ghost.done_by_us:
        then = f", held by {holder} since" if holder else ""
        return f"{ghost.done_by_us} by you {when}{_beside_expiry(ghost)}{then}"
    if holder:
        return f"taken over by {holder} {when}{_beside_expiry(ghost)}"
    return f"gone {when}{_beside_expiry(ghost)}"


def how_it_went_briefly(ghost: Ghost, now: datetime) -> str:
    """The same in few cells: `gone 3s ago`."""
    return f"{ghost.done_by_us or ('taken' if ghost.successor else 'gone')} {ago(ghost.gone_at, now)}"


def _beside_expiry(ghost: Ghost) -> str:
    if not ghost.lock.is_readable:
        return ""
    left = ghost.lock.remaining(ghost.gone_at)
    return f", {brief(abs(left))} {'before' if left > 0 else 'after'} its expiry"
