"""A screen to read on: a title, a text that scrolls, what is wrong, if anything, and the keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen

from lockwatch.tui.help import Mode
from lockwatch.tui.hints import status
from lockwatch.tui.scene import Scene
from lockwatch.tui.screens.help import HelpScreen
from lockwatch.tui.screens.scrolling import steps
from lockwatch.tui.spans import Line, Role, Span, blanks, crop
from lockwatch.tui.widgets.line_view import Lines

_REDRAW_SECS: Final = 0.5
_HINTS: Final[Line] = (
    blanks(1),
    *(Span("esc", Role.KEY, strong=True), Span(" back", Role.DIM), blanks(2)),
    *(Span("j k", Role.KEY, strong=True), Span(" scroll", Role.DIM), blanks(2)),
    *(Span("?", Role.KEY, strong=True), Span(" help", Role.DIM)),
)


class ReadingScreen(Screen[None]):
    """Shows a text over the whole screen until a key leaves it, and keeps it up to date."""

    AUTO_FOCUS = ""
    LEAVE: ClassVar[tuple[str, ...]] = ("escape", "q")

    def __init__(self, scene: Scene) -> None:
        super().__init__()
        self.scene = scene
        self.body = Lines(id="body")
        self._title = Lines(id="title")
        self._keys = Lines(id="keys")

    def title_line(self, cells: int) -> Line:
        """What it is about."""
        raise NotImplementedError

    def lines(self, cells: int) -> Sequence[Line]:
        """The text."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        yield from (self._title, self.body, self._keys)

    def on_mount(self) -> None:
        """Look again for what is new, twice a second."""
        self.body.styles.height = "1fr"
        self.set_interval(_REDRAW_SECS, self.redraw)

    def on_resize(self) -> None:
        """Fit the screen."""
        self.call_after_refresh(self.redraw)

    def on_key(self, event: events.Key) -> None:
        """Scroll, or leave."""
        event.stop()
        event.prevent_default()
        if not self.is_current:
            return  # a key that came after the one that left
        if event.key in self.LEAVE or event.character in self.LEAVE:
            self.dismiss()
        elif event.key == "question_mark":
            self.app.push_screen(HelpScreen(Mode.READING))
        else:
            self.body.scroll_relative(y=steps(event.key, self.body.size.height), animate=False)

    def on_paste(self, event: events.Paste) -> None:
        """A paste is noise."""
        event.stop()

    def redraw(self) -> None:
        """Draw again what is not as it was drawn last."""
        cells = self.size.width
        self._title.show([self.title_line(cells)])
        self.body.show(self.lines(self.body.size.width))
        self._keys.show([status(self.scene, cells), crop(_HINTS, cells)])
