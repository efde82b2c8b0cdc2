"""Two views of lines, a dialog and notices over them: a program for a pseudo-terminal whose keys change what is shown.

Each key changes some lines, at random but the same in every run. Besides, `j` and `k` scroll, `h` hides the second view
or shows it, `n` shows a notice, `m` opens a dialog and `x` closes it. Ctrl+l only paints everything again.
"""

from __future__ import annotations

import random

from textual import events
from textual.app import ComposeResult
from textual.screen import ModalScreen

from lockwatch.tui import themes
from lockwatch.tui.driver import SteadyDriver
from lockwatch.tui.painting import SparingApp
from lockwatch.tui.spans import Line, Role, Span
from lockwatch.tui.widgets.line_view import Lines

COUNT = 60
TEXTS = ("plan/", "計画", "━━━╾──", "a", "41s", "  ", "worker@host:1", "9", "10", "")


class Board(ModalScreen[None]):
    CSS = "Board { align: center middle; background: $background 30%; } #inner { width: 30; height: 6; }"

    def __init__(self, lines: Lines) -> None:
        super().__init__()
        self.lines = lines

    def compose(self) -> ComposeResult:
        yield self.lines


class Shown(SparingApp):
    CSS = "Lines { width: 100%; overflow-x: hidden; } #first { height: 1fr; overflow-y: auto; } #second { height: 5; }"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self) -> None:
        super().__init__()
        self.animation_level = "none"
        self.chance = random.Random(23)  # noqa: S311 no secret: the same lines in every run
        self.first, self.second, self.inner = Lines(id="first"), Lines(id="second"), Lines(id="inner")
        self.lines = [self.made() for _ in range(COUNT)]
        themes.install(self, themes.DARK)

    def compose(self) -> ComposeResult:
        yield self.first
        yield self.second

    def on_ready(self) -> None:
        self.show()

    def on_key(self, event: events.Key) -> None:
        match event.key:
            case "j" | "k":
                self.first.scroll_relative(y=3 if event.key == "j" else -3, animate=False, force=True)
            case "h":
                self.second.display = not self.second.display
            case "n":
                self.notify("a notice over the lines", timeout=2)
            case "m":
                self.push_screen(Board(Lines(id="inner")))
            case "x" if isinstance(self.screen, Board):
                self.pop_screen()
            case "ctrl+l":
                self.refresh(repaint=True, layout=True)
                self.screen.refresh(repaint=True, layout=True)
                return
            case "q":
                self.exit()
        self.change()
        self.show()

    def change(self) -> None:
        for number in self.chance.sample(range(COUNT), 20):
            line = list(self.lines[number])
            if line and self.chance.random() < 0.8:
                place = self.chance.randrange(len(line))
                line[place] = self.chance.choice(
                    [self.span(), line[place]._replace(role=self.chance.choice(list(Role)))]
                )
                self.lines[number] = tuple(line)
            else:
                self.lines[number] = self.made()
        if self.chance.random() < 0.2:
            self.lines = self.lines[: self.chance.randrange(5, COUNT)]
            self.lines += [self.made() for _ in range(COUNT - len(self.lines))]

    def show(self) -> None:
        self.first.show(tuple(self.lines))
        self.second.show(tuple(self.lines[::7]))
        if isinstance(self.screen, Board):
            self.screen.lines.show(tuple(self.lines[::5]))

    def made(self) -> Line:
        return tuple(self.span() for _ in range(self.chance.randrange(12)))

    def span(self) -> Span:
        return Span(self.chance.choice(TEXTS), self.chance.choice(list(Role)), self.chance.random() < 0.3)


if __name__ == "__main__":
    app = Shown()
    app.driver_class = SteadyDriver
    app.run()
