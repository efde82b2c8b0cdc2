"""What goes to the terminal when a few cells of the screen change: those cells, and as little as it takes to get there.

Textual writes a line anew from the start of its widget up to the last cell that changed, and every style in full.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from rich.color import ColorSystem
from rich.console import COLOR_SYSTEMS, Console, RenderableType
from rich.style import Style
from textual._compositor import ChopsUpdate
from textual.app import App
from textual.screen import Screen
from textual.strip import Strip

_PLAIN: Final = Style()
_ATTRIBUTES: Final = ("bold", "dim", "italic", "underline", "blink", "blink2", "reverse", "conceal", "strike",
                      "underline2", "frame", "encircle", "overline", "link")  # fmt: skip
_DEFAULTS: Final = (("39",), ("49",))
"""What a terminal takes for its own colours, of texts and of grounds."""


class SparingApp(App[None]):
    """An app that writes only the cells that changed."""

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        if isinstance(renderable, ChopsUpdate):
            renderable = SparingUpdate(renderable.chops, renderable.spans, renderable.chop_ends)
        super()._display(screen, renderable)


class SparingUpdate(ChopsUpdate):
    """A part of the screen that is to be painted again, from its first to its last cell."""

    def render_segments(self, console: Console) -> str:
        """What to write: jumps, changes of the style, and texts."""
        system = COLOR_SYSTEMS[console.color_system or "truecolor"]
        pieces: list[str] = []
        style, at = _PLAIN, (-1, -1)
        for y, x, strip in self._parts():
            pieces.append(_jump(at, (y, x)))
            for text, its_style, _control in strip:
                wanted = its_style or _PLAIN
                if wanted is not style:
                    pieces.append(transition(style, wanted, system))
                    style = wanted
                pieces.append(text)
            at = y, x + strip.cell_length
        return "".join((*pieces, transition(style, _PLAIN, system)))

    def _parts(self) -> Iterator[tuple[int, int, Strip]]:
        """Line, first cell, and what is to stand there."""
        for y, left, right in self.spans:
            for end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                if strip is not None and x < right and end > left:
                    start = max(left, x)
                    yield y, start, strip.crop(start - x, min(end, right) - x)


def _jump(at: tuple[int, int], to: tuple[int, int]) -> str:
    """Move the terminal's cursor: line and cell, from 0."""
    if at == to:
        return ""
    return f"\x1b[{to[1] - at[1]}C" if at[0] == to[0] and to[1] > at[1] else f"\x1b[{to[0] + 1};{to[1] + 1}H"


@lru_cache(maxsize=4096)
def transition(before: Style, after: Style, system: ColorSystem) -> str:
    """What makes a terminal go on in another style: the colours that differ, if nothing else does."""
    if before == after:
        return ""
    if _attributes(before) != _attributes(after):
        codes = ["0", *filter(None, (Strip.render_ansi(after.copy(), system),))]
    else:
        codes = [
            code
            for old, new in zip(_colours(before, system), _colours(after, system), strict=True)
            if old != new
            for code in new
        ]
    return f"\x1b[{';'.join(codes)}m" if codes else ""


def _attributes(style: Style) -> tuple[bool, ...]:
    return tuple(bool(getattr(style, name)) for name in _ATTRIBUTES)


def _colours(style: Style, system: ColorSystem) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The codes of the text's colour and of the ground's."""
    text, ground = style.color, style.bgcolor
    return (
        _DEFAULTS[0] if text is None else text.downgrade(system).get_ansi_codes(),
        _DEFAULTS[1] if ground is None else ground.downgrade(system).get_ansi_codes(foreground=False),
    )
