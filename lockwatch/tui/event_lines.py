"""How what happened reads, in one line."""

from __future__ import annotations

from datetime import date, datetime
from typing import Final

from lockwatch.cells import fit, width
from lockwatch.core.model import Lock
from lockwatch.core.text import clean
from lockwatch.tui.happenings import Event, Gap, Happening, Rest
from lockwatch.tui.owners import name_of
from lockwatch.tui.spans import Line, Role, Span, blanks, crop, width_of
from lockwatch.tui.ttl import ttl_text
from lockwatch.tui.words import brief, clock_time, number

ROLES: Final = {
    Happening.GRANTED: Role.HELD,
    Happening.RENEWED: Role.DIM,
    Happening.RELEASED: Role.TEXT,
    Happening.EXPIRED: Role.STALE,
    Happening.TAKEN_OVER: Role.EXPIRING,
    Happening.PURGED: Role.TEXT,
    Happening.GONE: Role.DIM,
    Happening.CHANGED: Role.UNREADABLE,
}
_WORD: Final = 10
"""Cells of the longest of them, `taken over`."""
_UNSEEN: Final = "unseen"
_WIDE_CELLS: Final = 60
"""In fewer cells nothing stands in columns."""
_LEAST_FOR_SECONDS: Final = 44
_LEAST_NAME: Final = 8


def event_line(event: Event, cells: int, today: date) -> Line:
    """One event: when, what, of whom."""
    role = Role.YOU if event.by_you else ROLES[event.happening]
    word = f"{event.happening:{_WORD}} " if cells >= _WIDE_CELLS else f"{event.happening} "
    lead = (*_time(event.at, cells, today), Span(word, role))
    return crop((*lead, *_story(event, cells - width_of(lead))), cells)


def rest_line(rest: Rest, cells: int, today: date) -> Line:
    """So many more: `99,700 more purged by you`."""
    kinds = [(f"{happening}{' by you' if by_you else ''}", count) for (happening, by_you), count in rest.counts.items()]
    kinds.sort(key=lambda kind: -kind[1])
    words = kinds[0][0] if len(kinds) == 1 else ", ".join(f"{number(count)} {kind}" for kind, count in kinds)
    colon = "" if len(kinds) == 1 else ":"
    more = Span(f"{number(rest.counts.total())} more{colon} ")
    return crop((*_time(rest.at, cells, today), more, Span(words, Role.DIM)), cells)


def gap_line(gap: Gap, cells: int, today: date) -> Line:
    """How long nothing was seen."""
    word = f"{_UNSEEN:{_WORD}} " if cells >= _WIDE_CELLS else f"{_UNSEEN} "
    line = (*_time(gap.at, cells, today), Span(word, Role.EXPIRING), _dim(f"until {clock_time(gap.until, gap.at)}"))
    whole = (*line, _dim(": the database did not answer"))
    return crop(whole if width_of(whole) <= cells else line, cells)


def _time(at: datetime, cells: int, today: date) -> Line:
    """The time of an event of today, the day of another."""
    shown = f"{at:%H:%M:%S}" if at.date() == today else f"{at:%m-%d}   "
    if cells < _LEAST_FOR_SECONDS:
        return (Span(shown[:5], Role.FAINT), blanks(1))
    is_wide = cells >= _WIDE_CELLS
    return (blanks(2 if is_wide else 1), Span(shown, Role.FAINT), blanks(2 if is_wide else 1))


def _story(event: Event, room: int) -> Line:
    """All of it if there is room, else in short; then the resource gives way."""
    resource = clean(event.lock.resource)
    long = _parties(event, in_full=True) + ((_more(event),) if _more(event).text else ())
    if width(resource) + width_of(long) <= room:
        return (*_resource(event.lock), *long)
    short = _parties(event, in_full=False)
    if width(resource) + width_of(short) <= room:
        return (*_resource(event.lock), *short)
    return (Span(fit(resource, max(_LEAST_NAME, room - width_of(short), room // 2))), *short)


def _resource(lock: Lock) -> Line:
    return (Span(f"{clean(lock.resource_type)}/", Role.DIM), Span(clean(lock.resource_id)))


def _parties(event: Event, *, in_full: bool) -> Line:
    """Who had it, who has it now."""
    owner = _owner(event.lock, in_full=in_full)
    match event.happening:
        case Happening.GRANTED:
            return (_dim(" to "), *owner)
        case Happening.TAKEN_OVER if event.successor is not None:
            successor = _owner(event.successor, in_full=in_full)
            if event.successor.owner_id == event.lock.owner_id:
                return (_dim(" anew by "), *successor)
            return (*((_dim(" from "), *owner) if in_full else ()), _dim(" by "), *successor)
        case _ if event.by_you:
            return (_dim(" by "), Span("you", Role.YOU))
        case Happening.RENEWED:
            return (_dim(" by "), *owner)
        case _:
            return (_dim(" of "), *owner)


def _more(event: Event) -> Span:
    """What else is worth knowing; it goes first."""
    lock = event.lock
    if event.by_you:
        then = f", then to {clean(event.successor.owner_id)}" if event.successor else ""
        was = "is" if event.happening is Happening.RENEWED else "was"
        return _dim(f" ({was} {clean(lock.owner_id)}, fence {lock.id}){then}")
    match event.happening:
        case Happening.EXPIRED if event.ttl_seconds:
            return _dim(f": not renewed for {ttl_text(event.ttl_seconds)}")
        case Happening.RELEASED | Happening.PURGED if lock.is_readable:
            left = lock.remaining(event.at)
            return _dim(f", {brief(abs(left))} {'before' if left > 0 else 'after'} its expiry")
        case Happening.GONE if lock.expires_at is not None:
            return _dim(f", before its expiry at {clock_time(lock.expires_at, event.at)} or after it")
        case Happening.CHANGED if lock.expires_at is not None:
            return _dim(f": its expiry is {clock_time(lock.expires_at, event.at)} now")
        case Happening.CHANGED:
            return _dim(f": its expiry is {clean(lock.expires_text)!r} now, which cannot be read")
        case _:
            return Span("")


def _owner(lock: Lock, *, in_full: bool) -> Line:
    """An owner, or only its name where it has one."""
    owner = clean(lock.owner_id)
    name = clean(name_of(lock.owner_id))
    return (Span(name), _dim(owner.removeprefix(name))) if in_full else (Span(name),)


def _dim(text: str) -> Span:
    return Span(text, Role.DIM)
