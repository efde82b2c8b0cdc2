"""The colours. One accent, for keys and the cursor; the others say state and nothing else."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from rich.style import Style
from textual.theme import Theme

from lockwatch.tui.spans import Role, Span

_BACKGROUND: Final = "#0f1216"
_CURSOR: Final = "#1e2a3a"
_COLOURS: Final = {
    Role.TEXT: "#c8ccd4",
    Role.DIM: "#7d8590",
    Role.FAINT: "#4b525c",
    Role.RULE: "#2b3038",
    Role.KEY: "#79b8ff",
    Role.HELD: "#6cc28a",
    Role.EXPIRING: "#e3b341",
    Role.STALE: "#f2686d",
    Role.UNREADABLE: "#e88e5a",
    Role.ALARM: _BACKGROUND,
}

THEME: Final = Theme(
    name="lockwatch",
    primary=_COLOURS[Role.KEY],
    accent=_COLOURS[Role.KEY],
    foreground=_COLOURS[Role.TEXT],
    background=_BACKGROUND,
    surface=_BACKGROUND,
    panel="#1a1f26",
    success=_COLOURS[Role.HELD],
    warning=_COLOURS[Role.EXPIRING],
    error=_COLOURS[Role.STALE],
    dark=True,
    variables={
        "scrollbar": "#2b3038",
        "scrollbar-hover": "#4b525c",
        "scrollbar-active": "#7d8590",
        "scrollbar-background": _BACKGROUND,
        "scrollbar-background-hover": _BACKGROUND,
        "scrollbar-background-active": _BACKGROUND,
        "scrollbar-corner-color": _BACKGROUND,
    },
)


@lru_cache(maxsize=256)
def style(role: Role, strong: bool, slanted: bool, under_cursor: bool) -> Style:
    """How a text of this role looks."""
    ground = _COLOURS[Role.STALE] if role is Role.ALARM else _CURSOR if under_cursor else _BACKGROUND
    return Style(color=_COLOURS[role], bgcolor=ground, bold=strong, italic=slanted, reverse=False)


def style_of(span: Span, *, under_cursor: bool = False) -> Style:
    """How a span looks."""
    return style(span.role, span.strong, span.slanted, under_cursor)


def ground(*, under_cursor: bool = False) -> Style:
    """How a blank looks."""
    return style(Role.TEXT, strong=False, slanted=False, under_cursor=under_cursor)
