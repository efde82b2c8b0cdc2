"""No call is under way, and no connection open, while the process forks.

SQLite keeps an account of the locks that a process has on a file, for all its connections together. A forked child
has a copy of it, but none of the locks. If its parent had a connection open, the child's own connections would hold no
lock on the file either: the last one else to close it removes the write-ahead log under the child, whose grants nobody
sees from then on. If a write was under way, the child would wait for it for ever.
"""

from __future__ import annotations

import threading
from time import monotonic, sleep
from typing import Final

PATIENCE_SECS: Final = 6.0
"""How long a fork waits for calls that are under way: longer than one waits for a busy database."""
_LOOK_AGAIN_SECS: Final = 0.001


class Gate:
    """Lets calls in, but none while it is shut.

    To pass it takes no lock, since every call does. A call says that it is inside before it looks whether the gate is
    shut, and who shuts it looks at who is inside afterwards: one of the two sees the other.
    """

    def __init__(self) -> None:
        self._inside: set[object] = set()
        self._is_shut = False
        self._shut_by = 0
        self._counting = threading.RLock()  # a signal may fork in the midst of it
        self._opened = threading.Event()

    def enter(self, call: object) -> None:
        """Begin a call."""
        self._inside.add(call)
        while self._is_shut:
            self._inside.discard(call)
            self._opened.wait()
            self._inside.add(call)

    def leave(self, call: object) -> None:
        """End it."""
        self._inside.discard(call)

    def shut(self) -> None:
        """Let nobody in, and wait until nobody is. Several threads may fork at once: each opens it again once."""
        with self._counting:
            self._shut_by += 1
            self._opened.clear()
            self._is_shut = True
        give_up_at = monotonic() + PATIENCE_SECS
        while self._inside and monotonic() < give_up_at:
            sleep(_LOOK_AGAIN_SECS)

    def open(self) -> None:
        """Let all in again, if nobody else keeps it shut."""
        with self._counting:
            self._shut_by -= 1
            if not self._shut_by:
                self._is_shut = False
                self._opened.set()
