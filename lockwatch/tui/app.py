"""The app: takes in what the poller and the writer post, and turns keys into orders."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding, BindingType

from lockwatch.core.service import LockService
from lockwatch.core.text import shorten
from lockwatch.tui.board import Board
from lockwatch.tui.clock import Steady, steady
from lockwatch.tui.dialogs import Dialogs
from lockwatch.tui.ending import settle_memory
from lockwatch.tui.freshness import Freshness, Link
from lockwatch.tui.look import Look
from lockwatch.tui.messages import (
    Confirmed,
    JournalFailed,
    PlanRead,
    Polled,
    PollFailed,
    Progressed,
    Settled,
)
from lockwatch.tui.notices import NoticingApp
from lockwatch.tui.orders import Verb
from lockwatch.tui.pace import slower_or_faster
from lockwatch.tui.plan_reader import FindPlan, PlanReader
from lockwatch.tui.poller import Poller
from lockwatch.tui.quiet import QUIET_SECS
from lockwatch.tui.scene import Scene
from lockwatch.tui.screens.watch import WatchScreen
from lockwatch.tui.themes import install
from lockwatch.tui.wish import first_wish
from lockwatch.tui.words import plural
from lockwatch.tui.writer import Writer

if TYPE_CHECKING:
    from datetime import datetime

    from textual.command import Provider

    from lockwatch.tui.journal import Journal

TICK_SECS: Final = 0.5
"""How often what counts down is looked at, in seconds."""
PASS_SECS: Final = 0.9
"""How long what counts down may stand, in seconds: a poll that finds nothing new looks at it, too."""
_COPIED: Final = 160
"""So many characters of what was copied are told."""
_CALM_SECS: Final = 1.0
"""After how many seconds what was read and imported until then is taken as there to stay."""


def _commands() -> type[Provider]:
    from lockwatch.tui.commands import KeyCommands  # late, as all that a first frame does without

    return KeyCommands


class Dashboard(NoticingApp):
    """The dashboard over one lock service. `find_plan` gives the plan of a lock; None: no plan is looked for."""

    CSS_PATH = "app.tcss"
    TITLE = "lockwatch"
    COMMANDS: ClassVar = {_commands}
    COMMAND_PALETTE_BINDING = "ctrl+p"
    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "quit", "Quit", priority=True, show=False),
        Binding("ctrl+z", "suspend_process", "Suspend", priority=True, show=False),
    ]

    def __init__(
        self,
        service: LockService,
        look: Look,
        *,
        find_plan: FindPlan | None = None,
        journal: Journal | None = None,
        clock: Steady = steady,
        quiet_secs: float = QUIET_SECS,
    ) -> None:
        super().__init__()
        self.animation_level = "none"
        board = Board(first_wish(look))
        self.scene = Scene(
            look=look,
            freshness=Freshness(started=clock(), every=look.interval),
            steady=clock,
            board=board,
            read_only=service.read_only,
        )
        self._plan_reader = PlanReader(find_plan, self.post_message, clock)
        self.watch_screen = WatchScreen(self.scene, self._plan_reader.follow)
        self._waiting: list[Polled] = []
        self._passed_at = 0.0
        self._is_asked = False
        self._journal = journal
        self._poller = Poller(
            service.watcher, self.post_message, look.interval, clock, wish=board.wish, ours=board.ours
        )
        self._dialogs = Dialogs(self, self.scene, Writer(service, self.post_message), quiet_secs)
        install(self, look.theme)

    def get_default_screen(self) -> WatchScreen:
        """The table."""
        return self.watch_screen

    def on_ready(self) -> None:
        """Begin to poll and to tick, once there is a screen to show it on."""
        if self.is_ending:
            self.exit()
        if self._journal is not None:
            self._journal.start(lambda reason: self.post_message(JournalFailed(reason)))
        self.app_resume_signal.subscribe(self, lambda _: self.action_repaint())
        self._poller.start()
        self.set_interval(TICK_SECS, self._tick)

    def on_unmount(self) -> None:
        """End the threads that read."""
        self._poller.stop()
        self._plan_reader.stop()

    def on_polled(self, message: Polled) -> None:
        """Take in what the table looks like now."""
        if not self.is_running:
            return
        self._waiting.append(message)
        if self.scene.freshness.paused is None or self._is_asked:
            self._is_asked = False
            self._take_in_waiting()
        self._poller.arm()

    def on_plan_read(self, message: PlanRead) -> None:
        """Show the plan, if the cursor is still on it."""
        if self.is_running and self.scene.note_plan(message.plan, message.began):
            self._redraw()

    def on_poll_failed(self, message: PollFailed) -> None:
        """Keep the last data, and say that it is old."""
        if not self.is_running:
            return
        self.scene.freshness = replace(self.scene.freshness, failure=message.reason)
        self._poller.arm()
        self._redraw()

    def on_journal_failed(self, message: JournalFailed) -> None:
        """Say that what happens is not written down."""
        if self.is_running:
            self._dialogs.tell(f"log: {message.reason}", "error")

    def on_confirmed(self, message: Confirmed) -> None:
        """Carry out what was confirmed."""
        self._dialogs.carry_out(message.order)

    def on_cancelled(self) -> None:
        """Begin with no further portion of it."""
        self._dialogs.stop()

    def on_progressed(self, message: Progressed) -> None:
        """Take in what became of a portion."""
        if not self.is_running:
            return
        self.scene.board.note(message.order.verb.done, message.outcomes)
        self.scene.activity.note(message.order.verb.done, message.outcomes)
        if self._journal is not None:
            self._journal.note(message.order.verb.done, message.outcomes)
        self._dialogs.progress(message)

    def on_settled(self, message: Settled) -> None:
        """Tell what became of an order, and look at the table at once."""
        if not self.is_running:
            return
        self._poller.poll_now()
        self._dialogs.hear(message)
        self._redraw()

    def action_order(self, wish: str) -> None:
        """Ask about a wish: `release`, `renew` or `purge`."""
        if self.screen is self.watch_screen:  # or the key came before a dialog did
            self._dialogs.ask(Verb(wish))

    def action_help(self) -> None:
        """Show the keys of the table."""
        if self.screen is self.watch_screen:
            from lockwatch.tui.screens.help import HelpScreen

            self.push_screen(HelpScreen())

    def action_all_activity(self) -> None:
        """Show all that happened."""
        if self.screen is self.watch_screen:
            from lockwatch.tui.screens.activity import ActivityScreen

            self.push_screen(ActivityScreen(self.scene))

    def action_pause(self) -> None:
        """Let nothing move, or go on."""
        scene = self.scene
        if scene.freshness.paused is None:
            scene.freshness = replace(scene.freshness, paused=scene.steady())
            self._poller.pause()
        else:
            scene.freshness = replace(scene.freshness, paused=None)
            self._take_in_waiting()
            self._poller.resume()
        self._redraw()

    def action_pace(self, step: int) -> None:
        """Look less often (1), or more often (-1)."""
        self._poller.interval = slower_or_faster(self._poller.interval, step)
        self.scene.freshness = replace(self.scene.freshness, every=self._poller.every)
        if self.scene.freshness.paused is None:
            self._poller.poll_now()
        self._redraw()

    def action_copy(self) -> None:
        """Copy what is known of the marked leases, or of the one under the cursor."""
        from lockwatch.tui import copying

        now = self.scene.now()
        lines = copying.lines(self.scene.board, now) if now is not None else []
        if lines:
            self.copy_to_clipboard("\n".join(lines))
            what = shorten(lines[0], _COPIED) if len(lines) == 1 else plural(len(lines), "lease")
            self._dialogs.tell(f"copied: {what}")

    def action_poll_now(self) -> None:
        """Poll at once, also while the database fails or the screen is paused."""
        self._is_asked = self.scene.freshness.paused is not None
        self._poller.poll_now()

    def action_repaint(self) -> None:
        """Draw everything again, whatever else wrote on the terminal."""
        self.refresh(repaint=True, layout=True)
        self.screen.refresh(repaint=True, layout=True)

    def action_command_palette(self) -> None:
        """The same actions by name; from the table alone, so that no dialog is acted past."""
        if self.screen is self.watch_screen:
            super().action_command_palette()

    def follow_wish(self) -> None:
        """Let the poller arrange what it reads as it is wished for now."""
        self._poller.wish = self.scene.board.wish

    def _take_in_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for polled in waiting:
            self._take_in(polled)

    def _take_in(self, message: Polled) -> None:
        scene = self.scene
        previous = scene.board.taken_at if scene.board.is_filled else None
        was_away = self._note_gap(previous, message.catalogue.taken_at)
        scene.freshness = scene.freshness.after(message, scene.steady())
        rows = scene.board.rows
        with self.watch_screen.table.held_in_place():
            scene.board.see(message.catalogue, message.changes, message.selection)
        events = scene.activity.see(message.changes, message.catalogue, previous, scene.board)
        if self._journal is not None:
            self._journal.add(message.changes, message.catalogue, previous)
        self._plan_reader.ask(scene.plan_id())
        self._dialogs.see(message.changes)
        if previous is None:
            self.call_after_refresh(self._plan_reader.begin)
            self.set_timer(_CALM_SECS, settle_memory)
        if events or message.changes or scene.board.rows is not rows or previous is None or was_away:
            self._redraw()
        else:
            self._pass_time()

    def _note_gap(self, start: datetime | None, end: datetime) -> bool:
        """Whether the database did not answer from the look of `start` on; that is taken in as well."""
        if start is None or self.scene.link() is not Link.DISCONNECTED:
            return False
        self.scene.activity.miss(start, end)
        if self._journal is not None:
            self._journal.miss(start, end)
        return True

    def _tick(self) -> None:
        if not self.is_running:
            return
        if self.is_abandoned():
            self.exit()
            return
        if monotonic() - self._passed_at >= PASS_SECS:
            self._pass_time()

    def _pass_time(self) -> None:
        """Draw what time alone has changed."""
        self._passed_at = monotonic()
        now = self.scene.now()
        before = self.scene.board.rows
        if now is not None and self.scene.freshness.paused is None:
            with self.watch_screen.table.held_in_place():
                self.scene.board.pass_time(now)
        self.watch_screen.pass_time(rows_changed=self.scene.board.rows is not before)
        self._dialogs.pass_time()

    def _redraw(self) -> None:
        self.watch_screen.redraw()
        self._dialogs.redraw()
