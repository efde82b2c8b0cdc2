"""The frame of a dialog, which a small screen has no room for."""

from __future__ import annotations

from typing import Final

from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen

LEAST_FRAMED: Final = 44
"""A screen with fewer columns has no room for a frame."""
_WIDEST: Final = 76


def frame(screen: Screen[None], dialog: Vertical, title: str, *, is_framed: bool) -> int:
    """Give a dialog its frame and title, or take them: the cells inside."""
    screen.set_class(not is_framed, "bare")
    dialog.border_title = Content(title) if is_framed else None
    outer = min(_WIDEST, screen.size.width)
    dialog.styles.width = outer
    return max(1, outer - (7 if is_framed else 1))
