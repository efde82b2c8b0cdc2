"""All that happened, on a screen of its own."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar, overload

from lockwatch.tui.activity import Entry, entry_line, heading, nothing
from lockwatch.tui.happenings import Event
from lockwatch.tui.scene import Scene
from lockwatch.tui.screens.reading import ReadingScreen
from lockwatch.tui.spans import Line


class ActivityScreen(ReadingScreen):
    """Shows what happened to the leases that match the filter, newest first, their renewals too.

    It follows what happens as long as it stands at its start; scrolled, what is in view stays there.
    """

    LEAVE: ClassVar[tuple[str, ...]] = ("escape", "q", "l", "L")

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._entries: list[Entry] = []

    def title_line(self, cells: int) -> Line:
        """What it is, and how much of it matches the filter."""
        return heading(self.scene.activity, self.scene.board.filter, cells)

    def lines(self, cells: int) -> Sequence[Line]:
        """The events."""
        if not self._entries:
            return [nothing(self.scene.board.filter, cells)]
        return Listed(self._entries, cells, self.scene.activity.seen_at)

    def redraw(self) -> None:
        """Draw again what is not as it was drawn last."""
        before, self._entries = self._entries, list(self.scene.activity.events(self.scene.board.filter))
        top = self.body.scroll_offset.y
        super().redraw()
        if 0 < top < len(before):
            self.body.scroll_to(y=_place(before[top], self._entries, top), animate=False, force=True)


class Listed(Sequence[Line]):
    """The lines of events. Made as they are drawn."""

    def __init__(self, entries: Sequence[Entry], cells: int, now: datetime) -> None:
        self._entries = entries
        self._cells = cells
        self._now = now

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> Line: ...
    @overload
    def __getitem__(self, index: slice) -> list[Line]: ...
    def __getitem__(self, index: int | slice) -> Line | list[Line]:
        if isinstance(index, slice):
            return [entry_line(entry, self._cells, self._now) for entry in self._entries[index]]
        return entry_line(self._entries[index], self._cells, self._now)


def _place(entry: Entry, entries: Sequence[Entry], otherwise: int) -> int:
    """Where an event stands now, if it is still kept; it may have been told as this dashboard's doing meanwhile."""
    return next((at for at, other in enumerate(entries) if _is_same(entry, other)), otherwise)


def _is_same(entry: Entry, other: Entry) -> bool:
    if isinstance(entry, Event) and isinstance(other, Event):
        return entry.at == other.at and entry.lock == other.lock
    return entry.at == other.at and type(entry) is type(other)
