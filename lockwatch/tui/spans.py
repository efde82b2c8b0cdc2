"""Lines of coloured text, as plain data: what the screen shows can be told without a terminal.

A colour never says anything alone: it only repeats what a word or a glyph says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import lru_cache
from itertools import zip_longest
from typing import Final, NamedTuple, TypeAlias

from lockwatch.cells import fit, width


class Role(StrEnum):
    """What a text is, from which its colour follows."""

    __hash__ = str.__hash__  # an Enum's own is slow, and a role is looked up for every span of a line

    TEXT = "text"
    DIM = "dim"
    FAINT = "faint"
    RULE = "rule"
    KEY = "key"
    HELD = "held"
    EXPIRING = "expiring"
    STALE = "stale"
    UNREADABLE = "unreadable"
    LATE = "late"
    YOU = "you"
    ALARM = "alarm"
    LABEL_RED = "label red"
    LABEL_ORANGE = "label orange"
    LABEL_YELLOW = "label yellow"
    LABEL_GREEN = "label green"
    LABEL_BLUE = "label blue"
    LABEL_PURPLE = "label purple"
    LABEL_GREY = "label grey"


LABELS: Final = {role.removeprefix("label "): role for role in Role if role.startswith("label ")}
"""What a database's label looks like, by the name of its colour."""


class Span(NamedTuple):
    """A piece of a line. Its text is clean."""

    text: str
    role: Role = Role.TEXT
    strong: bool = False
    slanted: bool = False


Line: TypeAlias = tuple[Span, ...]
BLANK: Line = ()
_QUIET = (Role.FAINT, Role.RULE)
_END: Final = Span("")
_SKIPPED: Final = 5
"""So many cells cost a terminal as much as the jump over them."""


@lru_cache(maxsize=256)
def blanks(cells: int) -> Span:
    """So many blanks."""
    return Span(" " * max(0, cells))


def width_of(line: Iterable[Span]) -> int:
    """How many cells a line takes."""
    return sum([width(span.text) for span in line])


def crop(line: Line, cells: int) -> Line:
    """As much of a line as fits; the span that does not is cut in its middle."""
    if width_of(line) <= cells:
        return line
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


def differences(before: Line, after: Line, cells: int) -> list[tuple[int, int]]:
    """From which cell to before which cell two lines differ, on a screen that is `cells` wide: each such place.

    Places with less between them than it costs a terminal to skip are one.
    """
    places: list[tuple[int, int]] = []
    for left, right in _apart(before, after, cells):
        if places and left - places[-1][1] < _SKIPPED:
            places[-1] = places[-1][0], right
        elif left < right:
            places.append((left, right))
    return places


def _apart(before: Line, after: Line, cells: int) -> Iterator[tuple[int, int]]:
    """Where spans differ, as long as they take the same cells in both lines; then all that is left of the screen."""
    at = 0
    for old, new in zip_longest(before, after, fillvalue=_END):
        taken = width(new.text)
        if old != new:
            if width(old.text) != taken:
                yield at, cells
                return
            left, right = _unlike(old, new) if old[1:] == new[1:] else (0, taken)
            yield at + left, min(at + right, cells)
        at += taken


def _unlike(old: Span, new: Span) -> tuple[int, int]:
    """From which cell to before which cell two spans of one style and one width differ."""
    left, right = 0, width(new.text)
    if old.text.isascii() and new.text.isascii():
        while left < right and old.text[left] == new.text[left]:
            left += 1
        while right > left and old.text[right - 1] == new.text[right - 1]:
            right -= 1
    return left, right


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
