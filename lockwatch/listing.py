"""The table of locks as lines of text: for the command line, and wherever there is no terminal to draw on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf, nan
from typing import Final

from lockwatch import cells
from lockwatch.core.model import Lock, LockSnapshot
from lockwatch.core.state import state_of, ttl_of
from lockwatch.core.text import clean, duration


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of the table. Only a name is ever shortened, and never to fewer than `least` cells."""

    title: str
    text: Callable[[Lock, datetime], str]
    right: bool = False
    least: int | None = None


RESOURCE: Final = Column(title="RESOURCE", text=lambda lock, _: clean(lock.resource), least=20)
OWNER: Final = Column(title="OWNER", text=lambda lock, _: clean(lock.owner_id), least=16)
STATE: Final = Column(title="STATE", text=lambda lock, now: state_of(lock, now, ttl_of(lock)).upper())
LEFT: Final = Column(title="LEFT", text=lambda lock, now: duration(lock.remaining(now)), right=True)
TTL: Final = Column(title="TTL", text=lambda lock, _: duration(ttl_of(lock) or nan), right=True)
HELD: Final = Column(title="HELD", text=lambda lock, now: duration(held_seconds(lock, now)), right=True)
FENCE: Final = Column(title="FENCE", text=lambda lock, _: str(lock.id), right=True)

COLUMNS: Final = (RESOURCE, OWNER, STATE, LEFT, TTL, HELD, FENCE)
_DROPPED_FIRST: Final = (TTL, HELD, FENCE, OWNER, LEFT, STATE)


def render(snapshot: LockSnapshot, width: int | None = None) -> list[str]:
    """A header and a line for each lock, those with the least time left first; safe on a terminal.

    Args:
        snapshot: what the table looked like.
        width: how many cells a line may take. Columns that matter less are left out, and names shortened in
            the middle, until it does. None: everything in full, for a pipe.
    """
    return render_locks(in_order(snapshot.locks, snapshot.taken_at), snapshot.taken_at, width)


def render_locks(locks: Sequence[Lock], now: datetime, width: int | None = None) -> list[str]:
    """The same for some locks, in the order given, as they stand at `now`."""
    texts = {column: [column.text(lock, now) for lock in locks] for column in COLUMNS}
    widths = _widths({column: _natural(column, shown) for column, shown in texts.items()}, width)
    lines = zip(*([column.title, *texts[column]] for column in widths), strict=True)
    return [_line(line, widths) for line in lines]


def describe(lock: Lock, now: datetime) -> list[str]:
    """One lock in full, a line for each of its facts; safe on a terminal."""
    facts = {column: column.text(lock, now) for column in COLUMNS}
    facts[LEFT] += _expiry(lock)
    facts[HELD] += f", since {lock.acquired_at:%Y-%m-%d %H:%M:%SZ}" if lock.acquired_at else ""
    size = max(len(column.title) for column in COLUMNS)
    return [f"{column.title.lower():<{size}}{cells.GAP}{fact}" for column, fact in facts.items()]


def in_order(locks: Sequence[Lock], now: datetime) -> list[Lock]:
    """Those with the least time left first, led by those that cannot be read; with the same time left, by fence."""
    return sorted(locks, key=lambda lock: _urgency(lock, now))


def held_seconds(lock: Lock, now: datetime) -> float:
    """For how long a lock has been there, in seconds; not a number (NaN) if its beginning cannot be read."""
    return nan if lock.acquired_at is None else (now - lock.acquired_at).total_seconds()


def _urgency(lock: Lock, now: datetime) -> tuple[float, bool, int]:
    left = lock.remaining(now) if lock.is_readable else -inf
    return left, isinstance(lock.id, str), lock.id  # numbers and texts cannot be compared


def _expiry(lock: Lock) -> str:
    if lock.expires_at is None:
        return f": the expiry {clean(lock.expires_text)!r} cannot be read"
    return f", until {lock.expires_at:%Y-%m-%d %H:%M:%SZ}"


def _natural(column: Column, texts: Sequence[str]) -> int:
    return max(cells.width(column.title), max(map(cells.width, texts), default=0))


def _widths(natural: Mapping[Column, int], room: int | None) -> dict[Column, int]:
    """The columns that are shown, and how wide."""
    kept = dict(natural)
    if room is None:
        return kept
    for column in _DROPPED_FIRST:
        if cells.line_width([min(size, shown.least or size) for shown, size in kept.items()]) <= room:
            break
        del kept[column]
    excess = cells.line_width(kept.values()) - room
    return _shortened(kept, excess) if excess > 0 else kept


def _shortened(widths: dict[Column, int], excess: int) -> dict[Column, int]:
    """The same columns, the names `excess` cells narrower; an owner keeps half of what is left, or what it needs."""
    resource, owner = widths[RESOURCE], widths.get(OWNER, 0)
    left = resource + owner - excess
    owner = min(owner, max(left // 2, left - resource))
    shares = {RESOURCE: max(1, left - owner), OWNER: owner}
    return {column: shares.get(column, size) for column, size in widths.items()}


def _line(texts: Sequence[str], widths: Mapping[Column, int]) -> str:
    padded = (cells.pad(text, widths[column], right=column.right) for text, column in zip(texts, widths, strict=True))
    return cells.GAP.join(padded).rstrip()
