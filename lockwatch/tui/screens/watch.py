"""The main screen: header, filter, table, detail, keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen

from lockwatch.tui.columns import columns_for
from lockwatch.tui.detail import detail
from lockwatch.tui.header import header
from lockwatch.tui.hints import hints, status
from lockwatch.tui.rows import heading
from lockwatch.tui.scene import Scene
from lockwatch.tui.spans import Role, Span, blanks
from lockwatch.tui.widgets.filter_line import FilterLine
from lockwatch.tui.widgets.line_view import Lines
from lockwatch.tui.widgets.lock_table import LockTable

_FAR: Final = 10**9
_ACTIONS: Final = {
    "r": "app.order('release')",
    "n": "app.order('renew')",
    "p": "app.order('purge')",
    "slash": "type_filter",
    "enter": "toggle_detail",
    "escape": "clear_filter",
    "question_mark": "app.help",
    "ctrl+r": "app.poll_now",
    "ctrl+l": "app.repaint",
    "q": "app.quit",
    **dict.fromkeys(("j", "down"), "move(1)"),
    **dict.fromkeys(("k", "up"), "move(-1)"),
    **dict.fromkeys(("g", "home"), f"move({-_FAR})"),
    **dict.fromkeys(("G", "end"), f"move({_FAR})"),
    "pagedown": "page(1)",
    "pageup": "page(-1)",
}
"""What the keys do."""
_ROOM_FOR_DETAIL: Final = 16
"""Lines of a screen that has room for the detail pane."""


class WatchScreen(Screen[None]):
    """Draws the scene, and takes the keys.

    No widget ever has the focus: keys reach the screen itself, one after the other, so that a key typed right after
    `/` is text however fast it comes. `follow` is told of which plan's lock the cursor is on, with every drawing.
    """

    AUTO_FOCUS = ""

    def __init__(self, scene: Scene, follow: Callable[[str | None], None]) -> None:
        super().__init__()
        self._scene = scene
        self._follow = follow
        self._wants_detail = True
        self.table = LockTable(scene, id="table")
        self.filter = FilterLine(scene, id="filter")
        self._header = Lines(id="header")
        self._heading = Lines(id="heading")
        self._empty = Lines(id="empty")
        self._detail = Lines(id="detail")
        self._keys = Lines(id="keys")

    def compose(self) -> ComposeResult:
        """The parts, from top to bottom."""
        yield from (self._header, self.filter, self._heading, self.table, self._empty, self._detail, self._keys)

    def redraw(self) -> None:
        """Draw again what is not as it was drawn last."""
        scene, cells = self._scene, self.size.width
        self._follow(scene.plan_id())
        self._header.show([header(scene, cells)])
        self.filter.redraw()
        self._heading.show([heading(columns_for(self.table.size.width))])
        self._show_emptiness(cells)
        self.table.redraw()
        self._show_detail()
        typing = self.filter.is_typing
        self._keys.show([status(scene, cells), hints(scene, cells, typing=typing)])

    def on_resize(self, event: events.Resize) -> None:
        """Leave out what there is no room for."""
        self.set_class(event.size.height < _ROOM_FOR_DETAIL, "low")
        self.set_class(event.size.height < 6, "tiny")
        self.call_after_refresh(self.redraw)

    def on_lock_table_cursor_moved(self) -> None:
        """Show the lease that the cursor is on now."""
        self.redraw()

    async def on_key(self, event: events.Key) -> None:
        """Type the filter, or act."""
        event.stop()
        event.prevent_default()
        if self.filter.is_typing:
            self._narrow(self.filter.take(event))
        elif event.key in _ACTIONS:
            await self.run_action(_ACTIONS[event.key])

    def on_paste(self, event: events.Paste) -> None:
        """Paste into the filter while it is typed; anywhere else a paste is noise."""
        event.stop()
        if self.filter.is_typing:
            self._narrow(self.filter.paste(event.text))

    def action_move(self, lines: int) -> None:
        """Move the cursor by so many lines."""
        self.table.move(lines)

    def action_page(self, pages: int) -> None:
        """Move the cursor by so many screens."""
        self.table.move_pages(pages)

    def action_type_filter(self) -> None:
        """Let the filter be typed."""
        self.filter.begin()
        self.redraw()

    def action_clear_filter(self) -> None:
        """Show all locks again."""
        self._narrow("")

    def action_toggle_detail(self) -> None:
        """Show or hide the pane below the table."""
        self._wants_detail = not self._wants_detail
        self.redraw()

    def _narrow(self, text: str) -> None:
        if text != self._scene.board.filter.text:
            with self.table.held_in_place():
                self._scene.board.narrow(text)
            self.table.reveal_cursor()
        self.redraw()

    def _show_detail(self) -> None:
        pane = self._detail
        lines = detail(self._scene, self.size.width)
        pane.display = self._wants_detail and not self.has_class("low")
        if pane.display:
            pane.styles.height = len(lines)
            pane.show(lines)

    def _show_emptiness(self, cells: int) -> None:
        pane = self._empty
        words = _emptiness(self._scene)
        pane.display = words is not None
        self.table.set_class(pane.display, "empty")
        if words:
            pane.show([(), (blanks(2 if cells < 60 else 4), Span(words, Role.DIM))])


def _emptiness(scene: Scene) -> str | None:
    """What stands where the rows would be, if there are none."""
    if scene.board.rows:
        return None
    if not scene.board.is_filled:
        return "Nothing was read yet."
    return "Nothing matches the filter: esc shows all." if scene.board.filter else "No locks."
