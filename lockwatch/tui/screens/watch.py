"""The main screen: header, filter, table, detail, activity, keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Thread
from typing import TYPE_CHECKING, Final, cast

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen

from lockwatch.tui import activity
from lockwatch.tui.board import only_owner
from lockwatch.tui.columns import columns_for
from lockwatch.tui.detail import detail
from lockwatch.tui.diff import lease_of
from lockwatch.tui.header import header
from lockwatch.tui.hints import hints, status
from lockwatch.tui.keys import ACTIONS
from lockwatch.tui.rows import heading
from lockwatch.tui.scene import Scene
from lockwatch.tui.spans import Role, Span, blanks, wrap
from lockwatch.tui.widgets.filter_line import FilterLine
from lockwatch.tui.widgets.line_view import Lines
from lockwatch.tui.widgets.lock_table import LockTable
from lockwatch.tui.wish import Filter, Standing, Wish

if TYPE_CHECKING:
    from lockwatch.tui.app import Dashboard

_ROOM_FOR_DETAIL: Final = 16
"""Lines of a screen that has room for the detail pane."""
_ROOM_FOR_ACTIVITY: Final = 24
"""Lines of a screen that has room for the activity, too."""
_ROOM_UNASKED: Final = 32
"""Lines of a screen that shows the activity without being asked."""
_EVENTS: Final = 4
"""How many events the pane shows."""


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
        self._wants_activity: bool | None = None
        self.table = LockTable(scene, id="table")
        self.filter = FilterLine(scene, id="filter")
        self._header = Lines(id="header")
        self._heading = Lines(id="heading")
        self._empty = Lines(id="empty")
        self._detail = Lines(id="detail")
        self._activity = Lines(id="activity")
        self._keys = Lines(id="keys")

    def compose(self) -> ComposeResult:
        """The parts, from top to bottom."""
        yield from (self._header, self.filter, self._heading, self.table, self._empty)
        yield from (self._detail, self._activity, self._keys)

    def redraw(self) -> None:
        """Draw again what is not as it was drawn last."""
        scene, cells = self._scene, self.size.width
        self._follow(scene.plan_id())
        self._heading.show([heading(columns_for(cells), scene.board.sort)])
        self._show_emptiness(cells)
        self.table.redraw()
        self._show_activity()
        self._draw_lines()

    def pass_time(self, *, rows_changed: bool) -> None:
        """Draw again what time alone has changed."""
        now = self._scene.now()
        if rows_changed or now is None or not self.table.keeps_link():
            self.redraw()
            return
        self.table.tick(now)
        self._draw_lines()

    def on_resize(self, event: events.Resize) -> None:
        """Leave out what there is no room for."""
        self.set_class(event.size.height < _ROOM_FOR_DETAIL, "low")
        self.set_class(event.size.height < 6, "tiny")
        self.call_after_refresh(self.redraw)

    def on_lock_table_cursor_moved(self) -> None:
        """Show the lease that the cursor is on now."""
        self._follow(self._scene.plan_id())
        self.table.redraw()
        self._show_detail()

    async def on_key(self, event: events.Key) -> None:
        """Type the filter, or act."""
        event.stop()
        event.prevent_default()
        if self.filter.is_typing:
            self._narrow(self.filter.take(event))
        elif (action := _action(event)) is not None:
            await self.run_action(action)

    def on_paste(self, event: events.Paste) -> None:
        """Paste into the filter while it is typed; anywhere else a paste is noise."""
        event.stop()
        if self.filter.is_typing:
            self._narrow(self.filter.paste(event.text))

    def action_move(self, lines: int) -> None:
        """Move the cursor by so many lines."""
        self.table.move(lines)

    def action_page(self, pages: float) -> None:
        """Move the cursor by so many screens."""
        self.table.move_pages(pages)

    def action_type_filter(self) -> None:
        """Let the filter be typed; what is searched is made ready until the first letter comes."""
        self.filter.begin()
        Thread(target=self._scene.board.catalogue.texts, name="lockwatch-texts", daemon=True).start()
        self.redraw()

    def action_sort(self) -> None:
        """Sort by the next column."""
        self._wish_for(replace(self._scene.board.wish, sort=self._scene.board.sort.next()))

    def action_reverse(self) -> None:
        """Sort the other way round."""
        self._wish_for(replace(self._scene.board.wish, sort=self._scene.board.sort.reversed()))

    def action_next_state(self) -> None:
        """List the locks of one state, or of all again."""
        states = [None, *Standing]
        current = self._scene.board.filter
        following = states[(states.index(current.standing) + 1) % len(states)]
        self._filter_by(replace(current, standing=following))

    def action_only_owner(self) -> None:
        """List only the locks of the owner under the cursor, or of all owners again."""
        board = self._scene.board
        owner = board.selected.owner_id if board.selected and board.filter.owner is None else None
        self._wish_for(only_owner(board.wish, owner))

    def action_back(self) -> None:
        """Show all locks again; if all are shown, take the marks away."""
        if self._scene.board.filter:
            self._filter_by(Filter())
        else:
            self.action_unmark()

    def action_mark(self) -> None:
        """Mark the lease under the cursor, or take its mark away, and go to the next."""
        lock = self._scene.target()
        if lock is not None:
            self._scene.board.marks.toggle(lock)
            self.table.move(1)
            self.redraw()

    def action_mark_range(self) -> None:
        """Mark all leases from the one that was marked last to the cursor."""
        board = self._scene.board
        start = board.index_of(board.marks.last) if board.marks.last else None
        first, last = sorted((board.cursor_index if start is None else start, board.cursor_index))
        board.marks.add(lock for lock in board.rows[first : last + 1] if board.ghost(lock) is None)
        self.redraw()

    def action_mark_shown(self) -> None:
        """Mark all leases that are listed; none of them if all are."""
        board = self._scene.board
        listed = board.listed()
        if all(lease_of(lock) in board.marks for lock in listed):
            board.marks.remove(listed)
        else:
            board.marks.add(listed)
        self.redraw()

    def action_unmark(self) -> None:
        """Take all marks away."""
        self._scene.board.marks.clear()
        self.redraw()

    def action_detail(self) -> None:
        """Show or hide the pane below the table; where it has no room, show it instead of the table."""
        if self.has_class("low"):
            from lockwatch.tui.screens.detail import DetailScreen  # late: most screens have room for the pane

            self.app.push_screen(DetailScreen(self._scene))
            return
        self._wants_detail = not self._wants_detail
        self.redraw()

    def action_activity(self) -> None:
        """Show or hide what happened; where it has no room, show it instead of the table."""
        if self.size.height < _ROOM_FOR_ACTIVITY:
            self._dashboard.action_all_activity()
            return
        self._wants_activity = not self._shows_activity
        self.redraw()

    @property
    def _dashboard(self) -> Dashboard:
        return cast("Dashboard", self.app)

    @property
    def _shows_activity(self) -> bool:
        if self.size.height < _ROOM_FOR_ACTIVITY:
            return False
        return self.size.height >= _ROOM_UNASKED if self._wants_activity is None else self._wants_activity

    def _narrow(self, text: str) -> None:
        if not self.filter.is_typing and not text:
            self._filter_by(replace(self._scene.board.filter, text=""))
        elif text != self._scene.board.filter.text:
            self._filter_by(replace(self._scene.board.filter, text=text))
        else:
            self.redraw()

    def _filter_by(self, wanted: Filter) -> None:
        self._wish_for(replace(self._scene.board.wish, filter=wanted))

    def _wish_for(self, wish: Wish) -> None:
        now = self._scene.now()
        with self.table.held_in_place():
            self._scene.board.wish_for(wish, now or self._scene.board.taken_at)
        self.table.reveal_cursor()
        self._dashboard.follow_wish()
        self.redraw()

    def _draw_lines(self) -> None:
        """All but the table."""
        scene, cells = self._scene, self.size.width
        self._header.show([header(scene, cells)])
        self.filter.redraw()
        self._show_detail()
        self._keys.show([status(scene, cells), hints(scene, cells, typing=self.filter.is_typing)])

    def _show_detail(self) -> None:
        pane = self._detail
        pane.display = self._wants_detail and not self.has_class("low")
        if pane.display:
            lines = detail(self._scene, self.size.width)
            pane.styles.height = len(lines)
            pane.show(lines)

    def _show_activity(self) -> None:
        pane = self._activity
        pane.display = self._shows_activity
        if pane.display:
            scene = self._scene
            pane.show(activity.lines(scene.activity, scene.board.filter, self.size.width, _EVENTS))

    def _show_emptiness(self, cells: int) -> None:
        pane = self._empty
        words = _emptiness(self._scene)
        pane.display = words is not None
        self.table.set_class(pane.display, "empty")
        if words:
            indent = 2 if cells < 60 else 4
            pane.show([(), *((blanks(indent), Span(piece, Role.DIM)) for piece in wrap(words, cells - indent))])


def _action(event: events.Key) -> str | None:
    """What a key does; a character does the same however its key is called."""
    return ACTIONS.get(event.key) or ACTIONS.get(event.character or "")


def _emptiness(scene: Scene) -> str | None:
    """What stands where the rows would be, if there are none."""
    if scene.board.rows:
        return None
    if not scene.board.is_filled:
        return "Nothing was read yet."
    if not scene.board.filter:
        return "No locks."
    means_states = not {*Standing}.isdisjoint(scene.board.filter.words)
    hint = " It looks at resource and owner; t shows one state." if means_states else ""
    return f"Nothing matches the filter: esc shows all.{hint}"
