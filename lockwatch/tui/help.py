"""What the help says."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from lockwatch.tui.keys import COMMANDS
from lockwatch.tui.rows import GHOST, GLYPHS, ROLES
from lockwatch.tui.spans import BLANK, Line, Role, Span, blanks, wrap
from lockwatch.tui.wish import Standing


class Mode(StrEnum):
    """Where one is, and so which keys one has."""

    WATCHING = "the table"
    DECIDING = "a dialog"
    READING = "a text"


_STATES: Final = (
    (Standing.HELD, "a live lease"),
    (Standing.EXPIRING, "a quarter of its TTL or less is left, or 10 s where the TTL is unknown"),
    (
        Standing.LATE,
        "its holder used to renew every so often, and is overdue by more than half of that: stuck, perhaps",
    ),
    (Standing.STALE, "its time is up and nobody has cleared it: whoever wants the lock may take it"),
    (Standing.UNREADABLE, "its expiry cannot be read: it never expires, and only a person may remove it"),
)
_SCROLLING: Final = (("j k ↓ ↑", "scroll"), ("PgUp PgDn", "a screen"), ("g G", "to the start, to the end"))
_KEYS: Final[dict[Mode, tuple[tuple[str, str], ...]]] = {
    Mode.WATCHING: tuple((command.shown, command.what) for command in COMMANDS),
    Mode.DECIDING: (
        ("y", "do what is lit; it counts only after 0.3 s without any key"),
        ("esc q", "leave all as it is; while it is done: stop after this portion"),
        *_SCROLLING,
        ("?", "this help"),
    ),
    Mode.READING: (*_SCROLLING, ("esc q", "back")),
}
_NOTES: Final = (
    "In a dialog only y does what is lit, and only esc and q leave; keys count after 0.3 s without any.",
    "TTL: 60s is exact, ~60s is told from renewals that were seen, – is unknown.",
    "LEFT and HELD go by the clock that judges the locks.",
)


def help_lines(cells: int, mode: Mode = Mode.WATCHING) -> list[Line]:
    """The keys of where one is, states, and how to read the rest."""
    lines: list[Line] = []
    for key, what in _KEYS[mode]:
        lines += _entry(Span(f"{key:11}", Role.KEY, strong=True), what, cells)
    lines.append(BLANK)
    for state, what in _STATES:
        lines += _entry(Span(f"{GLYPHS[state]} {state.upper():11}", ROLES[state]), what, cells)
    lines += _entry(Span(f"{GHOST} {'':11}", Role.DIM), "a lease that went a moment ago, or under the cursor", cells)
    for note in _NOTES:
        lines += [BLANK, *((Span(piece, Role.DIM),) for piece in wrap(note, cells))]
    return lines


def _entry(label: Span, what: str, cells: int) -> list[Line]:
    indent = len(label.text)
    first, *more = wrap(what, max(8, cells - indent))
    return [(label, Span(first)), *((blanks(indent), Span(piece)) for piece in more)]
