"""What a dialog says: what it would do to which leases, and what became of those it was opened for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, overload

from lockwatch.cells import fit, width
from lockwatch.core.text import clean
from lockwatch.tui.orders import Verb
from lockwatch.tui.pins import ALIVE, Dropped, Pin, Pinned
from lockwatch.tui.rows import resource
from lockwatch.tui.spans import BLANK, Line, Role, Span, blanks, crop, flow, wrap
from lockwatch.tui.ttl import ttl_text
from lockwatch.tui.words import ago, brief, plural, since, time_left

_ONE_LINE_CELLS: Final = 56
"""In fewer cells a lease of a list takes two lines."""
_RELEASE_LIVE = (
    "A holder that is alive learns that it lost the lock, and may have written already. "
    "Its fence stays below the next one."
)
_RELEASE_STALE = "Its time is up: whoever wants the lock may take it as it is."
_RELEASE_UNREADABLE = "As long as it stands, nobody can take the lock: its expiry cannot be read."
_RENEW = "Nobody else can take it before that. Its holder is not told, and a dead one keeps the lock for so long."
_PURGE = "Only what is listed is removed. What was renewed or taken over before it is done is left alone."


def title(pinned: Pinned) -> str:
    """What is asked."""
    match pinned.verb:
        case Verb.RELEASE:
            return "Release this lock"
        case Verb.RENEW:
            return f"Renew this lock for {ttl_text(pinned.ttl_seconds)}"
        case Verb.PURGE:
            return f"Purge {plural(len(pinned.pins), 'stale lock')}"


def answers(pinned: Pinned) -> tuple[str, str]:
    """What `y` and `esc` do, in words."""
    if not pinned.pins:
        return "", "close"
    if pinned.verb is Verb.PURGE:
        count = len(pinned.pins)
        return (f"purge these {count}", "leave them") if count > 1 else ("purge it", "leave it")
    return f"{pinned.verb} it", "leave it"


def database(name: str, cells: int) -> Line:
    """Where it would happen."""
    return (Span("on ", Role.DIM), Span(fit(name, cells - 3), Role.DIM))


class Body(Sequence[Line]):
    """The lines of a dialog: the leases, those that dropped out, and what it means. Made as they are drawn."""

    def __init__(self, pinned: Pinned, now: datetime, cells: int, above: Sequence[Line] = ()) -> None:
        self._pinned = pinned
        self._now = now
        self._cells = cells
        is_list = pinned.verb is Verb.PURGE
        facts = [] if is_list else [line for one in pinned.pins for line in _facts(one, now, cells)]
        self._above = (*above, *facts)
        self._listed: Sequence[Pin | Dropped] = (*(pinned.pins if is_list else ()), *pinned.dropped)
        self._each = 1 if cells >= _ONE_LINE_CELLS else 2
        self._below = _meaning(pinned, now, cells)

    def __len__(self) -> int:
        return len(self._above) + len(self._listed) * self._each + len(self._below)

    @overload
    def __getitem__(self, index: int) -> Line: ...
    @overload
    def __getitem__(self, index: slice) -> list[Line]: ...
    def __getitem__(self, index: int | slice) -> Line | list[Line]:
        if isinstance(index, slice):
            return [self[number] for number in range(len(self))[index]]
        number = range(len(self))[index] - len(self._above)
        if number < 0:
            return self._above[number]
        which, part = divmod(number, self._each)
        if which < len(self._listed):
            return _listed(self._listed[which], self._now, self._cells, self._each)[part]
        return self._below[number - len(self._listed) * self._each]


def _facts(pin: Pin, now: datetime, cells: int) -> list[Line]:
    """One lease on its own lines, nothing of it cut off."""
    lock = pin.lock
    left = Span(time_left(lock, now), Role.STALE if lock.is_expired(now) else Role.TEXT)
    fence: Line = (Span(f"fence {lock.id}", Role.DIM),)
    name = clean(lock.resource)
    if width(name) <= cells:
        lines = flow([resource(lock, width(name), strong=True), (left,), fence], cells)
    else:
        lines = [(Span(piece, strong=True),) for piece in wrap(name, cells)] + flow([(left,), fence], cells)
    held = f"for {since(lock.acquired_at, now)}" if lock.acquired_at else "since an unreadable time"
    was = "was held by" if lock.is_expired(now) else "held by"
    lines += [(blanks(2), Span(piece)) for piece in wrap(f"{was} {clean(lock.owner_id)} {held}", cells - 2)]
    if pin.news and pin.news_at:
        lines += [(blanks(2), Span(piece, Role.EXPIRING, strong=True)) for piece in wrap(_news(pin, now), cells - 2)]
    return lines


def _news(pin: Pin, now: datetime) -> str:
    when = ago(pin.news_at, now) if pin.news_at else ""
    if pin.news != ALIVE:
        return f"{pin.news} {when}"
    return f"last renewed {when}" if pin.lock.is_expired(now) else f"renewed {when}: {ALIVE}"


def _listed(one: Pin | Dropped, now: datetime, cells: int, lines: int) -> list[Line]:
    """One lease in one line, or in two."""
    if isinstance(one, Dropped):
        why: Line = (Span(f"  left out: {one.why}, {ago(one.at, now)}", Role.EXPIRING),)
        return _together(
            resource(one.lock, min(width(clean(one.lock.resource)), cells * lines // 2)), why, cells, lines
        )
    lock = one.lock
    stale = Span(f" {brief(-lock.remaining(now)):>4} stale", Role.STALE)
    held: Line = (Span(f"  {clean(lock.owner_id)}", Role.DIM), Span(f"  fence {lock.id}", Role.FAINT))
    room = (cells - 20) // 2 if lines == 1 else cells - width(stale.text)
    return _together((*resource(lock, max(8, room)), stale), held, cells, lines)


def _together(first: Line, second: Line, cells: int, lines: int) -> list[Line]:
    return [crop((*first, *second), cells)] if lines == 1 else [crop(first, cells), crop(second, cells)]


def _meaning(pinned: Pinned, now: datetime, cells: int) -> list[Line]:
    texts = []
    if not pinned.pins:
        texts.append(f"Nothing is left to {pinned.verb}.")
    elif pinned.verb is Verb.PURGE:
        texts.append(_PURGE)
    else:
        texts.append(_meaning_of_one(pinned, pinned.pins[0], now))
    if pinned.hidden:
        verb = "does" if pinned.hidden == 1 else "do"
        texts.insert(0, f"{plural(pinned.hidden, 'more stale lock')} {verb} not match the filter: not purged.")
    lines: list[Line] = []
    for text in texts:
        lines += [BLANK, *((Span(piece, Role.DIM),) for piece in wrap(text, cells))]
    return lines


def _meaning_of_one(pinned: Pinned, pin: Pin, now: datetime) -> str:
    if pinned.verb is Verb.RENEW:
        if pin.lock.remaining(now) >= pinned.ttl_seconds:
            return "It lasts longer than that already: nothing would change."
        return f"It then lasts {ttl_text(pinned.ttl_seconds)} from now. {_RENEW}"
    if not pin.lock.is_readable:
        return _RELEASE_UNREADABLE
    return _RELEASE_STALE if pin.lock.is_expired(now) else _RELEASE_LIVE
