"""Standing before the handlers that a process already has for the signals that end it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Final, TypeAlias

from lockwatch.core.acquiring import Acquirer

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Those that ask a process to end."""

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

    def restore(self) -> None:
        """Put the earlier handlers back, in the main thread, where nobody has put others since."""
        if not is_main_thread():
            return
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
