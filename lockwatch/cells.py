"""Text in a terminal's cells: a character may take none, one or two of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from rich.cells import cell_len, set_cell_size

GAP: Final = "  "
"""What parts two columns."""


def width(text: str) -> int:
    """How many cells a text takes."""
    return len(text) if text.isascii() else cell_len(text)


def fit(text: str, cells: int) -> str:
    """`text` in at most `cells` cells, cut in the middle: both ends tell names apart."""
    if width(text) <= cells:
        return text
    if cells < 1:
        return ""
    head = (cells - 1) // 2
    tail = cells - 1 - head
    return f"{_left(text, head)}…{_left(text[::-1], tail)[::-1]}"


def pad(text: str, cells: int, *, right: bool = False) -> str:
    """`text` in exactly `cells` cells: cut in the middle if longer, else filled up, on the left if `right`."""
    if text.isascii() and len(text) <= cells:
        return text.rjust(cells) if right else text.ljust(cells)
    fitted = fit(text, cells)
    blanks = " " * (cells - width(fitted))
    return blanks + fitted if right else fitted + blanks


def line_width(columns: Collection[int]) -> int:
    """How many cells a line of columns that wide takes."""
    return sum(columns) + len(GAP) * (len(columns) - 1)


def _left(text: str, cells: int) -> str:
    """As much of the start of `text` as fits; a wide character that would be halved is left out."""
    return set_cell_size(text, cells).rstrip() if cell_len(text) > cells else text
