"""A widget that draws lines of spans on Textual's line API, and draws again only those that changed."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from lockwatch.tui.spans import BLANK, Line, crop, difference, joined
from lockwatch.tui.theme import ground, style_of


class LineView(ScrollView, can_focus=False, inherit_bindings=False):
    """Lines, as many as there are; those in view are made when they are drawn."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 Textual's name
        super().__init__(id=id)
        self._drawn: dict[int, tuple[Line, bool]] = {}

    def count(self) -> int:
        """How many lines there are."""
        raise NotImplementedError

    def line(self, index: int) -> Line:
        """The line with this number, from 0."""
        raise NotImplementedError

    def is_lit(self, index: int) -> bool:  # noqa: ARG002 for those that have a cursor
        """Whether a line is under the cursor."""
        return False

    def redraw(self) -> None:
        """Look at the lines in view, and draw those again that are not as they were drawn last."""
        self.resize_content()
        for y in range(self.size.height):
            drawn, line = self._drawn.get(y), self._at(y)
            if drawn is None or drawn[1] != line[1]:
                self.refresh(Region(0, y, self.size.width, 1))
            elif drawn != line:
                left, right = difference(drawn[0], line[0], self.size.width)
                self.refresh(Region(left, y, right - left, 1))

    def resize_content(self) -> None:
        """Tell the scroll bar how many lines there are."""
        size = Size(self.size.width, self.count())
        if size != self.virtual_size:
            self.virtual_size = size

    def render_line(self, y: int) -> Strip:
        """One line in view, counted from the top."""
        self._drawn[y] = line, lit = self._at(y)
        segments = [
            Segment(span.text, style_of(span, under_cursor=lit)) for span in joined(crop(line, self.size.width))
        ]
        return Strip(segments).adjust_cell_length(self.size.width, ground(under_cursor=lit))

    def _at(self, y: int) -> tuple[Line, bool]:
        index = y + self.scroll_offset.y
        return (self.line(index), self.is_lit(index)) if index < self.count() else (BLANK, False)


class Lines(LineView):
    """Lines that are handed in."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 Textual's name
        super().__init__(id=id)
        self._lines: Sequence[Line] = ()

    def show(self, lines: Sequence[Line]) -> None:
        """Show these."""
        self._lines = lines
        self.redraw()

    def count(self) -> int:
        """How many lines there are."""
        return len(self._lines)

    def line(self, index: int) -> Line:
        """The line with this number, from 0."""
        return self._lines[index]
