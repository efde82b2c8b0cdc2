"""Asks the database again and again, in a thread of its own, and posts what it says."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, TypeAlias

from lockwatch.core.errors import LockwatchError
from lockwatch.core.text import clean
from lockwatch.core.timestamps import utc_now
from lockwatch.core.watcher import Watcher
from lockwatch.tui.clock import Steady
from lockwatch.tui.messages import Polled, PollFailed

LONGEST_BACKOFF_SECS: Final = 10.0
"""After how many seconds at most a database that failed is asked again."""
_SHARE: Final = 3
"""A table that takes long to read is read so rarely that it takes no more than one part in so many."""

Post: TypeAlias = Callable[[Polled | PollFailed], object]


class Poller:
    """One daemon thread with one watcher. The next poll is armed by the answer to the last, so they never pile up.

    A daemon, since a driver that hangs must not keep the process alive; `post` is called from the thread.
    """

    def __init__(self, watch: Callable[[], Watcher], post: Post, interval: float, steady: Steady) -> None:
        self._watch = watch
        self._post = post
        self._interval = interval
        self._steady = steady
        self._failures = 0
        self._took = 0.0
        self._due = threading.Event()
        self._armed = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lockwatch-poller", daemon=True)

    def start(self) -> None:
        """Begin; the first poll is made at once."""
        self._thread.start()

    def poll_now(self) -> None:
        """Poll at once; if a poll is under way, once more after it."""
        self._due.set()

    def arm(self) -> None:
        """Let the next poll come: the answer to the last one was taken in."""
        self._armed.set()

    def stop(self, wait: float = 0.05) -> None:
        """End, and wait a little (seconds) for the thread; one that hangs is left behind."""
        for event in (self._stopped, self._armed, self._due):
            event.set()
        if self._thread.is_alive():
            self._thread.join(wait)

    @property
    def every(self) -> float:
        """Seconds from one poll to the next while the database answers."""
        return max(self._interval, self._took * _SHARE)

    def _run(self) -> None:
        watcher = self._watch()
        try:
            while not self._stopped.is_set():
                self._due.clear()
                self._tell(self._look(watcher))
                self._armed.wait()
                self._armed.clear()
                self._due.wait(self._delay())
        finally:
            watcher.close()

    def _look(self, watcher: Watcher) -> Polled | PollFailed:
        try:
            answer = self._ask(watcher)
        except Exception as error:  # noqa: BLE001 whatever a driver raises is a state on the screen
            self._failures += 1
            return PollFailed(reason_of(error))
        self._failures = 0
        return answer

    def _ask(self, watcher: Watcher) -> Polled:
        began = self._steady()
        snapshot = watcher.snapshot()
        self._took = self._steady() - began
        skew = (utc_now() - snapshot.taken_at).total_seconds() - self._took
        return Polled(snapshot, began, skew, self.every)

    def _tell(self, answer: Polled | PollFailed) -> None:
        try:
            self._post(answer)
        except RuntimeError:
            if not self._stopped.is_set():  # the app's loop closed first: it is over all the same
                self._stopped.set()
            self._armed.set()

    def _delay(self) -> float:
        if not self._failures:
            return self.every
        return min(max(self._interval, 2.0 ** (self._failures - 1)), max(self._interval, LONGEST_BACKOFF_SECS))


def reason_of(error: Exception) -> str:
    """An error in one clean line; what is not ours, with its kind."""
    words = clean(" ".join(str(error).split()))
    return words if isinstance(error, LockwatchError) else f"{type(error).__name__}: {words}"
