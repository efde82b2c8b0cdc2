"""What a dialog says: what it would do to which leases, and what became of those it was opened for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, overload

from lockwatch.cells import fit, width
from lockwatch.core.model import Lock
from lockwatch.core.text import clean
from lockwatch.tui.diff import lease_of
from lockwatch.tui.orders import Verb
from lockwatch.tui.pins import ALIVE, Dropped, Pinned
from lockwatch.tui.rows import resource
from lockwatch.tui.spans import BLANK, Line, Role, Span, blanks, crop, flow, width_of, wrap
from lockwatch.tui.ttl import ttl_text
from lockwatch.tui.words import ago, brief, number, plural, since, time_left

FEW: Final = 4
"""So many leases are told in full; more are listed, one in a line."""
_ONE_LINE_CELLS: Final = 56
"""In fewer cells a lease of a list takes two lines."""
_LEAST_OWNER: Final = 8
"""In fewer cells an owner tells nothing."""
_RELEASE_LIVE: Final = (
    "A holder that is alive works on until it learns, at its next renewal, that the lock is lost. "
    "Somebody else may have it by then."
)
_RELEASE_STALE: Final = "Its time is up: whoever wants the lock may take it as it is."
_RELEASE_UNREADABLE: Final = "As long as it stands, nobody can take the lock: its expiry cannot be read."
_RENEW: Final = (
    "Nobody else can take it before that. Its holder is not told, and a dead one keeps the lock for so long."
)
_RENEW_ALL: Final = (
    "They then last for their TTLs from now. Nobody else can take them before that. "
    "Their holders are not told, and dead ones keep their locks for so long."
)
_PURGE: Final = "Only what is listed is removed. What was renewed or taken over before it is done is left alone."


def title(pinned: Pinned) -> str:
    """What is asked."""
    count = len(pinned.locks)
    many = "this lock" if count == 1 else plural(count, "lock")
    match pinned.verb:
        case Verb.RELEASE:
            return f"Release {many}"
        case Verb.RENEW:
            ttl = pinned.ttl_seconds
            return f"Renew {many} for {ttl_text(ttl)}" if ttl else f"Renew {many}, each for its own TTL"
        case Verb.PURGE:
            return f"Purge {plural(count, 'stale lock')}"


def answers(pinned: Pinned) -> tuple[str, str]:
    """What `y` and `esc` do, in words."""
    match len(pinned.locks):
        case 0:
            return "", "close"
        case 1:
            return f"{pinned.verb} it", "leave it"
        case 2:
            return f"{pinned.verb} both", "leave them"
        case count:
            return f"{pinned.verb} these {number(count)}", "leave them"


class Victims:
    """The leases of a dialog in their order: a few are told in full, many are listed, as are those that dropped out."""

    def __init__(self, pinned: Pinned) -> None:
        self.pinned = pinned
        self.locks = list(pinned.locks.values())
        in_full = pinned.verb is not Verb.PURGE and len(self.locks) <= FEW
        self.in_full = self.locks if in_full else []
        self.listed: Sequence[Lock | Dropped] = [*([] if in_full else self.locks), *pinned.dropped]


class Body(Sequence[Line]):
    """The lines of a dialog: the leases, those that dropped out, and what it means. Made as they are drawn."""

    def __init__(self, victims: Victims, now: datetime, cells: int, above: Sequence[Line] = ()) -> None:
        self._pinned = victims.pinned
        self._now = now
        self._cells = cells
        facts = [line for lock in victims.in_full for line in _facts(victims.pinned, lock, now, cells)]
        self._above = (*above, *facts, *([] if facts else _at_work(victims, now, cells)))
        self._is_in_full = bool(facts)
        self._listed = victims.listed
        self._each = 1 if cells >= _ONE_LINE_CELLS else 2
        self._below = _meaning(victims, now, cells)

    def __len__(self) -> int:
        return len(self._above) + len(self._listed) * self._each + len(self._below)

    @property
    def least_seen(self) -> int:
        """How many lines tell what it is about: all that is told in full, or else the first of the list."""
        return len(self._above) + (0 if self._is_in_full else min(1, len(self._listed)) * self._each)

    @overload
    def __getitem__(self, index: int) -> Line: ...
    @overload
    def __getitem__(self, index: slice) -> list[Line]: ...
    def __getitem__(self, index: int | slice) -> Line | list[Line]:
        if isinstance(index, slice):
            return [self[place] for place in range(len(self))[index]]
        place = range(len(self))[index] - len(self._above)
        if place < 0:
            return self._above[place]
        which, part = divmod(place, self._each)
        if which < len(self._listed):
            return self._list_item(self._listed[which])[part]
        return self._below[place - len(self._listed) * self._each]

    def _list_item(self, one: Lock | Dropped) -> list[Line]:
        if isinstance(one, Dropped):
            return _dropped(one, self._now, self._cells, self._each)
        return _listed(self._pinned, one, self._now, self._cells, self._each)


def _facts(pinned: Pinned, lock: Lock, now: datetime, cells: int) -> list[Line]:
    """One lease on its own lines, nothing of it cut off."""
    left = Span(time_left(lock, now), Role.STALE if lock.is_expired(now) else Role.TEXT)
    rest: list[Line] = [(left,), (Span(f"fence {lock.id}", Role.DIM),)]
    if lease_of(lock) in pinned.hidden.pinned:
        rest.append((Span("hidden by the filter", Role.EXPIRING),))
    name = clean(lock.resource)
    if width(name) <= cells:
        lines = flow([resource(lock, width(name), strong=True), *rest], cells)
    else:
        lines = [(Span(piece, strong=True),) for piece in wrap(name, cells)] + flow(rest, cells)
    held = f"for {since(lock.acquired_at, now)}" if lock.acquired_at else "since an unreadable time"
    was = "was held by" if lock.is_expired(now) else "held by"
    lines += [(blanks(2), Span(piece)) for piece in wrap(f"{was} {clean(lock.owner_id)} {held}", cells - 2)]
    if words := _tell(pinned, lock, now):
        lines += [(blanks(2), Span(piece, Role.EXPIRING, strong=True)) for piece in wrap(words, cells - 2)]
    return lines


def _tell(pinned: Pinned, lock: Lock, now: datetime, *, briefly: bool = False) -> str:
    """What happened to a lease, and whether that is a sign of life; empty if nothing did."""
    news = pinned.news.get(lease_of(lock))
    if news is None:
        return ""
    when = ago(news.at, now)
    if news.words != ALIVE:
        return f"{news.words} {when}"
    if lock.is_expired(now):
        return f"last renewed {when}"
    looked_at = pinned.looked_at or news.at
    if news.late_at is not None and news.late_at <= looked_at:
        return f"late: renewed {when}" if briefly else f"last renewed {when}: its holder is late"
    if news.late_at is None and lock.remaining(looked_at) < lock.remaining(news.at) / 2:
        return f"last renewed {when}"  # it says nothing any more: who holds a lock renews it before
    return f"alive: renewed {when}" if briefly else f"renewed {when}: {ALIVE}"


def _at_work(victims: Victims, now: datetime, cells: int) -> list[Line]:
    """How many of a list are no stale ones, where that matters: the list may be longer than the screen."""
    if victims.pinned.verb is not Verb.RELEASE:
        return []
    held = sum(_is_live(lock, now) for lock in victims.locks)
    words = f"{plural(held, 'of them is', 'of them are')} held: {'its holder' if held == 1 else 'their holders'}"
    pieces = wrap(f"{words} may be at work.", cells) if held else []
    return [(Span(piece, Role.EXPIRING, strong=True),) for piece in pieces]


def _is_live(lock: Lock, now: datetime) -> bool:
    return lock.is_readable and not lock.is_expired(now)


def _dropped(one: Dropped, now: datetime, cells: int, lines: int) -> list[Line]:
    why: Line = (Span(f"  left out: {one.why}, {ago(one.at, now)}", Role.EXPIRING),)
    room = min(width(clean(one.lock.resource)), cells * lines // 2)
    return _together(resource(one.lock, room), why, cells, lines)


def _listed(pinned: Pinned, lock: Lock, now: datetime, cells: int, lines: int) -> list[Line]:
    """One lease in one line, or in two."""
    is_stale = lock.is_expired(now)
    left = brief(abs(lock.remaining(now)))
    stands = Span(f" {left:>4} {'stale' if is_stale else 'left '}", Role.STALE if is_stale else Role.TEXT)
    news = "" if is_stale else _tell(pinned, lock, now, briefly=True)
    signs = (f"  {news}" if news else "") + ("  hidden by the filter" if lease_of(lock) in pinned.hidden.pinned else "")
    room = (cells - 20) // 2 if lines == 1 else cells - width(stands.text)
    first = (*resource(lock, max(8, room)), stands)
    left_over = cells - width(signs) - (width_of(first) if lines == 1 else 0)
    held = (*([Span(signs, Role.EXPIRING, strong=True)] if signs else []), *_held(lock, left_over))
    return _together(first, held, cells, lines)


def _held(lock: Lock, cells: int) -> Line:
    """Owner and fence. The owner gives way, and the fence is left out where that is not enough."""
    fence = Span(f"  fence {lock.id}", Role.FAINT)
    room = cells - 2 - width(fence.text)
    is_told = room >= _LEAST_OWNER
    owner = Span(f"  {fit(clean(lock.owner_id), room if is_told else max(1, cells - 2))}", Role.DIM)
    return (owner, fence) if is_told else (owner,)


def _together(first: Line, second: Line, cells: int, lines: int) -> list[Line]:
    return [crop((*first, *second), cells)] if lines == 1 else [crop(first, cells), crop(second, cells)]


def _meaning(victims: Victims, now: datetime, cells: int) -> list[Line]:
    lines: list[Line] = []
    for text in (*_left_out(victims.pinned), _what_it_means(victims, now)):
        lines += [BLANK, *((Span(piece, Role.DIM),) for piece in wrap(text, cells))]
    return lines


def _left_out(pinned: Pinned) -> list[str]:
    """What it is not about, though it might seem so; and what it is about, though it is not seen."""
    texts = []
    hidden = len(pinned.hidden.pinned & pinned.locks.keys())
    if hidden:
        texts.append(f"{plural(hidden, 'of them is', 'of them are')} hidden by the filter.")
    if pinned.hidden.left_out:
        stale = plural(pinned.hidden.left_out, "more stale lock does", "more stale locks do")
        texts.append(f"{stale} not match the filter: not purged.")
    if pinned.unfit:
        texts.append(f"{plural(pinned.unfit, 'more is', 'more are')} marked, to which this cannot be done: left alone.")
    return texts


def _what_it_means(victims: Victims, now: datetime) -> str:
    pinned, locks = victims.pinned, victims.locks
    if not locks:
        return f"Nothing is left to {pinned.verb}."
    if pinned.verb is Verb.PURGE:
        return _PURGE
    if pinned.verb is Verb.RELEASE:
        return _meaning_of_release(locks, now)
    if len(locks) > 1:
        return _RENEW_ALL
    ttl = pinned.ttls[lease_of(locks[0])]
    if locks[0].remaining(now) >= ttl:
        return "It lasts longer than that already: nothing would change."
    return f"It then lasts {ttl_text(ttl)} from now. {_RENEW}"


def _meaning_of_release(locks: list[Lock], now: datetime) -> str:
    """As of the one that matters most: a live one."""
    if any(_is_live(lock, now) for lock in locks):
        return _RELEASE_LIVE
    return _RELEASE_UNREADABLE if any(not lock.is_readable for lock in locks) else _RELEASE_STALE
