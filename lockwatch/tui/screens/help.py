"""The help: keys, states, and how to read the rest."""

from __future__ import annotations

from typing import Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from lockwatch.tui.help import Mode, help_lines
from lockwatch.tui.screens.framing import LEAST_FRAMED, frame
from lockwatch.tui.screens.scrolling import steps
from lockwatch.tui.widgets.line_view import Lines

_LEAVE: Final = ("escape", "q", "question_mark", "enter")


class HelpScreen(ModalScreen[None]):
    """Shows the help until a key leaves it."""

    def __init__(self, mode: Mode = Mode.WATCHING) -> None:
        super().__init__()
        self._mode = mode
        self._body = Lines(id="body")
        self._dialog = Vertical(self._body, id="dialog", classes="help")

    def compose(self) -> ComposeResult:
        """One text in a frame."""
        yield self._dialog

    def on_key(self, event: events.Key) -> None:
        """Scroll, or leave."""
        event.stop()
        event.prevent_default()
        if not self.is_current:
            return  # a key that came after the one that left
        if event.key in _LEAVE:
            self.dismiss()
        else:
            self._body.scroll_relative(y=steps(event.key, self._body.size.height), animate=False)

    def on_resize(self) -> None:
        """Fit the screen."""
        self.call_after_refresh(self._redraw)

    def _redraw(self) -> None:
        is_framed = self.size.width >= LEAST_FRAMED
        title = f"Help: the keys of {self._mode}"
        lines = help_lines(frame(self, self._dialog, title, is_framed=is_framed), self._mode)
        self._body.styles.height = max(1, min(len(lines), self.size.height - (4 if is_framed else 0)))
        self._body.show(lines)
