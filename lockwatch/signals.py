"""Standing before the handlers that a process already has for the signals that end it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Final, TypeAlias

from lockwatch.core.acquiring import Acquirer
from lockwatch.core.forking import after_fork

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Those that ask a process to end."""
HANDLER_PATIENCE_SECS: Final = 0.1
"""How long after a signal its handler may take to begin, before the main thread is called once more."""

_OURS: Final = ("lockwatch.core.", "lockwatch.runtime")

Handler: TypeAlias = Callable[[int, FrameType | None], object]


class SignalChain:
    """One handler before the earlier ones of SIGTERM, SIGINT and SIGHUP, which it may still act as.

    A signal that is ignored stays ignored, and one whose handler Python does not know stays with that.
    """

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._earlier: dict[int, Any] = {}

    def install(self) -> bool:
        """Take the place of the earlier handlers: False in a thread that is not the main one, which cannot."""
        if not is_main_thread():
            return False
        for number in SIGNALS:
            earlier = signal.getsignal(number)
            if earlier not in (signal.SIG_IGN, None):
                self._earlier[number] = earlier
                signal.signal(number, self._handler)
        return True

    def has_now(self, number: int) -> bool:
        """Whether the signal is this chain's, and nobody has put another handler before it."""
        return number in self._earlier and signal.getsignal(number) == self._handler

    def restore(self) -> None:
        """Put the earlier handlers back where nobody has put others since. For the main thread."""
        for number, earlier in self._earlier.items():
            if signal.getsignal(number) == self._handler:
                signal.signal(number, earlier)

    def is_default(self, number: int) -> bool:
        """Whether the earlier action is the system's: the process ends by the signal."""
        return self._earlier[number] is signal.SIG_DFL

    def is_ctrl_c(self, number: int) -> bool:
        """Whether the earlier action is Python's own: it raises KeyboardInterrupt."""
        return self._earlier[number] is signal.default_int_handler

    def ends_work(self, number: int) -> bool:
        """Whether the earlier action surely ends what the main thread does."""
        return self.is_default(number) or self.is_ctrl_c(number)

    def is_told_anyway(self, number: int) -> bool:
        """Whether an asyncio loop has the signal already: by its descriptor, while its handler does nothing."""
        return getattr(self._earlier[number], "__module__", None) == "asyncio.unix_events"

    def unwind(self, number: int, frame: FrameType | None) -> None:
        """End what the main thread does by an exception, so that every `with` in it is left in good order.

        Raises:
            SystemExit: with 128 + the signal's number, where the system's action would have ended the process.
            KeyboardInterrupt: where ctrl+c raises it.
        """
        if self.is_default(number):
            raise SystemExit(128 + number)
        self._earlier[number](number, frame)

    def act(self, number: int, frame: FrameType | None) -> None:
        """Do what would have been done without this chain. For the main thread."""
        if self.is_default(number):
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        else:
            self._earlier[number](number, frame)


class Nudge:
    """Calls the main thread once more where it has missed a signal.

    A signal may come to another thread, or to the main one a moment before that begins to wait. Python only notes it
    then, and runs no handler before the main thread goes on by itself. But it writes the signal's number to a
    descriptor at once. Where that is another's, an asyncio loop's as a rule, it has the main thread woken by it.
    """

    def __init__(self, is_missed: Callable[[int], bool]) -> None:
        self._is_missed = is_missed
        self._writer = _NONE
        after_fork(self)

    def start(self) -> None:
        """Begin. For the main thread."""
        reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        earlier = _wake_by(self._writer)
        if earlier != _NONE:
            _wake_by(earlier)
            self._close()
        threading.Thread(target=self._listen, args=(reader,), name="lockwatch signals", daemon=True).start()

    def stop(self) -> None:
        """End. For the main thread."""
        if self._writer != _NONE:
            current = _wake_by(_NONE)
            if current not in (_NONE, self._writer):
                _wake_by(current)
            self._close()

    def become_childs(self) -> None:
        """In a forked child: its signals are nothing to the parent."""
        self.stop()

    def _close(self) -> None:
        os.close(self._writer)
        self._writer = _NONE

    def _listen(self, reader: int) -> None:
        main = threading.main_thread().ident
        while numbers := os.read(reader, 64):
            time.sleep(HANDLER_PATIENCE_SECS)
            for number in filter(self._is_missed, set(numbers)):
                if main is not None:
                    signal.pthread_kill(main, number)
        os.close(reader)


_NONE: Final = -1


def _wake_by(descriptor: int) -> int:
    return signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)


def is_main_thread() -> bool:
    """Whether this is the thread in which Python runs handlers, and the only one that may set them."""
    return threading.current_thread() is threading.main_thread()


def may_interrupt(frame: FrameType | None) -> bool:
    """Whether an exception may be raised where a signal came in: not in the midst of a call of lockwatch's.

    There it could come between a grant and the note that is made of it. A call that merely waits may be interrupted.
    """
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith(_OURS):
            return frame.f_code is Acquirer.pause.__code__
        frame = frame.f_back
    return True
