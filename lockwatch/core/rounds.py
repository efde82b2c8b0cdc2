"""A thread that goes its rounds: it works when something is due, and looks at least once a second."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final, TypeAlias

from lockwatch.core.monotonic import Monotonic

log: Final = logging.getLogger("lockwatch")

TICK_SECS: Final = 1.0
"""How long it sleeps at most. Its sleep does not count the machine's sleep, so it must be short."""

Work: TypeAlias = Callable[[], float]
"""Does what is due, and says when the next of it will be."""


class Rounds(threading.Thread):
    """Does its work again and again until there is none left. What the work raises does not end it."""

    def __init__(self, name: str, work: Work, is_over: Callable[[Rounds], bool], monotonic: Monotonic) -> None:
        super().__init__(name=f"lockwatch {name}", daemon=True)
        self._work = work
        self._is_over = is_over
        self._monotonic = monotonic
        self._called = threading.Event()

    def call(self) -> None:
        """Begin the next round now."""
        self._called.set()

    def run(self) -> None:
        """Go round after round. For `start`."""
        while not self._is_over(self):
            self._called.clear()
            self._called.wait(self._go())

    def _go(self) -> float:
        try:
            due = self._work()
        except Exception:
            log.exception("%s failed, and goes on", self.name)
            return TICK_SECS
        return min(TICK_SECS, max(0.0, due - self._monotonic()))
