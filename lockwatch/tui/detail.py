"""All that is known of the lease under the cursor."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Final

from lockwatch.cells import fit, width
from lockwatch.core.model import MAX_NAME_LENGTH, Lock
from lockwatch.core.text import clean, shorten
from lockwatch.tui.owners import process_of
from lockwatch.tui.rows import GLYPHS, ROLES
from lockwatch.tui.rules import rule
from lockwatch.tui.scene import Scene
from lockwatch.tui.spans import BLANK, Line, Role, Span, blanks, crop, flow, width_of, wrap
from lockwatch.tui.ttl import ttl_text
from lockwatch.tui.wish import Standing
from lockwatch.tui.words import ago, clock_time, how_it_went, since, time_left, times

if TYPE_CHECKING:
    from lockwatch.plans.model import Plan

MOST_LINES: Final = 9
"""How many lines the pane takes at most, its title too."""
_LABEL: Final = 10
"""Cells of the labels of the screen."""
_LEAST_FOR_LABELS: Final = 30
"""On a screen with fewer cells each label has a line of its own."""


def detail(scene: Scene, cells: int) -> list[Line]:
    """Title and facts, in as few lines as they need: for the pane below the table."""
    lock, now = scene.board.selected, scene.now()
    if lock is None or now is None:
        return [rule("", cells), *[BLANK] * (_least_lines(scene, cells) - 1)]
    room = max(1, cells - 2)
    names = _whole_names(lock, room)
    groups = _facts(scene, lock, now, room, in_full=bool(names))
    facts = [line for group in groups for line in flow(group, room)]
    lines = [*names, *facts, *_plan(scene.plan(), room)][: MOST_LINES - 1]
    lines += [BLANK] * (_least_lines(scene, cells) - 1 - len(lines))
    return [rule(clean(lock.resource), cells), *(crop((blanks(2), *line), cells) for line in lines)]


def full_detail(scene: Scene, cells: int) -> list[Line]:
    """Every fact on lines of its own, nothing of it cut off: for a screen."""
    lock, now = scene.board.selected, scene.now()
    if lock is None or now is None:
        return [(blanks(2), Span("no lock is under the cursor", Role.FAINT))]
    lines: list[Line] = []
    for label, fact in _all(scene, lock, now):
        lines += _entry(label, fact, cells) if cells >= _LEAST_FOR_LABELS else _narrow_entry(label, fact, cells)
    return lines


def _entry(label: str, fact: Span, cells: int) -> list[Line]:
    first, *more = wrap(fact.text, cells - _LABEL - 3)
    line = (blanks(2), Span(f"{label:{_LABEL}} ", Role.DIM), fact._replace(text=first))
    return [line, *((blanks(_LABEL + 3), fact._replace(text=piece)) for piece in more)]


def _narrow_entry(label: str, fact: Span, cells: int) -> list[Line]:
    above = [crop((Span(label, Role.DIM),), cells)] if label else []
    return [*above, *(crop((fact._replace(text=piece),), cells) for piece in wrap(fact.text, max(2, cells)))]


def _least_lines(scene: Scene, cells: int) -> int:
    """So many that the pane seldom changes its height."""
    return (4 if cells >= 70 else 5) + scene.has_plans


def _whole_names(lock: Lock, room: int) -> list[Line]:
    """Resource and owner on lines of their own, if they are too long for one."""
    lines: list[Line] = []
    for label, name in (("resource", clean(lock.resource)), ("owner", clean(lock.owner_id))):
        if width(name) + len(label) + 1 > room:
            first, *more = wrap(name, max(2, room - 9))
            lines.append((Span(f"{label:9}", Role.DIM), Span(first)))
            lines += [(blanks(9), Span(piece)) for piece in more]
    return lines


def _facts(scene: Scene, lock: Lock, now: datetime, room: int, *, in_full: bool) -> list[list[Line]]:
    """Who; when; and how it went on: each group begins a line."""
    ghost = scene.board.ghost(lock)
    ttl = scene.board.lives.ttl(lock)
    owner = [] if in_full else [_fact(label, Span(part)) for label, part in _owner(lock)]
    who = [*owner, _fact("fence", Span(str(lock.id)))]
    if ghost is not None:
        return [who, [(Span(how_it_went(ghost, now), slanted=True),)]]
    when = [*(_fact(label, fact) for label, fact in _times(lock, now)), _fact("ttl", Span(str(ttl or "unknown")))]
    late = [Span(words, Role.LATE) for words in _late(scene, lock, now)]
    renewed = [_fact("renewed", Span(words)) for words in _renewed(scene, lock, now, rhythm=not late)]
    return [who, when, [_fitting(renewed, room), *([_fitting([(span,) for span in late], room)] if late else [])]]


def _fitting(choices: list[Line], room: int) -> Line:
    """The first that fits, else the last."""
    return next((line for line in choices if width_of(line) <= room), choices[-1])


def _owner(lock: Lock) -> Iterator[tuple[str, str]]:
    """Name, host and process where the id has the form of one, else as it is."""
    process = process_of(lock.owner_id)
    if process is None:
        yield "owner", clean(lock.owner_id)
        return
    for label, part in (("owner", process.name), ("host", process.host), ("pid", process.pid), ("rest", process.rest)):
        if part:
            yield label, clean(part)


def _all(scene: Scene, lock: Lock, now: datetime) -> Iterator[tuple[str, Span]]:
    """Every fact with its label."""
    yield "resource", Span(clean(lock.resource), strong=True)
    yield "owner", Span(clean(lock.owner_id))
    if process_of(lock.owner_id) is not None:
        yield from ((label.replace("owner", "name"), Span(part)) for label, part in _owner(lock))
    yield "fence", Span(str(lock.id))
    yield from _times(lock, now)
    yield "ttl", Span(str(scene.board.lives.ttl(lock) or "unknown"))
    yield "renewed", Span(_renewed(scene, lock, now, rhythm=True)[0])
    yield from _fate(scene, lock, now)
    plan = scene.plan()
    if plan is not None:
        yield "plan", Span(f"{clean(shorten(plan.name, MAX_NAME_LENGTH))}{_stage(plan)}")


def _fate(scene: Scene, lock: Lock, now: datetime) -> Iterator[tuple[str, Span]]:
    """How it stands; or how it went, and who has the resource since."""
    ghost = scene.board.ghost(lock)
    if ghost is None:
        standing = scene.board.standing(lock, now)
        yield "state", Span(f"{GLYPHS[standing]} {standing.upper()}", ROLES[standing])
        yield from (("", Span(words, Role.LATE)) for words in _late(scene, lock, now)[:1])
        return
    yield "went", Span(how_it_went(ghost, now), slanted=True)
    if (holder := ghost.successor) is not None:
        held = f", for {since(holder.acquired_at, now)}" if holder.acquired_at else ""
        yield "holder now", Span(f"{clean(holder.owner_id)}, fence {holder.id}{held}")


def _plan(plan: Plan | None, room: int) -> list[Line]:
    """Its name, phase and state. The name gives way."""
    if plan is None:
        return []
    label, stage = f"{'plan':8}", _stage(plan)
    name = fit(clean(shorten(plan.name, MAX_NAME_LENGTH)), max(1, room - len(label) - len(stage)))
    return [crop((Span(label, Role.DIM), Span(name), Span(stage)), room)]


def _stage(plan: Plan) -> str:
    return f" · {plan.phase} · {plan.state}"


def _times(lock: Lock, now: datetime) -> Iterator[tuple[str, Span]]:
    if lock.acquired_at is not None:
        yield "acquired", Span(f"{clock_time(lock.acquired_at, now)} ({ago(lock.acquired_at, now)})")
    if lock.expires_at is not None:
        yield "expires", Span(f"{clock_time(lock.expires_at, now)} ({time_left(lock, now)})")
    else:
        yield "expires", Span(f"{clean(lock.expires_text)!r}: cannot be read, so it never expires")


def _renewed(scene: Scene, lock: Lock, now: datetime, *, rhythm: bool) -> list[str]:
    """When last, by whom, how often, and after which time usually; the same in shorter words."""
    lives = scene.board.lives
    renewal = lives.last(lock)
    if renewal is None:
        ttl = lives.ttl(lock)
        return ["not yet"] if ttl and ttl.is_exact else ["not since this dashboard began", "not since the start"]
    last = f"{ago(renewal.seen_at, now)}{' by you' if lives.is_ours(lock) else ''}"
    usual = f", every ~{ttl_text(renewal.usual_seconds)}" if rhythm and renewal.usual_seconds else ""
    often = times(renewal.count)
    return [f"{last}, {often} since this dashboard began{usual}", f"{last}, {often}{usual}", f"{last}, {often}"]


def _late(scene: Scene, lock: Lock, now: datetime) -> list[str]:
    """That its holder is late, and by what that is told; the same in shorter words. Empty: it is not."""
    renewal = scene.board.lives.last(lock)
    if renewal is None or scene.board.standing(lock, now) is not Standing.LATE:
        return []
    if renewal.holder_seen_at is None or renewal.usual_seconds is None:
        return []
    last = "the last renewal" if renewal.holder_seen_at == renewal.seen_at else "its holder's last renewal"
    usual = f"usually every {ttl_text(renewal.usual_seconds)}"
    late = f"late: {since(renewal.holder_seen_at, now)}"
    return [f"{late} since {last}, {usual}", f"{late}, {usual}"]


def _fact(label: str, value: Span) -> Line:
    return (Span(f"{label} ", Role.DIM), value)
