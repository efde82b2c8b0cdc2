"""The last two lines: what is wrong, if anything, and which keys do what."""

from __future__ import annotations

from typing import Final

from lockwatch.tui.keys import COMMANDS
from lockwatch.tui.rules import rule
from lockwatch.tui.scene import Scene
from lockwatch.tui.spans import Line, Role, Span, blanks, width_of

_SHOWN: Final = tuple((command.shown.split()[0], command.hint, command.writes) for command in COMMANDS if command.hint)
_LEAVE_OUT: Final = ("o", "l", "t", "s", "z", "enter", "space", "n", "/", "p", "r", "?")
"""Which hints go first where there is no room for all."""
_SHORT_CELLS: Final = 60
"""In fewer cells one word for each key is enough."""
_TYPING: Final = (("enter", "keep", False), ("esc", "clear", False))


def status(scene: Scene, cells: int) -> Line:
    """A rule; with the reason while nothing can be done."""
    refusal = scene.refusal() if scene.freshness.failure or scene.freshness.polled is not None else None
    return rule(refusal or "", cells, Role.STALE if scene.freshness.failure else Role.EXPIRING)


def hints(scene: Scene, cells: int, *, typing: bool = False) -> Line:
    """The keys. Those that are refused now are faint."""
    keys = list(_TYPING if typing else _SHOWN)
    if cells < _SHORT_CELLS:
        keys = [(key, what.split()[0], writes) for key, what, writes in keys]
    left_out = list(_LEAVE_OUT)
    refused = scene.refusal() is not None
    while width_of(line := _line(keys, refused)) > cells and left_out:
        gone = left_out.pop(0)
        keys = [key for key in keys if key[0] != gone]
    return line


def _line(keys: list[tuple[str, str, bool]], refused: bool) -> Line:
    spans: list[Span] = [blanks(1)]
    for key, what, writes in keys:
        dead = refused and writes
        spans += [
            Span(key, Role.FAINT if dead else Role.KEY, strong=not dead),
            Span(f" {what}", Role.FAINT if dead else Role.DIM),
            blanks(2),
        ]
    return tuple(spans[:-1])
