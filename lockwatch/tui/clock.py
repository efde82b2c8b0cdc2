"""A clock for intervals, which also counts the time that the machine sleeps; and moments at the calendar's end."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

Steady: TypeAlias = Callable[[], float]
"""Seconds from some fixed moment; never set, never back."""

# On Linux CLOCK_MONOTONIC stands still while the machine sleeps; on macOS it does not.
_COUNTS_SLEEP: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def steady() -> float:
    """Seconds since the machine was started, with the time it slept."""
    return time.clock_gettime(_COUNTS_SLEEP)


def later(moment: datetime, seconds: float) -> datetime:
    """A moment so many seconds after another: the last of the calendar, where that is beyond it."""
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)
