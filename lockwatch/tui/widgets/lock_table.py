"""The table of locks. Its cursor and its scrolling hold leases, not row numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from textual import events
from textual.message import Message

from lockwatch.tui.columns import columns_for
from lockwatch.tui.diff import Lease, lease_of
from lockwatch.tui.freshness import Link
from lockwatch.tui.lasting import good_until
from lockwatch.tui.rows import row
from lockwatch.tui.scene import Scene
from lockwatch.tui.spans import Line, muted
from lockwatch.tui.widgets.line_view import LineView


class LockTable(LineView, can_focus=False):
    """The board's rows. It takes no keys: the screen moves the cursor."""

    class CursorMoved(Message):
        """The cursor is on another row."""

    def __init__(self, scene: Scene, *, id: str | None = None) -> None:  # noqa: A002 Textual's name
        super().__init__(id=id)
        self._scene = scene
        self._board = scene.board
        self._is_muted = False

    def count(self) -> int:
        """How many rows there are."""
        return len(self._board.rows)

    def line(self, index: int) -> Line:
        """One row."""
        now = self._scene.now() or self._board.taken_at
        columns = columns_for(self.size.width)
        line = row(self._board, self._board.rows[index], now, columns, selected=self.is_lit(index))
        return muted(line) if self._is_muted else line

    def good_until(self, index: int) -> datetime | None:
        """Until when a row tells the time right."""
        now = self._scene.now()
        if now is None:
            return None
        return good_until(self._board, self._board.rows[index], now, columns_for(self.size.width))

    def redraw(self) -> None:
        """Look at all rows in view; those of data that may be old are muted."""
        self._is_muted = self._scene.link() is Link.DISCONNECTED
        self._ticked = self._scene.now()
        super().redraw()
        top = self.scroll_offset.y
        self._board.window = range(top, top + self.size.height)

    def keeps_link(self) -> bool:
        """Whether the rows are drawn as befits how the database stands now."""
        return self._is_muted is (self._scene.link() is Link.DISCONNECTED)

    def is_lit(self, index: int) -> bool:
        """Whether the cursor is on this row."""
        return self._board.cursor is not None and index == self._board.cursor_index

    @contextmanager
    def held_in_place(self) -> Iterator[None]:
        """Whatever the body does to the rows, the lease under the cursor stays on its line of the screen.

        If that is out of view, the first one in view that is still there does. To be drawn afterwards.
        """
        anchors = self._anchors()
        yield
        self.resize_content()
        for lease, y in anchors:
            index = self._board.index_of(lease)
            if index is not None:
                self._scroll_to_line(index - y)
                break

    def reveal_cursor(self) -> None:
        """Scroll as little as is needed to see the cursor."""
        index, top, height = self._board.cursor_index, self.scroll_offset.y, self.size.height
        if index < top:
            self._scroll_to_line(index)
        elif index >= top + height:
            self._scroll_to_line(index - height + 1)

    def move(self, lines: int) -> None:
        """Move the cursor by so many lines."""
        self._board.move(lines)
        self.reveal_cursor()
        self.post_message(self.CursorMoved())

    def move_pages(self, pages: float) -> None:
        """Move the cursor by so many screens."""
        self.move(round(pages * max(1, self.size.height - 1)))

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on the row that was clicked."""
        index = event.y + self.scroll_offset.y
        if index < self.count():
            self.move(index - self._board.cursor_index)

    def on_resize(self) -> None:
        """Keep the cursor in view."""
        self.resize_content()
        self.reveal_cursor()
        self.redraw()

    def _anchors(self) -> list[tuple[Lease, int]]:
        """Leases and their lines on the screen, in the order in which they should stay there."""
        top, height = self.scroll_offset.y, self.size.height
        in_view = [(lease_of(lock), y) for y, lock in enumerate(self._board.rows[top : top + height])]
        return sorted(in_view, key=lambda anchor: anchor[0] != self._board.cursor)

    def _scroll_to_line(self, index: int) -> None:
        self.scroll_to(y=max(0, index), animate=False, force=True)
