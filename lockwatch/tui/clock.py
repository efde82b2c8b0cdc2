"""A clock for intervals, which also counts the time that the machine sleeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeAlias

Steady: TypeAlias = Callable[[], float]
"""Seconds from some fixed moment; never set, never back."""

# On Linux CLOCK_MONOTONIC stands still while the machine sleeps; on macOS it does not.
_COUNTS_SLEEP: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def steady() -> float:
    """Seconds since the machine was started, with the time it slept."""
    return time.clock_gettime(_COUNTS_SLEEP)
