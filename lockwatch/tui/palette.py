"""What a text looks like from what it is: a style for each role, on the ground and under the cursor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from rich.color import Color
from rich.style import Style

from lockwatch.tui.spans import LABELS, Role, Span

_BLANK: Final = Span(" ")
_GROUNDED: Final = frozenset({Role.ALARM, *LABELS.values()})
"""Roles that have a ground of their own, which the cursor leaves as it is."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Palette:
    """The look of every role; `lit` is laid over what stands under the cursor."""

    inks: Mapping[Role, Style]
    lit: Style
    _styles: dict[tuple[object, ...], Style] = field(default_factory=dict, init=False, repr=False)

    def style_of(self, span: Span, *, under_cursor: bool = False) -> Style:
        """How a span looks. Never like nothing at all: Textual's filters want a style for every text."""
        key = (*span[1:], under_cursor)
        style = self._styles.get(key)
        if style is None:
            style = self._styles[key] = self._made(span, under_cursor)
        return style

    def ground(self, *, under_cursor: bool = False) -> Style:
        """How a blank looks."""
        return self.style_of(_BLANK, under_cursor=under_cursor)

    def _made(self, span: Span, under_cursor: bool) -> Style:
        style = self.inks[span.role]
        if under_cursor and span.role not in _GROUNDED:
            style += self.lit
        return style + Style(bold=span.strong or style.bold, italic=span.slanted)


def coloured(colours: Mapping[Role, str], labels: Mapping[str, str], *, background: str, cursor: str) -> Palette:
    """A palette of colours: `#rrggbb` by role and by a label's colour, on a background and a cursor line."""
    inks = {role: Style(color=colour, bgcolor=background) for role, colour in colours.items()}
    inks[Role.ALARM] = _on(colours[Role.STALE])
    inks |= {LABELS[name]: _on(colour) for name, colour in labels.items()}
    return Palette(inks=inks, lit=Style(bgcolor=cursor))


def _sixteen() -> Palette:
    """What the terminal's own 16 colours have to offer, whatever its owner made of them."""
    plain, dim = Style(color="default", bgcolor="default"), Style(color="default", bgcolor="default", dim=True)
    named = {
        Role.KEY: "cyan",
        Role.HELD: "green",
        Role.EXPIRING: "yellow",
        Role.STALE: "red",
        Role.UNREADABLE: "bright_red",
        Role.LATE: "magenta",
        Role.YOU: "cyan",
    }
    inks = {Role.TEXT: plain, Role.DIM: dim, Role.FAINT: dim, Role.RULE: dim}
    inks |= {role: plain + Style(color=colour) for role, colour in named.items()}
    inks |= {
        Role.ALARM: Style(color="bright_white", bgcolor="red"),
        Role.LABEL_RED: Style(color="bright_white", bgcolor="red"),
        Role.LABEL_ORANGE: Style(color="black", bgcolor="bright_red"),
        Role.LABEL_YELLOW: Style(color="black", bgcolor="yellow"),
        Role.LABEL_GREEN: Style(color="black", bgcolor="green"),
        Role.LABEL_BLUE: Style(color="bright_white", bgcolor="blue"),
        Role.LABEL_PURPLE: Style(color="bright_white", bgcolor="magenta"),
        Role.LABEL_GREY: Style(color="black", bgcolor="white"),
    }
    return Palette(inks=inks, lit=Style(reverse=True, dim=False))


def _colourless() -> Palette:
    """No colour at all: word and glyph tell the state, and what must be seen at once is reversed."""
    plain, reversed_ = Style(bold=False), Style(reverse=True, bold=True)
    return Palette(inks={role: reversed_ if role in _GROUNDED else plain for role in Role}, lit=Style(reverse=True))


def contrast(colour: str, ground: str) -> float:
    """How well one colour can be read on another, from 1 to 21, as WCAG 2 has it."""
    darker, lighter = sorted((_luminance(colour), _luminance(ground)))
    return (lighter + 0.05) / (darker + 0.05)


def readable(colour: str, ground: str, ratio: float) -> str:
    """The colour, moved to black or white as far as it takes to be read on that ground at a contrast of `ratio`."""
    end = max("#000000", "#ffffff", key=lambda extreme: contrast(extreme, ground))
    steps = (mixed(colour, end, step / 20) for step in range(21))
    return next((moved for moved in steps if contrast(moved, ground) >= ratio), end)


def mixed(colour: str, other: str, share: float) -> str:
    """A colour with this share (0 to 1) of another."""
    pairs = zip(_channels(colour), _channels(other), strict=True)
    return "#" + "".join(f"{round(one + (two - one) * share):02x}" for one, two in pairs)


def _on(ground: str) -> Style:
    """Black or white, whichever is read better, on a ground."""
    text = max("#0c0e11", "#ffffff", key=lambda colour: contrast(colour, ground))
    return Style(color=text, bgcolor=ground)


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(channel / 255) for channel in _channels(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else float(((channel + 0.055) / 1.055) ** 2.4)


def _channels(colour: str) -> tuple[int, int, int]:
    return Color.parse(colour).get_truecolor()


SIXTEEN: Final = _sixteen()
"""The terminal's own colours."""
COLOURLESS: Final = _colourless()
"""For who wants none."""
