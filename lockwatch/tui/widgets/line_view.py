"""A widget that draws lines of spans on Textual's line API, and draws again only the cells that changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from lockwatch.tui.ink import Piece, pieces, strip_of
from lockwatch.tui.painting import SparingApp
from lockwatch.tui.palette import Palette
from lockwatch.tui.spans import BLANK, Line, crop, differences
from lockwatch.tui.themes import palette_of

_JITTER: Final = timedelta(seconds=1)
"""So far a moment may be before the last one without anything that was shown being wrong."""


class _Drawn(NamedTuple):
    """A line as it was drawn, whether the cursor is on it, and until when it stays so; None: until it is changed."""

    line: Line
    is_lit: bool
    until: datetime | None


class _Looks(NamedTuple):
    """What all lines are made for."""

    palette: Palette
    width: int
    height: int


_NOTHING: Final = _Drawn(BLANK, is_lit=False, until=None)


class LineView(ScrollView, can_focus=False, inherit_bindings=False):
    """Lines, as many as there are; only those in view are made.

    `redraw` is for when anything may have changed, `tick` for when only time has passed: it makes only the lines that
    are due, as `good_until` says, and costs nothing where none is.
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 Textual's name
        super().__init__(id=id)
        self._drawn: list[_Drawn] = []
        self._drawn_in: _Looks | None = None
        self._due: datetime | None = None
        self._ticked: datetime | None = None

    def count(self) -> int:
        """How many lines there are."""
        raise NotImplementedError

    def line(self, index: int) -> Line:
        """The line with this number, from 0."""
        raise NotImplementedError

    def is_lit(self, index: int) -> bool:  # noqa: ARG002 for those that have a cursor
        """Whether a line is under the cursor."""
        return False

    def good_until(self, index: int) -> datetime | None:  # noqa: ARG002 for those that tell the time
        """Until when a line stays as it is if nothing but time passes, by the clock of `tick`; None: for ever."""
        return None

    def redraw(self) -> None:
        """Look at all lines in view, and draw the cells again that are not as they were drawn last."""
        self.resize_content()
        self._look_at(range(self.size.height))

    def tick(self, now: datetime) -> None:
        """Draw again what the time alone has changed by `now`. All of it, if the time was set back."""
        before, self._ticked = self._ticked, now
        if before is not None and now < before - _JITTER:
            self.redraw()
        elif self._due is not None and self._due <= now:
            drawn = enumerate(self._drawn)
            self._look_at([y for y, last in drawn if last.until is not None and last.until <= now])

    def resize_content(self) -> None:
        """Tell the scroll bar how many lines there are. The screen is laid out anew only if it comes or goes."""
        before, size, height = self.virtual_size, Size(self.size.width, self.count()), self.container_size.height
        if size == before:
            return
        if size.width != before.width or (size.height > height) is not (before.height > height):
            self.virtual_size = size
            return
        self.set_reactive(LineView.virtual_size, size)
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.window_virtual_size = size.height
        if self.scroll_y > self.max_scroll_y:
            self.scroll_to(y=self.max_scroll_y, animate=False, force=True)

    def on_resize(self) -> None:
        """Draw what there is room for now."""
        self.redraw()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Draw what is in view now, where it differs from what was."""
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.position = new_value
        if round(old_value) != round(new_value):
            self._look_at(range(self.size.height))

    def render_lines(self, crop: Region) -> list[Strip]:
        """Lines in view as they were looked at last, whatever has happened since: what changes is drawn by `redraw`."""
        looks = self._drawn_in = self._prepared()
        drawn = [self._drawn[y] if y < looks.height else _NOTHING for y in crop.line_range]
        strips = [strip_of(looks.palette, line, is_lit, looks.width) for line, is_lit, _until in drawn]
        left, right = crop.column_span
        return strips if (left, right) == (0, looks.width) else [strip.crop(left, right) for strip in strips]

    def pieces(self, region: Region) -> Sequence[Piece]:
        """What stands in a part of a line in view."""
        looks = self._prepared()
        if region.y >= looks.height:
            return []
        line, is_lit, _until = self._drawn[region.y]
        return pieces(looks.palette, line, is_lit, region.column_span)

    def _prepared(self) -> _Looks:
        """How lines look now; if that is not as they were made for, all are made anew."""
        looks = self._looks()
        if looks != self._drawn_in:
            top, count = self.scroll_offset.y, self.count()
            self._drawn = [self._at(top + y, count, looks.width) for y in range(looks.height)]
            self._set_due()
        return looks

    def _looks(self) -> _Looks:
        return _Looks(palette_of(self.app), *self.size)

    def _look_at(self, lines: Iterable[int]) -> None:
        """Make lines in view anew, and have the cells painted that are different."""
        looks = self._looks()
        if looks != self._drawn_in:
            self._drawn_in = None  # whatever they look like when it comes to painting: nothing of this is up to date
            self.refresh()
            return
        top, count = self.scroll_offset.y, self.count()
        regions = [region for y in lines for region in self._renewed(y, self._at(top + y, count, looks.width), looks)]
        self._set_due()
        if regions:
            self._have_painted(regions)

    def _have_painted(self, regions: Sequence[Region]) -> None:
        app = self.app
        if isinstance(app, SparingApp):
            app.paint(self, self.pieces, regions)
        else:
            self.refresh(*regions)

    def _renewed(self, y: int, after: _Drawn, looks: _Looks) -> list[Region]:
        """Let a line be another one: where it is different."""
        before, self._drawn[y] = self._drawn[y], after
        if before.is_lit != after.is_lit:
            return [Region(0, y, looks.width, 1)]
        if before.line == after.line:
            return []
        return [Region(left, y, right - left, 1) for left, right in differences(before.line, after.line, looks.width)]

    def _at(self, index: int, count: int, width: int) -> _Drawn:
        if index >= count:
            return _NOTHING
        return _Drawn(crop(self.line(index), width), self.is_lit(index), self.good_until(index))

    def _set_due(self) -> None:
        self._due = min((drawn.until for drawn in self._drawn if drawn.until is not None), default=None)


class Lines(LineView):
    """Lines that are handed in."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 Textual's name
        super().__init__(id=id)
        self._lines: Sequence[Line] = ()

    def show(self, lines: Sequence[Line]) -> None:
        """Show these. The same lines as before cost nothing."""
        if lines != self._lines or self._drawn_in is None:
            self._lines = lines
            self.redraw()

    def count(self) -> int:
        """How many lines there are."""
        return len(self._lines)

    def line(self, index: int) -> Line:
        """The line with this number, from 0."""
        return self._lines[index]
