"""The terminal that a job was started from: which process group is in its foreground."""

from __future__ import annotations

import os
import signal
import stat
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

_STDIN: Final = 0
_STDOUT: Final = 1


class Terminal:
    """This process's controlling terminal. Without one nothing is given to anybody. Use it in a `with`."""

    def __init__(self) -> None:
        self._descriptor: int | None = None
        with suppress(OSError):
            self._descriptor = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)

    def give(self, group: int) -> bool:
        """Bring a process group to the foreground if this process's own is there: whether it is there now."""
        foreground = self._foreground()
        return foreground == group or (foreground == os.getpgrp() and self._set(group))

    def take_back(self, group: int) -> bool:
        """Bring this process's own group to the foreground if the other one is there: whether that was done."""
        return self._foreground() == group and self._set(os.getpgrp())

    def _foreground(self) -> int | None:
        if self._descriptor is not None:
            with suppress(OSError):
                return os.tcgetpgrp(self._descriptor)
        return None

    def _set(self, group: int) -> bool:
        # Whoever is in the background and does this is stopped for it, unless the signal is blocked.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        try:
            os.tcsetpgrp(self._descriptor or 0, group)
        except OSError:
            return False
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)


def is_interactive() -> bool:
    """Whether a person types into the command's stdin, and its stdout is no pipe to somebody who may want the keys."""
    with suppress(OSError):
        mode = os.fstat(_STDOUT).st_mode
        return os.isatty(_STDIN) and not stat.S_ISFIFO(mode) and not stat.S_ISSOCK(mode)
    return False


def signal_rest_of_job(number: int) -> None:
    """Send a signal to all other processes of this one's group, as the terminal would have done."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        os.killpg(os.getpgrp(), number)
    finally:
        signal.signal(number, before)


def die_of(number: int) -> None:
    """End this process by a signal, so that whoever waits for it can tell."""
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)
