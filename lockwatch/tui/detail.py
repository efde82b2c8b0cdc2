"""All that is known of the lease under the cursor."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from lockwatch.cells import fit, width
from lockwatch.core.model import MAX_NAME_LENGTH, Lock
from lockwatch.core.text import clean, shorten
from lockwatch.plans.model import Plan
from lockwatch.tui.scene import Scene
from lockwatch.tui.spans import BLANK, Line, Role, Span, blanks, crop, flow, wrap
from lockwatch.tui.words import ago, clock_time, how_it_went, time_left, times

MOST_LINES: Final = 9
"""How many lines it takes at most, its title too."""


def detail(scene: Scene, cells: int) -> list[Line]:
    """Title and facts."""
    lock, now = scene.board.selected, scene.now()
    if lock is None or now is None:
        return [rule("", cells), *[BLANK] * (_least_lines(scene, cells) - 1)]
    room = max(1, cells - 2)
    names = _whole_names(lock, room)
    facts = [line for group in _facts(scene, lock, now, in_full=bool(names)) for line in flow(group, room)]
    lines = [*names, *facts, *_plan(scene.plan(), room)][: MOST_LINES - 1]
    lines += [BLANK] * (_least_lines(scene, cells) - 1 - len(lines))
    return [rule(clean(lock.resource), cells), *((blanks(2), *line) for line in lines)]


def _least_lines(scene: Scene, cells: int) -> int:
    """So many that the pane seldom changes its height."""
    return (4 if cells >= 70 else 5) + scene.has_plans


def rule(title: str, cells: int, role: Role = Role.DIM) -> Line:
    """A line across the screen, with a title."""
    shown = fit(title, max(0, cells - 5))
    if not shown:
        return (Span("─" * cells, Role.RULE),)
    line = (Span("─ ", Role.RULE), Span(shown, role, strong=True), Span(" ", Role.RULE))
    return crop((*line, Span("─" * max(0, cells - 3 - width(shown)), Role.RULE)), cells)


def _whole_names(lock: Lock, room: int) -> list[Line]:
    """Resource and owner on lines of their own, if they are too long for one."""
    lines: list[Line] = []
    for label, name in (("resource", clean(lock.resource)), ("owner", clean(lock.owner_id))):
        if width(name) + len(label) + 1 > room:
            first, *more = wrap(name, max(2, room - 9))
            lines.append((Span(f"{label:9}", Role.DIM), Span(first)))
            lines += [(blanks(9), Span(piece)) for piece in more]
    return lines


def _facts(scene: Scene, lock: Lock, now: datetime, *, in_full: bool) -> list[list[Line]]:
    """Who; when; and how it went on: each group begins a line."""
    ghost = scene.board.ghost(lock)
    ttl = scene.board.renewals.ttl(lock)
    who = [*([] if in_full else [_fact("owner", clean(lock.owner_id))]), _fact("fence", str(lock.id))]
    if ghost is not None:
        return [who, [(Span(how_it_went(ghost, now), slanted=True),)]]
    when = [*_times(lock, now), _fact("ttl", str(ttl) if ttl else "unknown")]
    return [who, when, [_fact("renewed", _renewed(scene, lock, now))]]


def _plan(plan: Plan | None, room: int) -> list[Line]:
    """Its name, phase and state. The name gives way."""
    if plan is None:
        return []
    label, stage = f"{'plan':8}", f" · {plan.phase} · {plan.state}"
    name = fit(clean(shorten(plan.name, MAX_NAME_LENGTH)), max(1, room - len(label) - len(stage)))
    return [crop((Span(label, Role.DIM), Span(name), Span(stage)), room)]


def _times(lock: Lock, now: datetime) -> Iterator[Line]:
    if lock.acquired_at is not None:
        yield _fact("acquired", f"{clock_time(lock.acquired_at, now)} ({ago(lock.acquired_at, now)})")
    if lock.expires_at is not None:
        yield _fact("expires", f"{clock_time(lock.expires_at, now)} ({time_left(lock, now)})")
    else:
        yield _fact("expires", f"{clean(lock.expires_text)!r}: cannot be read, so it never expires")


def _renewed(scene: Scene, lock: Lock, now: datetime) -> str:
    renewal = scene.board.renewals.last(lock)
    if renewal is None:
        ttl = scene.board.renewals.ttl(lock)
        return "not yet" if ttl and ttl.is_exact else "not since this dashboard began"
    who = " by you" if scene.board.renewals.is_ours(lock) else ""
    return f"{ago(renewal.seen_at, now)}{who}, {times(renewal.count)} since this dashboard began"


def _fact(label: str, value: str) -> Line:
    return (Span(f"{label} ", Role.DIM), Span(value))
