"""Exceptions that SQLite swallows: ctrl+c must not get lost because it came while SQLite called a function of ours.

Python runs signal handlers between two steps of Python code. While the main thread waits in SQLite for a busy database,
the next such step is the first one of a function that a statement calls. SQLite then says only that it raised.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_FUNCTION_RAISED: Final = "user-defined function raised exception"
_noted: Final = threading.local()


def noting(function: Callable[P, T]) -> Callable[P, T]:
    """The function, of which `swallowed` knows what it raised last in this thread."""

    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            _noted.error = error
            raise

    return call


def swallowed(failure: Exception) -> BaseException | None:
    """What is to be raised instead of a driver's error, if that tells of a function that was interrupted."""
    if str(failure) != _FUNCTION_RAISED:
        return None
    error = vars(_noted).pop("error", None)
    if error is None:  # it came before the function's first step
        return KeyboardInterrupt() if _ctrl_c_raises_here() else None
    return None if isinstance(error, Exception) else error


def _ctrl_c_raises_here() -> bool:
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
