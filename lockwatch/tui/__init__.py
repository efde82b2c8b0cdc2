"""The dashboard: a terminal screen over a lock service."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lockwatch.core.service import LockService
    from lockwatch.tui.look import Look
    from lockwatch.tui.plan_reader import FindPlan


def can_draw() -> bool:
    """Whether there is a terminal to draw on. Textual draws on the one of stderr and reads keys from stdin."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    is_terminal = all(stream is not None and stream.isatty() for stream in streams)
    return is_terminal and os.environ.get("TERM", "dumb") not in ("", "dumb")


def run(service: LockService, look: Look, *, find_plan: FindPlan | None = None) -> None:
    """Show the dashboard until it is quit. To be called in the main thread, on a terminal.

    Args:
        service: whose locks are shown and settled. It is not closed here.
        look: what the database is called, and what is shown at first.
        find_plan: gives the plan of an id, for the detail of its lock, and may raise anything: then there is none to
            show. Called in a thread of its own. None: no plan is looked for.

    Raises:
        LockwatchError: the dashboard failed, or its log file cannot be opened; the screen is restored, and the message
            is one line.
        SystemExit: a signal (TERM, HUP, INT, QUIT) ended it; the screen is restored.
    """
    from lockwatch.tui.running import run_dashboard  # late: textual is needed nowhere else

    run_dashboard(service, look, find_plan)
