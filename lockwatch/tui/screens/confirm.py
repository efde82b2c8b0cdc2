"""The dialog between a wish and its doing: what is lit is what happens."""

from __future__ import annotations

from time import monotonic
from typing import Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Size
from textual.screen import ModalScreen

from lockwatch.cells import fit
from lockwatch.tui.diff import Changes
from lockwatch.tui.header import label_of
from lockwatch.tui.help import Mode
from lockwatch.tui.messages import Cancelled, Confirmed, Settled
from lockwatch.tui.orders import Order
from lockwatch.tui.pins import Pinned
from lockwatch.tui.quiet import QUIET_SECS, Quiet
from lockwatch.tui.rows import bar
from lockwatch.tui.scene import Scene
from lockwatch.tui.screens.framing import LEAST_FRAMED, frame
from lockwatch.tui.screens.help import HelpScreen
from lockwatch.tui.screens.scrolling import steps
from lockwatch.tui.seen import Seen
from lockwatch.tui.spans import BLANK, Line, Role, Span, flow, width_of, wrap
from lockwatch.tui.victims import Body, Victims, answers, title
from lockwatch.tui.widgets.line_view import Lines
from lockwatch.tui.words import number

_LEAST_FRAMED_LINES: Final = 12
"""A screen with fewer lines has no room for a frame."""
_LEAST: Final = Size(20, 7)
"""A screen smaller than this cannot show what would be done."""
_ALONE_SHARE: Final = 1 / 3
"""`y` confirms when no other key has come after it for this share of the quiet time."""
_NOT_ALONE: Final = "not done: y counts only if no other key comes with it"
_UNSEEN: Final = "scroll first, and see what it is about"
_LONG_SECS: Final = 0.5
"""What takes longer than this gets a progress bar."""
_PROGRESS_SECS: Final = 0.2
_BAR_CELLS: Final = 24


class ConfirmScreen(ModalScreen[None]):
    """Asks about pinned leases, which are looked at again with every poll.

    Only `y` confirms, only escape and `q` leave, and no key counts before 0.3 s have passed without any; nor does a `y`
    that another key follows at once, as in a paste, or one before what it is about has been in view.
    """

    def __init__(self, scene: Scene, pinned: Pinned, quiet_secs: float = QUIET_SECS) -> None:
        super().__init__()
        self.pinned = pinned
        self._scene = scene
        self._quiet_secs = quiet_secs
        self._quiet = Quiet(monotonic(), quiet_secs)
        self._ordered: Order | None = None
        self._ordered_at = 0.0
        self._done = 0
        self._drawn_at = 0.0
        self._victims = Victims(pinned)
        self._is_stopping = False
        self._is_confirming = False
        self._remark = ""
        self._seen = Seen()
        self._body = Lines(id="body")
        self._below = Lines(id="answers")
        self._dialog = Vertical(self._body, self._below, id="dialog")

    def compose(self) -> ComposeResult:
        """Facts above, answers below."""
        yield self._dialog

    def on_mount(self) -> None:
        """Count the quiet from when there is something to see."""
        self._disturb(monotonic())
        self.watch(self._body, "scroll_y", self.redraw, init=False)

    def on_screen_resume(self) -> None:
        """After the help, count it anew."""
        self._disturb(monotonic())

    def on_key(self, event: events.Key) -> None:
        """Scroll at once; anything else only after a quiet time."""
        event.stop()
        event.prevent_default()
        if not self.is_current:
            return  # a key that came after the one that left
        counts = self._quiet.passes(event.time)
        if self._is_confirming or counts:
            self._remark = _NOT_ALONE if self._is_confirming else ""
        self._is_confirming = False
        self._disturb(event.time)
        if lines := steps(event.key, self._body.size.height):
            self._body.scroll_relative(y=lines, animate=False)
        elif counts and event.key in ("escape", "q"):
            self._leave()
        elif counts and event.key == "y":
            self._confirm_if_alone()
        elif counts and event.key == "question_mark":
            self.app.push_screen(HelpScreen(Mode.DECIDING))
        self.redraw()

    def on_paste(self, event: events.Paste) -> None:
        """A paste is noise."""
        event.stop()
        self._is_confirming = False
        self._disturb(event.time)

    def on_resize(self) -> None:
        """Fit the screen."""
        self.call_after_refresh(self.redraw)

    def is_about(self, order: Order) -> bool:
        """Whether this dialog waits for the answer to an order."""
        return self._ordered is order

    def see(self, changes: Changes) -> None:
        """Take in what a look at the table showed."""
        if self._ordered is None:
            self._change(self.pinned.recheck(self._scene.board, changes))

    def pass_time(self) -> None:
        """Take in that time has passed."""
        now = self._scene.now()
        if now is not None and self._ordered is None:
            self._change(self.pinned.pass_time(now))
        self.redraw()

    def progress(self, done: int) -> None:
        """Note how far it is; it is drawn a few times a second, however fast it goes."""
        self._done = done
        if monotonic() - self._drawn_at >= _PROGRESS_SECS:
            self.redraw()

    def hear(self, answer: Settled) -> None:
        """Take in an answer: stay if a lease was renewed before it could be settled, or if it failed; else leave."""
        self._ordered, self._is_stopping = None, False
        if answer.failure is not None and not answer.outcomes:
            self._remark = f"not done: {answer.failure}"
            self.redraw()
            return
        self.pinned = self.pinned.after(answer.outcomes)
        if not self.pinned.locks:
            self.dismiss()
            return
        self._disturb(monotonic())
        self.redraw()

    def redraw(self) -> None:
        """Draw again what is not as it was drawn last."""
        now = self._scene.now()
        if now is None or not self.is_mounted:
            return
        self._drawn_at = monotonic()
        if self._victims.pinned is not self.pinned:
            self._victims = Victims(self.pinned)
        is_framed = self.size.width >= LEAST_FRAMED and self.size.height >= _LEAST_FRAMED_LINES
        cells = frame(self, self._dialog, title(self.pinned), is_framed=is_framed)
        name = self._where(cells)
        above = [name, BLANK] if is_framed else [(Span(title(self.pinned), strong=True),), name]
        body = Body(self._victims, now, cells, above)
        room = self.size.height - len(self._answers(cells, is_seen=True)) - (3 if is_framed else 0)
        height = max(1, min(len(body), room))
        top = self._body.scroll_offset.y
        self._seen.note(body.least_seen, cells, range(top, top + height))
        below = self._answers(cells, is_seen=self._seen.is_enough)
        self._body.styles.height = height
        self._body.show(body)
        self._below.styles.height = len(below)
        self._below.show(below)

    def _change(self, pinned: Pinned) -> None:
        before, self.pinned = self.pinned, pinned
        if pinned != before:
            self._is_confirming = False
            self._disturb(monotonic())  # a key that is on its way was meant for what stood here before

    def _where(self, cells: int) -> Line:
        """Where it would happen: the label, and the database."""
        label = label_of(self._scene)
        room = cells - width_of(label) - 3
        return (Span("on ", Role.DIM), *label, Span(fit(self._scene.look.name, room), Role.DIM))

    def _answers(self, cells: int, *, is_seen: bool) -> list[Line]:
        is_quiet = self._quiet.is_quiet(monotonic())
        if self._ordered is not None:
            no = "stopping after this portion" if self._is_stopping else "stop"
            return [BLANK, self._progress(), (*_key("esc", no, Role.KEY, lit=is_quiet and not self._is_stopping),)]
        refusal = self._refusal()
        words = self._remark or (refusal if self.pinned.locks and refusal else "")
        said = [(Span(piece, Role.EXPIRING, strong=True),) for piece in wrap(words, cells) if words]
        yes, no = answers(self.pinned)
        keys = [_key("y", yes, Role.STALE, lit=is_quiet and refusal is None)] if yes else []
        if keys and refusal is None and not is_seen:
            keys = [_key("j", "more", Role.KEY, lit=True)]  # shorter than any that it stands for
        return [BLANK, *said, *flow([*keys, _key("esc", no, Role.KEY, lit=is_quiet)], cells, gap=5)]

    def _progress(self) -> Line:
        """That it is under way; how far it is, if it takes long."""
        order = self._ordered
        if order is None or monotonic() - self._ordered_at < _LONG_SECS:
            return (Span("under way …", Role.EXPIRING, strong=True),)
        whole = len(order.locks)
        words = f"{order.verb.doing}  {number(self._done)} of {number(whole)}"
        return (*bar(self._done / whole, _BAR_CELLS, Role.KEY), Span(f"  {words}", Role.EXPIRING, strong=True))

    def _refusal(self) -> str | None:
        """Why `y` does nothing now."""
        if self._ordered is not None:
            return "under way …"
        if not self.pinned.locks:
            return f"nothing is left to {self.pinned.verb}"
        if self.size.width < _LEAST.width or self.size.height < _LEAST.height:
            return "the screen is too small to show what it is about"
        return self._scene.refusal()

    def _confirm_if_alone(self) -> None:
        """Confirm if no key and no news come at once: a paste begins with one key, where it is not told from typing."""
        if not self._quiet_secs:
            self._confirm()
            return
        self._is_confirming = True
        self.set_timer(self._quiet_secs * _ALONE_SHARE, self._confirm_now)

    def _confirm_now(self) -> None:
        if self._is_confirming and self.is_current:
            self._confirm()
            self.redraw()

    def _confirm(self) -> None:
        self._is_confirming = False
        refusal = self._refusal() or (None if self._seen.is_enough else _UNSEEN)
        if refusal is not None:
            self._remark = f"not done: {refusal}" if self._ordered is None else ""
            return
        self._remark = ""
        self._ordered, self._ordered_at, self._done = self.pinned.order(), monotonic(), 0
        self.post_message(Confirmed(self._ordered))

    def _leave(self) -> None:
        """Leave all as it is; while it is done, begin with no further portion."""
        if self._ordered is None:
            self.dismiss()
        elif not self._is_stopping:
            self._is_stopping = True
            self.post_message(Cancelled(self._ordered))

    def _disturb(self, at: float) -> None:
        self._quiet.disturb(at)
        self.set_timer(self._quiet_secs + 0.01, self.redraw)


def _key(key: str, what: str, role: Role, *, lit: bool) -> Line:
    """A key and what it does; faint while it does nothing."""
    return (
        Span(f"{key} ", role if lit else Role.FAINT, strong=lit),
        Span(what, Role.TEXT if lit else Role.FAINT, strong=lit),
    )
