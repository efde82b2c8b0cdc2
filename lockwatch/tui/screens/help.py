"""The help: keys, states, and how to read the rest."""

from __future__ import annotations

from typing import Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from lockwatch.tui.help import help_lines
from lockwatch.tui.screens.scrolling import steps
from lockwatch.tui.widgets.line_view import Lines

_WIDEST: Final = 76
_LEAVE: Final = ("escape", "q", "question_mark", "enter")


class HelpScreen(ModalScreen[None]):
    """Shows the help until a key leaves it."""

    def compose(self) -> ComposeResult:
        """One text in a frame."""
        with Vertical(id="dialog", classes="help"):
            yield Lines(id="body")

    def on_key(self, event: events.Key) -> None:
        """Scroll, or leave."""
        event.stop()
        event.prevent_default()
        if event.key in _LEAVE:
            self.dismiss()
        else:
            body = self.query_one("#body", Lines)
            body.scroll_relative(y=steps(event.key, body.size.height), animate=False)
            body.redraw()

    def on_resize(self) -> None:
        """Fit the screen."""
        self.call_after_refresh(self._redraw)

    def redraw(self) -> None:
        """Nothing in it changes with time."""

    def _redraw(self) -> None:
        dialog, body = self.query_one("#dialog", Vertical), self.query_one("#body", Lines)
        self.set_class(self.size.width < 44, "bare")
        dialog.border_title = "Help"
        outer = min(_WIDEST, self.size.width)
        dialog.styles.width = outer
        lines = help_lines(max(1, outer - (7 if self.size.width >= 44 else 1)))
        body.styles.height = max(1, min(len(lines), self.size.height - (4 if self.size.width >= 44 else 0)))
        body.show(lines)
