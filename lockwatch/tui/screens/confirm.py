"""The dialog between a wish and its doing: what is lit is what happens."""

from __future__ import annotations

from time import monotonic
from typing import Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Size
from textual.screen import ModalScreen

from lockwatch.core.model import Outcome
from lockwatch.tui.messages import Confirmed
from lockwatch.tui.orders import Order
from lockwatch.tui.pins import Pinned
from lockwatch.tui.quiet import QUIET_SECS, Quiet
from lockwatch.tui.scene import Scene
from lockwatch.tui.screens.scrolling import steps
from lockwatch.tui.spans import BLANK, Line, Role, Span, blanks, wrap
from lockwatch.tui.victims import Body, answers, database, title
from lockwatch.tui.widgets.line_view import Lines

_WIDEST: Final = 76
_LEAST_FRAMED: Final = Size(44, 12)
"""A screen smaller than this has no room for a frame."""
_LEAST: Final = Size(20, 7)
"""A screen smaller than this cannot show what would be done."""


class ConfirmScreen(ModalScreen[None]):
    """Asks about pinned leases, which are looked at again with every poll.

    Only `y` confirms, only escape and `q` leave, and no key counts before 0.3 s have passed without any.
    """

    def __init__(self, scene: Scene, pinned: Pinned, quiet_secs: float = QUIET_SECS) -> None:
        super().__init__()
        self.pinned = pinned
        self._scene = scene
        self._quiet_secs = quiet_secs
        self._quiet = Quiet(monotonic(), quiet_secs)
        self._ordered: Order | None = None
        self._remark = ""
        self._body = Lines(id="body")
        self._below = Lines(id="answers")
        self._dialog = Vertical(self._body, self._below, id="dialog")

    def compose(self) -> ComposeResult:
        """Facts above, answers below."""
        yield self._dialog

    def on_mount(self) -> None:
        """Count the quiet from when there is something to see."""
        self._disturb(monotonic())

    def on_key(self, event: events.Key) -> None:
        """Scroll at once; anything else only after a quiet time."""
        event.stop()
        event.prevent_default()
        if not self.is_current:
            return  # a key that came after the one that left
        self._remark = ""
        counts = self._quiet.passes(event.time)
        self._disturb(event.time)
        if lines := steps(event.key, self._body.size.height):
            self._body.scroll_relative(y=lines, animate=False)
        elif counts and event.key in ("escape", "q"):
            self.dismiss()
        elif counts and event.key == "y":
            self._confirm()
        self.redraw()

    def on_paste(self, event: events.Paste) -> None:
        """A paste is noise."""
        event.stop()
        self._disturb(event.time)

    def on_resize(self) -> None:
        """Fit the screen."""
        self.call_after_refresh(self.redraw)

    def is_about(self, order: Order) -> bool:
        """Whether this dialog waits for the answer to an order."""
        return self._ordered is order

    def recheck(self) -> None:
        """Take in what is known now."""
        now = self._scene.now()
        if now is not None and self._ordered is None:
            before, self.pinned = self.pinned, self.pinned.recheck(self._scene.board, now)
            if self.pinned != before:
                self._disturb(monotonic())  # a key that is on its way was meant for what stood here before
        self.redraw()

    def hear(self, outcomes: list[Outcome]) -> None:
        """Take in an answer: stay if a lease was renewed before it could be settled, else leave."""
        self._ordered = None
        self.pinned = self.pinned.after(outcomes)
        if not self.pinned.pins:
            self.dismiss()
            return
        self._disturb(monotonic())
        self.redraw()

    def remark(self, words: str) -> None:
        """Say why nothing happened; another try is possible."""
        self._ordered = None
        self._remark = words
        self.redraw()

    def redraw(self) -> None:
        """Draw again what is not as it was drawn last."""
        now = self._scene.now()
        if now is None or not self.is_mounted:
            return
        is_framed = self.size.width >= _LEAST_FRAMED.width and self.size.height >= _LEAST_FRAMED.height
        cells = self._shape(is_framed)
        name = database(self._scene.name, cells)
        above = [name, BLANK] if is_framed else [(Span(title(self.pinned), strong=True),), name]
        body = Body(self.pinned, now, cells, above)
        below = self._answers(cells)
        room = self.size.height - len(below) - (3 if is_framed else 0)
        self._body.styles.height = max(1, min(len(body), room))
        self._body.show(body)
        self._below.styles.height = len(below)
        self._below.show(below)

    def _shape(self, is_framed: bool) -> int:
        """Give the dialog its frame, or take it where there is no room for one: the cells inside."""
        self.set_class(not is_framed, "bare")
        self._dialog.border_title = title(self.pinned) if is_framed else None
        outer = min(_WIDEST, self.size.width)
        self._dialog.styles.width = outer
        return max(1, outer - (7 if is_framed else 1))

    def _answers(self, cells: int) -> list[Line]:
        refusal = self._refusal()
        words = self._remark or (refusal if self.pinned.pins and refusal else "")
        said = [(Span(piece, Role.EXPIRING, strong=True),) for piece in wrap(words, cells) if words]
        yes, no = answers(self.pinned)
        is_quiet = self._quiet.is_quiet(monotonic())
        keys = [*_key("y", yes, Role.STALE, lit=is_quiet and refusal is None), blanks(5)] if yes else []
        return [BLANK, *said, (*keys, *_key("esc", no, Role.KEY, lit=is_quiet))]

    def _refusal(self) -> str | None:
        """Why `y` does nothing now."""
        if self._ordered is not None:
            return "under way …"
        if not self.pinned.pins:
            return f"nothing is left to {self.pinned.verb}"
        if self.size.width < _LEAST.width or self.size.height < _LEAST.height:
            return "the screen is too small to show what it is about"
        return self._scene.refusal()

    def _confirm(self) -> None:
        refusal = self._refusal()
        if refusal is not None:
            self._remark = f"not done: {refusal}"
            return
        self._remark = ""
        self._ordered = self.pinned.order()
        self.post_message(Confirmed(self._ordered))

    def _disturb(self, at: float) -> None:
        self._quiet.disturb(at)
        self.set_timer(self._quiet_secs + 0.01, self.redraw)


def _key(key: str, what: str, role: Role, *, lit: bool) -> Line:
    """A key and what it does; faint while it does nothing."""
    return (
        Span(f"{key} ", role if lit else Role.FAINT, strong=lit),
        Span(what, Role.TEXT if lit else Role.FAINT, strong=lit),
    )
