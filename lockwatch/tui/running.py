"""Runs the dashboard, and leaves the terminal as it was on any way out."""

from __future__ import annotations

import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from lockwatch.core.errors import LockwatchError
from lockwatch.core.service import LockService
from lockwatch.tui.app import Dashboard
from lockwatch.tui.driver import SteadyDriver
from lockwatch.tui.look import Look
from lockwatch.tui.plan_reader import FindPlan
from lockwatch.tui.poller import reason_of
from lockwatch.tui.substitutes import encodable_screen

if TYPE_CHECKING:
    from lockwatch.tui.journal import Journal

_TURN_SECS: Final = 0.001
_ENDING: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
_TEXTUALS: Final = (signal.SIGTSTP, signal.SIGCONT, signal.SIGWINCH, signal.SIGTTOU, signal.SIGTTIN)
"""Signals for which Textual leaves handlers behind."""


def run_dashboard(service: LockService, look: Look, find_plan: FindPlan | None) -> None:
    """See `lockwatch.tui.run`."""
    with _opened(look) as journal:
        dashboard = Dashboard(service, look, find_plan=find_plan, journal=journal)
        dashboard.driver_class = SteadyDriver
        with encodable_screen(), _quick_turns(), _signals(dashboard.end) as received:
            dashboard.run()
    if received:
        _pass_on(*received[0])
    if dashboard.failure is not None:
        raise LockwatchError(_complaint(dashboard.failure)) from dashboard.failure


@contextmanager
def _quick_turns() -> Iterator[None]:
    """Within, a thread that reads a large table lets the screen have its turn sooner than Python would by itself."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_TURN_SECS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _opened(look: Look) -> AbstractContextManager[Journal | None]:
    """The journal that is to be kept, if any."""
    if look.log is None:
        return nullcontext()
    from lockwatch.tui.journal import opened  # late: few keep one

    return opened(look.log, look)


@contextmanager
def _signals(end: Callable[[], None]) -> Iterator[list[tuple[int, Any]]]:
    """Within, a signal that would kill the process calls `end`: which came, and who handled it before."""
    before = {number: signal.getsignal(number) for number in (*_ENDING, *_TEXTUALS)}
    received: list[tuple[int, Any]] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        received.append((number, before[signal.Signals(number)]))
        if len(received) > 1:
            raise SystemExit(128 + number)  # the screen itself hangs: a second signal does not ask
        end()

    for number in _ENDING:
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, handle)
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _pass_on(number: int, earlier: Any) -> None:
    """Let an earlier handler have its signal, and end as a process that it killed would."""
    if callable(earlier) and earlier is not signal.default_int_handler:
        earlier(number, None)
    raise SystemExit(128 + number)


def _complaint(error: Exception) -> str:
    """One line; where it happened goes to a file, without the values of variables."""
    try:
        with tempfile.NamedTemporaryFile("w", prefix="lockwatch-", suffix=".log", delete=False) as log:
            log.write("".join(traceback.format_exception(error)).encode("ascii", "backslashreplace").decode())
    except OSError:
        return f"the dashboard failed: {reason_of(error)}"
    return f"the dashboard failed: {reason_of(error)} (details: {log.name})"
