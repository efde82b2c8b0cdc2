"""What goes to the terminal when a few cells of the screen change: those cells, and as little as it takes to get there.

Textual asks all widgets between the first and the last change for their lines, up to a frame's time later, and writes a
line anew from the start of its widget up to the last cell that changed, every style in full. A widget that knows its
cells can say them itself; what Textual paints afterwards is the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from rich.color import ColorSystem
from rich.console import COLOR_SYSTEMS, Console, RenderableType
from rich.style import Style
from textual._ansi_sequences import SYNC_END, SYNC_START
from textual._compositor import ChopsUpdate
from textual.app import App
from textual.css.query import NoMatches
from textual.errors import NoWidget
from textual.geometry import Offset, Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets._toast import ToastRack

from lockwatch.tui.ink import Piece

_PLAIN: Final = Style()
_ATTRIBUTES: Final = ("bold", "dim", "italic", "underline", "blink", "blink2", "reverse", "conceal", "strike",
                      "underline2", "frame", "encircle", "overline", "link")  # fmt: skip
_DEFAULTS: Final = (("39",), ("49",))
"""What a terminal takes for its own colours, of texts and of grounds."""


class Cells(NamedTuple):
    """Cells of one line of the screen, from `x` on, and what is to stand there."""

    y: int
    x: int
    width: int
    pieces: Iterable[Piece]


Draw: TypeAlias = Callable[[Region], Sequence[Piece]]
"""What stands in a part of one of a widget's lines."""


class SparingApp(App[None]):
    """An app that writes only the cells that changed; at once where a widget can say them and nothing is above it."""

    def __init__(self) -> None:
        super().__init__()
        self._unpainted: dict[Widget, tuple[Draw, list[Region]]] = {}

    def paint(self, widget: Widget, draw: Draw, regions: Sequence[Region]) -> None:
        """Have parts of a widget's lines painted, together with all that is asked for in the same turn."""
        if self.is_headless:
            widget.refresh(*regions)
            return
        if not self._unpainted:
            asyncio.get_running_loop().call_soon(self._paint_or_fail)
        self._unpainted.setdefault(widget, (draw, []))[1].extend(regions)

    def _paint_or_fail(self) -> None:
        try:
            self._paint()
        except Exception as error:  # noqa: BLE001 as Textual does with what fails in its own painting
            self._handle_exception(error)

    def _paint(self) -> None:
        unpainted, self._unpainted = self._unpainted, {}
        cells: list[Cells] = []
        for widget, (draw, regions) in unpainted.items():
            offset, room = self._offset_of(widget), _room_in(widget)
            if offset is None:
                widget.refresh(*regions)
            else:
                seen = filter(None, map(room.intersection, regions))
                cells += [Cells(part.y + offset.y, part.x + offset.x, part.width, draw(part)) for part in seen]
        if cells and self._driver is not None:
            data = written(cells, COLOR_SYSTEMS[self.console.color_system or "truecolor"])
            self._driver.write(f"{SYNC_START}{data}{SYNC_END}" if self._sync_available else data)

    def _offset_of(self, widget: Widget) -> Offset | None:
        """Where a widget is on the terminal; None if not all of it is to be seen, or that may be about to change."""
        if not self.is_running or self._exit or self._batch_count or not widget.is_attached:
            return None
        screen = self.screen
        try:
            if widget.screen is not screen or screen.get_child_by_type(ToastRack).display:
                return None
            geometry = screen.find_widget(widget)
        except (NoWidget, NoMatches):
            return None
        return geometry.region.offset if geometry.visible_region == geometry.region else None

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        if isinstance(renderable, ChopsUpdate):
            renderable = SparingUpdate(renderable.chops, renderable.spans, renderable.chop_ends)
        super()._display(screen, renderable)


def _room_in(widget: Widget) -> Region:
    """The part of a widget that is not below its scroll bars."""
    room = widget.size.region
    return room.shrink(widget.scrollbar_gutter) if any(widget.scrollbars_enabled) else room


class SparingUpdate(ChopsUpdate):
    """A part of the screen that is to be painted again, from its first to its last cell."""

    def render_segments(self, console: Console) -> str:
        """What to write."""
        return written(self._cells(), COLOR_SYSTEMS[console.color_system or "truecolor"])

    def _cells(self) -> Iterator[Cells]:
        for y, left, right in self.spans:
            for end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                if strip is not None and x < right and end > left:
                    start = max(left, x)
                    yield _of_strip(y, start, strip.crop(start - x, min(end, right) - x))


def _of_strip(y: int, x: int, strip: Strip) -> Cells:
    return Cells(y, x, strip.cell_length, [(text, style or _PLAIN) for text, style, _control in strip])


def written(cells: Iterable[Cells], system: ColorSystem) -> str:
    """What makes a terminal show that: jumps, changes of the style, and texts."""
    said: list[str] = []
    style, at = _PLAIN, (-1, -1)
    for y, x, width, pieces in cells:
        said.append(_jump(at, (y, x)))
        for text, wanted in pieces:
            if wanted is not style:
                said.append(transition(style, wanted, system))
                style = wanted
            said.append(text)
        at = y, x + width
    return "".join((*said, transition(style, _PLAIN, system)))


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
        pairs = zip(_colours(before, system), _colours(after, system), strict=True)
        codes = [code for old, new in pairs if old != new for code in new]
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
