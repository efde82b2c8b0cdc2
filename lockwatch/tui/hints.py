"""The last two lines: what is wrong, if anything, and which keys do what."""

from __future__ import annotations

from typing import Final

from lockwatch.tui.detail import rule
from lockwatch.tui.scene import Scene
from lockwatch.tui.spans import Line, Role, Span, blanks, width_of

_ACTIONS: Final = ("r", "n", "p")
_KEYS: Final = (
    ("r", "release"),
    ("n", "renew"),
    ("p", "purge stale"),
    ("/", "filter"),
    ("enter", "detail"),
    ("?", "help"),
    ("q", "quit"),
)
_LEAVE_OUT: Final = ("enter", "n", "/", "p", "r", "?")
"""Which hints go first where there is no room for all."""
_SHORT_CELLS: Final = 60
"""In fewer cells one word for each key is enough."""
_TYPING: Final = (("enter", "keep"), ("esc", "clear"))


def status(scene: Scene, cells: int) -> Line:
    """A rule; with the reason while there is no link."""
    refusal = scene.refusal() if scene.freshness.failure or scene.freshness.polled is not None else None
    return rule(refusal or "", cells, Role.STALE)


def hints(scene: Scene, cells: int, *, typing: bool = False) -> Line:
    """The keys. Those that are refused now are faint."""
    keys = list(_TYPING if typing else _KEYS)
    if cells < _SHORT_CELLS:
        keys = [(key, what.split()[0]) for key, what in keys]
    left_out = list(_LEAVE_OUT)
    refused = scene.refusal() is not None
    while width_of(line := _line(keys, refused)) > cells and left_out:
        gone = left_out.pop(0)
        keys = [key for key in keys if key[0] != gone]
    return line


def _line(keys: list[tuple[str, str]], refused: bool) -> Line:
    spans: list[Span] = [blanks(1)]
    for key, what in keys:
        dead = refused and key in _ACTIONS
        spans += [
            Span(key, Role.FAINT if dead else Role.KEY, strong=not dead),
            Span(f" {what}", Role.FAINT if dead else Role.DIM),
            blanks(2),
        ]
    return tuple(spans[:-1])
