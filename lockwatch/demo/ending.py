"""Ending in good order when a signal asks for it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Final, Self

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


class Ending:
    """While entered, these signals become SystemExit(128 + n) of the first of them, but only inside `welcome`.

    What makes and clears away processes and files stays outside, so that no signal comes between the two halves
    of a step. One that came before `welcome` counts when that begins. For the main thread.
    """

    def __init__(self) -> None:
        self._before: dict[signal.Signals, Any] = {}
        self._received: int | None = None
        self._welcome = False

    def __enter__(self) -> Self:
        for number in SIGNALS:
            # Ignored from outside (nohup, a shell's background job) is meant to stay ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def welcome(self) -> Iterator[None]:
        """A signal ends this block.

        Raises:
            SystemExit: with 128 + the signal's number, whatever else the block raised.
        """
        try:
            self._welcome = True
            self._end_if_asked()
            yield
        finally:
            self._welcome = False
            # An exception that is raised in a callback of SQLite or of the garbage collector is lost.
            self._end_if_asked()

    def _take(self, number: int, _frame: FrameType | None) -> None:
        self._received = self._received or number
        if self._welcome:
            self._end_if_asked()

    def _end_if_asked(self) -> None:
        if self._received is not None:
            raise SystemExit(128 + self._received)
