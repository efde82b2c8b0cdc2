"""The main screen: header, filter, table, detail, keys."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from lockwatch.tui.columns import columns_for
from lockwatch.tui.detail import detail
from lockwatch.tui.header import header
from lockwatch.tui.hints import hints, status
from lockwatch.tui.messages import FilterLeft, FilterTyped
from lockwatch.tui.rows import heading
from lockwatch.tui.scene import Scene
from lockwatch.tui.spans import Role, Span, blanks
from lockwatch.tui.widgets.filter_line import FilterLine
from lockwatch.tui.widgets.line_view import Lines
from lockwatch.tui.widgets.lock_table import LockTable

_ROOM_FOR_DETAIL = 16
"""Lines of a screen that has room for the detail pane."""


class WatchScreen(Screen[None]):
    """Draws the scene. Its keys are actions of the app."""

    AUTO_FOCUS = "#table"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "app.order('release')", "Release"),
        Binding("n", "app.order('renew')", "Renew"),
        Binding("p", "app.order('purge')", "Purge stale"),
        Binding("slash", "type_filter", "Filter"),
        Binding("enter", "toggle_detail", "Detail"),
        Binding("escape", "clear_filter", "Clear the filter"),
        Binding("question_mark", "app.help", "Help"),
        Binding("ctrl+r", "app.poll_now", "Poll now"),
        Binding("ctrl+l", "app.repaint", "Repaint"),
        Binding("q", "app.quit", "Quit"),
    ]

    def __init__(self, scene: Scene) -> None:
        super().__init__()
        self._scene = scene
        self._wants_detail = True

    def compose(self) -> ComposeResult:
        """The parts, from top to bottom."""
        yield Lines(id="header")
        yield FilterLine(self._scene, id="filter")
        yield Lines(id="heading")
        yield LockTable(self._scene, id="table")
        yield Lines(id="empty")
        yield Lines(id="detail")
        yield Lines(id="keys")

    @property
    def table(self) -> LockTable:
        """The table of locks."""
        return self.query_one(LockTable)

    @property
    def filter(self) -> FilterLine:
        """The line of the filter."""
        return self.query_one(FilterLine)

    def redraw(self) -> None:
        """Draw again what is not as it was drawn last."""
        scene, cells = self._scene, self.size.width
        self._lines("header").show([header(scene, cells)])
        self.filter.redraw()
        self._lines("heading").show([heading(columns_for(self.table.size.width))])
        self._show_emptiness(cells)
        self.table.redraw()
        self._show_detail()
        typing = self.filter.is_typing
        self._lines("keys").show([status(scene, cells), hints(scene, cells, typing=typing)])

    def on_resize(self, event: events.Resize) -> None:
        """Leave out what there is no room for."""
        self.set_class(event.size.height < _ROOM_FOR_DETAIL, "low")
        self.set_class(event.size.height < 6, "tiny")
        self.call_after_refresh(self.redraw)

    def on_lock_table_cursor_moved(self) -> None:
        """Show the lease that the cursor is on now."""
        self.redraw()

    def on_filter_typed(self, message: FilterTyped) -> None:
        """Filter as it is typed."""
        with self.table.held_in_place():
            self._scene.board.narrow(message.text)
        self.table.reveal_cursor()
        self.redraw()

    def on_filter_left(self, message: FilterLeft) -> None:
        """Give the keys back to the table."""
        message.stop()
        self.table.focus()
        self.redraw()

    def action_type_filter(self) -> None:
        """Let the filter be typed."""
        self.filter.begin()
        self.redraw()

    def action_clear_filter(self) -> None:
        """Show all locks again."""
        self.on_filter_typed(FilterTyped(""))

    def action_toggle_detail(self) -> None:
        """Show or hide the pane below the table."""
        self._wants_detail = not self._wants_detail
        self.redraw()

    def _show_detail(self) -> None:
        pane = self._lines("detail")
        lines = detail(self._scene, self.size.width)
        pane.display = self._wants_detail and not self.has_class("low")
        if pane.display:
            pane.styles.height = len(lines)
            pane.show(lines)

    def _show_emptiness(self, cells: int) -> None:
        pane = self._lines("empty")
        words = _emptiness(self._scene)
        pane.display = words is not None
        self.table.set_class(pane.display, "empty")
        if words:
            pane.show([(), (blanks(2 if cells < 60 else 4), Span(words, Role.DIM))])

    def _lines(self, name: str) -> Lines:
        return self.query_one(f"#{name}", Lines)


def _emptiness(scene: Scene) -> str | None:
    """What stands where the rows would be, if there are none."""
    if scene.board.rows:
        return None
    if not scene.board.is_filled:
        return "Nothing was read yet."
    return "Nothing matches the filter: esc shows all." if scene.board.filter else "No locks."
