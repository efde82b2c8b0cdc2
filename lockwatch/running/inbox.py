"""Signals, and calls from other threads, in one pipe that the main thread can wait for."""

from __future__ import annotations

import os
import select
import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Final, Self

PASSED_ON: Final = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
"""What is sent to this process is meant for the command."""
_NO_SIGNAL: Final = b"\0"


class Inbox:
    """While entered, signals do nothing but arrive here. For the main thread.

    One that is ignored from outside (`nohup`, a shell's background job) stays ignored, here and in the command.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._mutex = threading.Lock()
        self._is_open = False

    def __enter__(self) -> Self:
        self._reader, self._writer = os.pipe()
        for end in (self._reader, self._writer):
            os.set_blocking(end, False)
        self._poll = select.poll()
        self._poll.register(self._reader, select.POLLIN)
        self._is_open = True
        self._wakeup_before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for number in (*PASSED_ON, signal.SIGTSTP):
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                self._before[number] = signal.signal(number, _arrive)
        self._before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, _arrive) or signal.SIG_DFL
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup_before)
        with self._mutex:
            self._is_open = False
            os.close(self._reader)
            os.close(self._writer)

    def wait(self, seconds: float) -> list[int]:
        """The signals that have arrived, in order; none after `seconds`, or when `wake` was called."""
        if not self._poll.poll(seconds * 1000):
            return []
        return [number for number in os.read(self._reader, 4096) if number]

    def wake(self) -> None:
        """Have `wait` return at once. For other threads."""
        with self._mutex:
            if self._is_open:
                os.write(self._writer, _NO_SIGNAL)


def _arrive(_number: int, _frame: FrameType | None) -> None:
    """Python has written the signal's number into the pipe already."""
