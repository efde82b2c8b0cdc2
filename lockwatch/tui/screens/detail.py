"""All about one lease, on a screen of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from lockwatch.core.text import clean
from lockwatch.tui.detail import full_detail
from lockwatch.tui.rules import rule
from lockwatch.tui.screens.reading import ReadingScreen
from lockwatch.tui.spans import Line


class DetailScreen(ReadingScreen):
    """Shows what is known of the lease under the cursor. It stays with that lease, whatever becomes of it."""

    LEAVE: ClassVar[tuple[str, ...]] = ("escape", "q", "enter")

    def title_line(self, cells: int) -> Line:
        """What is locked."""
        lock = self.scene.board.selected
        return rule(clean(lock.resource) if lock else "", cells)

    def lines(self, cells: int) -> Sequence[Line]:
        """The facts."""
        return full_detail(self.scene, cells)
