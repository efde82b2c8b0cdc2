"""Who wants the same thing goes one after the other; who wants other things does not wait."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Hashable
from types import TracebackType


class Turn:
    """`with turn:` one thread at a time."""

    __slots__ = ("__weakref__", "_mutex")

    def __init__(self) -> None:
        self._mutex = threading.Lock()

    def __enter__(self) -> None:
        self._mutex.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._mutex.release()


class Turns:
    """A turn for each name, which is forgotten when nobody wants it any more."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._turns: weakref.WeakValueDictionary[Hashable, Turn] = weakref.WeakValueDictionary()

    def of(self, name: Hashable) -> Turn:
        """The turn of that name: the same one for all who have it at the same time."""
        with self._mutex:
            turn = self._turns.get(name)
            if turn is None:
                turn = self._turns[name] = Turn()
            return turn
