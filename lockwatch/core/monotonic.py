"""A clock for deadlines and waits: it is never set, and it counts the time that the machine sleeps."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Final, TypeAlias

Monotonic: TypeAlias = Callable[[], float]
"""Seconds since some moment in the past."""


def _boottime() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _macos_monotonic() -> float:
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def _choose() -> Monotonic:
    # time.monotonic() stands still while a machine sleeps: on Linux by its CLOCK_MONOTONIC, on macOS by
    # mach_absolute_time(), whereas CLOCK_MONOTONIC goes on there.
    if hasattr(time, "CLOCK_BOOTTIME"):
        return _boottime
    return _macos_monotonic if sys.platform == "darwin" else time.monotonic


elapsed: Final = _choose()
"""This machine's such clock."""
