"""The first two lines: which database, how many locks stand how, how fresh that is, and the filter."""

from __future__ import annotations

from typing import Final

from lockwatch.cells import fit, width
from lockwatch.core.state import LockState
from lockwatch.core.text import duration
from lockwatch.tui.editor import Editor
from lockwatch.tui.freshness import SKEW_SECS, Link
from lockwatch.tui.rows import ROLES
from lockwatch.tui.scene import Scene
from lockwatch.tui.spans import Line, Role, Span, apart, blanks, muted, width_of
from lockwatch.tui.words import plural

_LEAST_NAME: Final = 24
"""So many cells of the name are worth more than counts."""


def header(scene: Scene, cells: int) -> Line:
    """Database, counts and freshness; the counts give way on a narrow screen."""
    freshness = _freshness(scene)
    counts = _counts(scene)
    every: Line = (Span(f" every {_seconds(scene.freshness.every)}", Role.FAINT),)
    least = min(width(scene.name), _LEAST_NAME) + 2
    choices: list[Line] = [
        (*counts, *freshness, *(every if scene.link() is Link.LIVE else ())),
        (*counts, *freshness),
        (*_counts(scene, only_stale=True), *freshness),
        freshness,
        _freshness(scene, short=True),
    ]
    right = next((line for line in choices if width_of(line) + least + 1 <= cells), choices[-1])
    room = cells - width_of(right) - 3
    return apart((blanks(1), *_name(scene.name, room)), (*right, blanks(1)), cells)


def filter_line(scene: Scene, cells: int, editor: Editor | None = None) -> Line:
    """What is listed, and of how many; while it is being typed with its caret."""
    board = scene.board
    shown = f"{board.shown} of {board.total} shown" if board.filter else plural(board.total, "lock")
    right: Line = (Span(shown if board.is_filled else "", Role.DIM, strong=True), blanks(1))
    if editor is not None:
        return apart((blanks(1), Span("/ ", Role.KEY, strong=True), *_typed(editor, cells)), right, cells)
    if board.filter:
        text = fit(board.filter.text, max(1, cells - width_of(right) - 5))
        return apart((blanks(1), Span("/ ", Role.KEY, strong=True), Span(text, strong=True)), right, cells)
    skew = _skew(scene)
    left: Line = (blanks(1), Span("/ ", Role.KEY, strong=True), Span("filter", Role.FAINT, strong=True))
    order = Span("by time left ▲", Role.DIM, strong=True)
    return apart((*left, blanks(3), *(skew or (order,))) if cells >= 60 else left, right, cells)


def _freshness(scene: Scene, *, short: bool = False) -> Line:
    """Whether the data can be believed, and how old it is."""
    age = _seconds(scene.age())
    match scene.link():
        case Link.LIVE:
            return (Span("● live", Role.HELD), Span(f" {age}", Role.DIM))
        case Link.CONNECTING:
            return (Span("○ connecting", Role.EXPIRING), Span(f" {age}", Role.DIM))
        case Link.DISCONNECTED:
            has_data = scene.freshness.polled is not None
            old = f" {age}" if short else f" data {age} old" if has_data else f" for {age}"
            return (Span(" DISCONNECTED ", Role.ALARM, strong=True), Span(old, Role.STALE, strong=True))


def _counts(scene: Scene, *, only_stale: bool = False) -> Line:
    now = scene.now()
    if now is None:
        return ()
    counts = scene.board.counts(now)
    numbers = [(LockState.STALE, counts.stale)]
    if not only_stale:
        numbers = [(LockState.HELD, counts.held), (LockState.EXPIRING, counts.expiring), *numbers]
    if counts.unreadable:
        numbers.append((LockState.UNREADABLE, counts.unreadable))
    line: list[Span] = []
    for state, number in numbers:
        role = ROLES[state] if number else Role.DIM
        line += [Span(str(number), role, strong=True), Span(f" {state}", Role.DIM), blanks(2)]
    return muted(tuple(line)) if scene.link() is Link.DISCONNECTED else tuple(line)


def _name(name: str, room: int) -> Line:
    """If it is a path its folder is dim, and gives way."""
    folder, slash, base = name.rpartition("/")
    if not base:
        return (Span(fit(name, max(0, room)), strong=True),)
    kept = fit(base, max(0, room))
    return (Span(fit(folder + slash, max(0, room - width(kept))), Role.DIM), Span(kept, strong=True))


def _typed(editor: Editor, cells: int) -> Line:
    """The text and its caret: the end of it, if it is too long."""
    before, after = editor.text[: editor.caret], editor.text[editor.caret :]
    while width(before) > max(1, cells - 24):
        before = before[1:]
    return (Span(before, strong=True), Span("▏", Role.KEY, strong=True), Span(after, strong=True))


def _skew(scene: Scene) -> Line:
    skew = scene.freshness.skew
    if abs(skew) < SKEW_SECS:
        return ()
    way = "ahead of" if skew > 0 else "behind"
    return (Span(f"this machine's clock is {duration(round(abs(skew)))} {way} the database's", Role.EXPIRING),)


def _seconds(seconds: float) -> str:
    """Below ten seconds with a tenth, unless that is nothing."""
    return duration(seconds) if seconds >= 10 or seconds == int(seconds) else f"{seconds:.1f}s"
