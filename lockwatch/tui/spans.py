"""Lines of coloured text, as plain data: what the screen shows can be told without a terminal.

A colour never says anything alone: it only repeats what a word or a glyph says.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from itertools import takewhile
from typing import NamedTuple, TypeAlias

from lockwatch.cells import fit, width


class Role(StrEnum):
    """What a text is, from which its colour follows."""

    TEXT = "text"
    DIM = "dim"
    FAINT = "faint"
    RULE = "rule"
    KEY = "key"
    HELD = "held"
    EXPIRING = "expiring"
    STALE = "stale"
    UNREADABLE = "unreadable"
    ALARM = "alarm"


class Span(NamedTuple):
    """A piece of a line. Its text is clean."""

    text: str
    role: Role = Role.TEXT
    strong: bool = False
    slanted: bool = False


Line: TypeAlias = tuple[Span, ...]
BLANK: Line = ()
_QUIET = (Role.FAINT, Role.RULE)


def blanks(cells: int) -> Span:
    """So many blanks."""
    return Span(" " * max(0, cells))


def width_of(line: Iterable[Span]) -> int:
    """How many cells a line takes."""
    return sum(width(span.text) for span in line)


def crop(line: Line, cells: int) -> Line:
    """As much of a line as fits; the span that does not is cut in its middle."""
    kept: list[Span] = []
    for span in line:
        taken = fit(span.text, cells)
        if taken:
            kept.append(span._replace(text=taken))
        if taken != span.text:
            break
        cells -= width(taken)
    return tuple(kept)


def apart(left: Line, right: Line, cells: int) -> Line:
    """One line at the left, one at the right edge; the left one gives way."""
    right = crop(right, cells)
    room = cells - width_of(right)
    left = crop(left, max(0, room - 1) if right else room)
    return (*left, blanks(room - width_of(left)), *right)


def muted(line: Line) -> Line:
    """A line whose news may be old: nothing in it calls out."""
    return tuple(span._replace(role=Role.FAINT if span.role in _QUIET else Role.DIM, strong=False) for span in line)


def joined(line: Line) -> Line:
    """The same to the eye in fewer spans: a blank looks the same in any colour, and each change of one costs bytes."""
    spans: list[Span] = []
    for span in line:
        if spans and (span.text.isspace() or span[1:] == spans[-1][1:]):
            spans[-1] = spans[-1]._replace(text=spans[-1].text + span.text)
        elif span.text:
            spans.append(span)
    return tuple(spans)


def difference(before: Line, after: Line, cells: int) -> tuple[int, int]:
    """From which cell to before which cell two lines differ, on a screen that is `cells` wide."""
    left = _alike(before, after)
    right = _alike(before[::-1], after[::-1]) if width_of(before) == width_of(after) else 0
    end = width_of(after) if right else cells
    return min(left, cells), max(min(left, cells), min(cells, end - right))


def _alike(some: Line, others: Line) -> int:
    """How many cells two lines have in common from their starts."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(some, others, strict=False))
    return width_of(span for span, _ in same)


def flow(groups: Iterable[Line], cells: int, gap: int = 3) -> list[Line]:
    """Groups of spans, one after the other, on as many lines as they need. Long ones are cut."""
    lines: list[Line] = []
    for group in (crop(group, cells) for group in groups):
        if lines and width_of(lines[-1]) + gap + width_of(group) <= cells:
            lines[-1] = (*lines[-1], blanks(gap), *group)
        else:
            lines.append(group)
    return lines


def wrap(text: str, cells: int) -> list[str]:
    """A text of words on lines of at most so many cells; a word that is longer is broken."""
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if width(joined) <= cells:
            lines[-1] = joined
            continue
        pieces = _broken(word, cells)
        lines[len(lines) if lines[-1] else -1 :] = pieces
    return lines


def _broken(word: str, cells: int) -> list[str]:
    pieces = [""]
    for character in word:
        if width(pieces[-1] + character) > max(cells, 2):
            pieces.append("")
        pieces[-1] += character
    return pieces
