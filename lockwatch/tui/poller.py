"""Asks the database again and again, in a thread of its own, and posts what it says."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Final, TypeAlias

from lockwatch.core.errors import LockwatchError
from lockwatch.core.text import clean
from lockwatch.core.timestamps import utc_now
from lockwatch.core.watcher import Watched, Watcher
from lockwatch.tui.catalogue import Catalogue, Selection, select
from lockwatch.tui.clock import Steady
from lockwatch.tui.diff import Changes
from lockwatch.tui.lives import Lives, Ours
from lockwatch.tui.messages import Polled, PollFailed
from lockwatch.tui.wish import Wish

LONGEST_BACKOFF_SECS: Final = 10.0
"""After how many seconds at most a database that failed is asked again."""
_SHARE: Final = 3
"""A table that takes long to read is read so rarely that it takes no more than one part in so many."""

_PAUSE_SECS: Final = 0.5

Post: TypeAlias = Callable[[Polled | PollFailed], object]


class Poller:
    """One daemon thread with one watcher. The next poll is armed by the answer to the last, so they never pile up.

    A daemon, since a driver that hangs must not keep the process alive; `post` is called from the thread. What it reads
    is arranged here, too, as is wished for: `wish` may be set from another thread.
    """

    def __init__(
        self,
        watch: Callable[[], Watcher],
        post: Post,
        interval: float,
        steady: Steady,
        *,
        wish: Wish | None = None,
        ours: Ours | None = None,
    ) -> None:
        self.wish = wish or Wish()
        self.interval = interval
        self._watch = watch
        self._post = post
        self._steady = steady
        self._catalogue = Catalogue(lives=Lives(ours=ours or Ours()))
        self._watcher: Watcher | None = None
        self._is_paused = False
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
        """Poll at once, also while paused; if a poll is under way, once more after it."""
        self._due.set()

    def pause(self) -> None:
        """Poll no more but when told."""
        self._is_paused = True

    def resume(self) -> None:
        """Go on, at once."""
        self._is_paused = False
        self.poll_now()

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
        return max(self.interval, self._took * _SHARE)

    def _run(self) -> None:
        try:
            while not self._stopped.is_set():
                self._due.clear()
                self._tell(self._look())
                self._armed.wait()
                self._armed.clear()
                self._wait()
        finally:
            self._close_watcher()

    def _wait(self) -> None:
        """Until the next poll is due; while paused, until it is asked for."""
        if not self._due.wait(self._delay()):
            while self._is_paused and not self._due.wait(_PAUSE_SECS):
                pass

    def _look(self) -> Polled | PollFailed:
        try:
            answer = self._ask()
        except Exception as error:  # noqa: BLE001 whatever a driver raises is a state on the screen
            self._failures += 1
            return PollFailed(reason_of(error))
        self._failures = 0
        return answer

    def _ask(self) -> Polled:
        began, before = self._steady(), utc_now()
        watched = self._watched()
        skew = _skew(before, watched.taken_at, utc_now())
        changes, selection = self._arrange(watched)
        self._took = self._steady() - began
        return Polled(self._catalogue, changes, selection, began=began, skew=skew, took=self._took, every=self.every)

    def _watched(self) -> Watched:
        """A look; the first one of a new watcher is set beside all that is known."""
        if self._watcher is not None:
            return self._watcher.look()
        watcher = self._watch()
        try:
            watched = watcher.look()
        except Exception:
            watcher.close()
            raise
        self._watcher = watcher
        return replace(watched, came=watched.locks, went=self._catalogue.locks)

    def _arrange(self, watched: Watched) -> tuple[Changes, Selection]:
        wish = self.wish
        try:
            catalogue, changes = self._catalogue.after(watched, wish.sort.column)
            selection = select(catalogue, wish, watched.taken_at)
        except Exception:
            self._close_watcher()  # what it told of is lost: all must be told anew
            raise
        self._catalogue = catalogue
        return changes, selection

    def _close_watcher(self) -> None:
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None

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
        return min(max(self.interval, 2.0 ** (self._failures - 1)), max(self.interval, LONGEST_BACKOFF_SECS))


def _skew(before: datetime, there: datetime, after: datetime) -> float:
    """How far this machine's clock surely is ahead of the one that told a moment between two of its own, in seconds."""
    return max((before - there).total_seconds(), 0.0) + min((after - there).total_seconds(), 0.0)


def reason_of(error: Exception) -> str:
    """An error in one clean line; what is not ours, with its kind."""
    words = clean(" ".join(str(error).split()))
    return words if isinstance(error, LockwatchError) else f"{type(error).__name__}: {words}"
