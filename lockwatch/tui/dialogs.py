"""From a wish to what became of it: a dialog, the order that is confirmed in it, and its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockwatch.tui.diff import Changes
from lockwatch.tui.messages import Progressed, Settled
from lockwatch.tui.notices import NoticingApp
from lockwatch.tui.orders import Order, Verb
from lockwatch.tui.scene import Scene
from lockwatch.tui.telling import Severity, tell
from lockwatch.tui.writer import Writer

if TYPE_CHECKING:
    from lockwatch.tui.screens.confirm import ConfirmScreen


class Dialogs:
    """The app's dialogs, of which there is one at most at a time. It outlives the order that is confirmed in it."""

    def __init__(self, app: NoticingApp, scene: Scene, writer: Writer, quiet_secs: float) -> None:
        self._app = app
        self._scene = scene
        self._writer = writer
        self._quiet_secs = quiet_secs
        self._open: ConfirmScreen | None = None

    def ask(self, verb: Verb) -> None:
        """Open a dialog about a wish; or tell why there is nothing that this can be done to."""
        from lockwatch.tui.asking import ask  # late, as all that a first frame does without
        from lockwatch.tui.screens.confirm import ConfirmScreen

        pinned = ask(self._scene, verb)
        if isinstance(pinned, str):
            self.tell(f"{verb}: {pinned}", "warning")
        else:
            self._app.clear_notifications()
            self._open = ConfirmScreen(self._scene, pinned, self._quiet_secs)
            self._app.push_screen(self._open, self._forget)

    def carry_out(self, order: Order) -> None:
        """Begin with an order, unless another is under way."""
        if not self._writer.carry_out(order):
            self._app.post_message(Settled(order, [], "the order before it has no answer yet"))

    def stop(self) -> None:
        """Begin with no further portion of the order that is under way."""
        self._writer.cancel()

    def progress(self, message: Progressed) -> None:
        """Show how far an order is, if its dialog is still open."""
        if (dialog := self._open) is not None and dialog.is_about(message.order):
            dialog.progress(message.done)

    def hear(self, message: Settled) -> None:
        """Tell what became of an order."""
        for notice in tell(message):
            self.tell(*notice)
        if (dialog := self._open) is not None and dialog.is_about(message.order):
            dialog.hear(message)

    def see(self, changes: Changes) -> None:
        """Take in what a look at the table showed."""
        if self._open is not None:
            self._open.see(changes)

    def pass_time(self) -> None:
        """Take in that time has passed."""
        if self._open is not None:
            self._open.pass_time()

    def redraw(self) -> None:
        """Draw again what is not as it was drawn last."""
        if self._open is not None:
            self._open.redraw()

    def tell(self, words: str, severity: Severity = "information") -> None:
        """Give a notice; while a dialog is open it waits, for none covers a dialog."""
        self._app.give_notice(words, severity, waits=self._open is not None)

    def _forget(self, _: None) -> None:
        self._open = None
        self._app.give_what_waited()
