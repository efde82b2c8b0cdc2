"""The app: takes in what the poller and the writer post, and turns keys into orders."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import ClassVar, Final, Literal

from rich.console import RenderableType
from textual.app import App
from textual.binding import Binding, BindingType

from lockwatch.core.model import Outcome
from lockwatch.core.service import LockService
from lockwatch.core.state import LockState
from lockwatch.tui.clock import Steady, steady
from lockwatch.tui.freshness import Freshness, Link
from lockwatch.tui.messages import Confirmed, PlanRead, Polled, PollFailed, Settled
from lockwatch.tui.orders import Verb, renewal_ttl
from lockwatch.tui.pins import Pinned, pin
from lockwatch.tui.plan_reader import FindPlan, PlanReader
from lockwatch.tui.poller import Poller
from lockwatch.tui.quiet import QUIET_SECS
from lockwatch.tui.scene import Scene
from lockwatch.tui.screens.confirm import ConfirmScreen
from lockwatch.tui.screens.help import HelpScreen
from lockwatch.tui.screens.watch import WatchScreen
from lockwatch.tui.theme import THEME
from lockwatch.tui.words import plural
from lockwatch.tui.writer import Writer
from lockwatch.wording import count_outcomes, tell_outcome

TICK_SECS: Final = 0.5
"""How often what counts down is looked at, in seconds."""
_NOTICE_SECS: Final = 8
_STDIN: Final = 0


class Dashboard(App[None]):
    """The dashboard over one lock service. `name` is the database's, clean; `interval` in seconds.

    `find_plan` gives the plan of a lock, for the detail; None: no plan is looked for.
    """

    CSS_PATH = "app.tcss"
    TITLE = "lockwatch"
    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "quit", "Quit", priority=True, show=False)]

    def __init__(
        self,
        service: LockService,
        name: str,
        *,
        interval: float = 1.0,
        find_plan: FindPlan | None = None,
        clock: Steady = steady,
        quiet_secs: float = QUIET_SECS,
    ) -> None:
        super().__init__()
        self.animation_level = "none"
        self.scene = Scene(name=name, freshness=Freshness(started=clock(), every=interval), steady=clock)
        self._plan_reader = PlanReader(find_plan, self.post_message, clock)
        self.watch_screen = WatchScreen(self.scene, self._plan_reader.follow)
        self._quiet_secs = quiet_secs
        self._is_ending = False
        self._poller = Poller(service.watcher, self.post_message, interval, clock)
        self._writer = Writer(service, self.post_message)
        self.register_theme(THEME)
        self.theme = THEME.name

    @property
    def failure(self) -> Exception | None:
        """What ended the app, if it did not end as it should."""
        return self._exception

    def end(self) -> None:
        """Quit soon, also if it has hardly begun. May be called from a signal handler."""
        self._is_ending = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self.exit)

    def get_default_screen(self) -> WatchScreen:
        """The table."""
        return self.watch_screen

    def on_ready(self) -> None:
        """Begin to poll and to tick, once there is a screen to show it on."""
        if self._is_ending:
            self.exit()
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
        self.scene.freshness = Freshness(
            started=self.scene.freshness.started,
            every=message.every,
            taken_at=message.snapshot.taken_at,
            polled=message.began,
            skew=message.skew,
        )
        with self.watch_screen.table.held_in_place():
            self.scene.board.see(message.snapshot)
        self._poller.arm()
        self._plan_reader.ask(self.scene.plan_id())
        self._redraw()

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

    def on_confirmed(self, message: Confirmed) -> None:
        """Carry out what was confirmed."""
        if not self._writer.carry_out(message.order):
            self.post_message(Settled(message.order, [], "the order before it has no answer yet"))

    def on_settled(self, message: Settled) -> None:
        """Tell what became of an order, and look at the table at once."""
        if not self.is_running:
            return
        verb, outcomes = message.order.verb, message.outcomes
        self.scene.board.note(verb.done, outcomes)
        self._poller.poll_now()
        if outcomes:
            done = all(outcome.is_done for outcome in outcomes)
            self._tell(_words(verb, outcomes), "information" if done else "warning")
        if message.failure is not None:
            self._tell(f"{verb} failed: {message.failure}", "error")
        self._answer_dialog(message)
        self._redraw()

    def action_order(self, wish: str) -> None:
        """Ask about a wish: `release`, `renew` or `purge`."""
        if self.screen is not self.watch_screen:
            return  # a key that came before the dialog did
        verb = Verb(wish)
        if self.scene.link() is not Link.LIVE:
            self._tell(f"{verb}: refused while {self.scene.link().value}", "warning")
            return
        pinned = self._pin_stale() if verb is Verb.PURGE else self._pin_selected(verb)
        if isinstance(pinned, str):
            self._tell(f"{verb}: {pinned}", "warning")
        else:
            self.push_screen(ConfirmScreen(self.scene, pinned, self._quiet_secs))

    def action_help(self) -> None:
        """Show the help."""
        if self.screen is self.watch_screen:
            self.push_screen(HelpScreen())

    def action_poll_now(self) -> None:
        """Poll at once, also while the database fails."""
        self._poller.poll_now()

    def action_repaint(self) -> None:
        """Draw everything again, whatever else wrote on the terminal."""
        self.refresh(repaint=True, layout=True)
        self.screen.refresh(repaint=True, layout=True)

    def panic(self, *renderables: RenderableType) -> None:  # noqa: ARG002 what would be printed holds values of variables
        """End without a word: `failure` tells."""
        self._close_messages_no_wait()

    def _fatal_error(self) -> None:
        self.panic()

    @property
    def _dialog(self) -> ConfirmScreen | None:
        return self.screen if isinstance(self.screen, ConfirmScreen) else None

    def _tick(self) -> None:
        if not self.is_running:
            return
        if not self.is_headless and not os.isatty(_STDIN):
            self.exit()  # the window was closed and nobody told: else it would go on unseen, at full speed
            return
        now = self.scene.now()
        if now is not None:
            with self.watch_screen.table.held_in_place():
                self.scene.board.pass_time(now)
        self._redraw()

    def _redraw(self) -> None:
        self.watch_screen.redraw()
        if (dialog := self._dialog) is not None:
            dialog.recheck()

    def _pin_selected(self, verb: Verb) -> Pinned | str:
        """The lease under the cursor; or why there is none that this can be done to."""
        board, lock, now = self.scene.board, self.scene.target(), self.scene.now()
        if board.selected is None or now is None:
            return "there is no lock"
        if lock is None:
            return "this lease is gone: move the cursor to another"
        if verb is Verb.RENEW:
            state = board.state(lock, now)
            if state is LockState.STALE:
                return "this lease expired: there is nothing to renew"
            if state is LockState.UNREADABLE:
                return "the expiry of this lease cannot be read: it can only be released"
        return pin(verb, [lock], board, ttl_seconds=renewal_ttl(board.renewals.ttl(lock)))

    def _pin_stale(self) -> Pinned | str:
        """The stale leases that match the filter; or why there are none."""
        now = self.scene.now()
        listed, hidden = self.scene.board.stale(now) if now else ([], 0)
        if listed:
            return pin(Verb.PURGE, listed, self.scene.board, hidden=hidden)
        return f"{plural(hidden, 'stale lock')}, but none matches the filter" if hidden else "no lock is stale"

    def _answer_dialog(self, message: Settled) -> None:
        dialog = self._dialog
        if dialog is None or not dialog.is_about(message.order):
            return
        if message.failure is not None:
            dialog.remark(f"not done: {message.failure}")
        else:
            dialog.hear(message.outcomes)

    def _tell(self, words: str, severity: Literal["information", "warning", "error"]) -> None:
        self.notify(words, severity=severity, timeout=_NOTICE_SECS, markup=False)


def _words(verb: Verb, outcomes: list[Outcome]) -> str:
    """One lease in a sentence, several in counts."""
    return tell_outcome(verb.done, outcomes[0]) if len(outcomes) == 1 else count_outcomes(verb.done, outcomes)
