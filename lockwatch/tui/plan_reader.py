"""Reads the plan whose lock is under the cursor, in a thread of its own, and posts what it is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from lockwatch.tui.clock import Steady
from lockwatch.tui.messages import PlanRead

if TYPE_CHECKING:
    from lockwatch.plans.model import Plan

FindPlan: TypeAlias = "Callable[[str], Plan]"
"""Gives the plan of an id, or raises."""


class PlanReader:
    """One daemon thread that reads one plan at a time: the one that was asked for last.

    It is not the poller's, so that tables of plans that hang never keep the locks from being read. Whatever goes wrong
    with them is no plan, and no more than that: a database may well have none. `post` is called from the thread. It is
    started by the first question after `begin`, and not at all without a way to find plans.
    """

    def __init__(self, find: FindPlan | None, post: Callable[[PlanRead], object], steady: Steady) -> None:
        self._find = find
        self._post = post
        self._steady = steady
        self._wish: str | None = None
        self._asked = threading.Event()
        self._may_read = False
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="lockwatch-plan-reader", daemon=True)

    def begin(self) -> None:
        """Read from now on, first what was asked for last: the rows have been painted."""
        self._may_read = True
        self.ask(self._wish)

    def ask(self, plan_id: str | None) -> None:
        """Read this plan, as soon as the one before it is read; what was asked for in between is not. None: no plan."""
        self._wish = plan_id
        if plan_id is None or self._find is None or self._stopped or not self._may_read:
            return
        self._asked.set()
        if self._thread.ident is None:
            self._thread.start()

    def follow(self, plan_id: str | None) -> None:
        """Read this plan, if it is another one than was asked for last."""
        if plan_id != self._wish:
            self.ask(plan_id)

    def stop(self, wait: float = 0.05) -> None:
        """End, and wait a little (seconds) for the thread; one that hangs is left behind."""
        self._stopped = True
        self._asked.set()
        if self._thread.is_alive():
            self._thread.join(wait)

    def _run(self) -> None:
        while self._asked.wait() and not self._stopped:
            self._asked.clear()
            began, plan = self._steady(), self._look()
            try:
                self._post(PlanRead(plan, began))
            except RuntimeError:  # the app's loop is closed: nobody is left to be told
                return

    def _look(self) -> Plan | None:
        plan_id = self._wish
        try:
            return self._find(plan_id) if self._find and plan_id is not None else None
        except Exception:  # noqa: BLE001 missing tables, no such plan, a row that cannot be read: there is no plan to show
            return None
