"""What the help says."""

from __future__ import annotations

from typing import Final

from lockwatch.core.state import LockState
from lockwatch.tui.rows import GHOST, GLYPHS, ROLES
from lockwatch.tui.spans import BLANK, Line, Role, Span, blanks, wrap

_KEYS: Final = (
    ("r", "release the lease under the cursor"),
    ("n", "renew it"),
    ("p", "purge the stale locks that match the filter"),
    ("/", "filter by words in resource and owner; enter keeps, esc clears"),
    ("enter", "show or hide the detail"),
    ("j k ↓ ↑", "next, previous lock"),
    ("g G", "first, last lock"),
    ("PgUp PgDn", "a screen up, down"),
    ("ctrl+r", "poll now"),
    ("ctrl+l", "repaint"),
    ("esc", "back; clear the filter"),
    ("q ctrl+c", "quit"),
)
_STATES: Final = (
    (LockState.HELD, "a live lease"),
    (LockState.EXPIRING, "a quarter of its TTL or less is left, or 10 s where the TTL is unknown"),
    (LockState.STALE, "its time is up and nobody has cleared it: whoever wants the lock may take it"),
    (LockState.UNREADABLE, "its expiry cannot be read: it never expires, and only a person may remove it"),
)
_NOTES: Final = (
    "In a dialog only y does what is lit, and only esc and q leave; keys count after 0.3 s without any.",
    "TTL: 60s is exact, ~60s is told from renewals that were seen, – is unknown.",
    "LEFT and HELD go by the clock that judges the locks.",
)


def help_lines(cells: int) -> list[Line]:
    """Keys, states, and how to read the rest."""
    lines: list[Line] = []
    for key, what in _KEYS:
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
