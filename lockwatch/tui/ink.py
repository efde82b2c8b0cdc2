"""A line of spans as texts in styles, whole or a part of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from lockwatch.cells import width
from lockwatch.tui.palette import Palette
from lockwatch.tui.spans import Line

Piece: TypeAlias = tuple[str, Style]


@lru_cache(maxsize=512)
def strip_of(palette: Palette, line: Line, is_lit: bool, cells: int) -> Strip:
    """A line as Textual takes it, filled up to its width."""
    return Strip([Segment(*piece) for piece in pieces(palette, line, is_lit, (0, cells))], cells)


def pieces(palette: Palette, line: Line, is_lit: bool, place: tuple[int, int]) -> list[Piece]:
    """What stands from the first cell of a place to before its last, in as few styles as show the same."""
    inked: list[Piece] = []
    for text, style in _texts(palette, line, is_lit, place):
        if inked and (style is inked[-1][1] or (text.isspace() and _is_seen_alike(style, inked[-1][1]))):
            inked[-1] = inked[-1][0] + text, inked[-1][1]
        else:
            inked.append((text, style))
    return inked


def _texts(palette: Palette, line: Line, is_lit: bool, place: tuple[int, int]) -> Iterator[Piece]:
    at, (left, right) = 0, place
    for span in line:
        cells = width(span.text)
        start, end = max(left - at, 0), min(right - at, cells)
        if start < end:
            text = span.text if end - start == cells else _cut(span.text, start, end)
            yield text, palette.style_of(span, under_cursor=is_lit)
        at += cells
    if at < right:
        yield " " * (right - max(at, left)), palette.ground(under_cursor=is_lit)


def _cut(text: str, start: int, end: int) -> str:
    """The cells of a text from `start` on to before `end`; of a wide character that is halved, a blank is left."""
    return text[start:end] if text.isascii() else Strip([Segment(text)]).crop(start, end).text


def _is_seen_alike(style: Style, other: Style) -> bool:
    """Whether blanks look the same in both, so that they need no change of the style."""
    return style.bgcolor == other.bgcolor and not style.reverse and not other.reverse
