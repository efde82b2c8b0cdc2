"""Measuring ratios on machines that are shared and noisy: both sides in turn, the median of the pairs."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Protocol


class Line(Protocol):
    """A line of the report; it shows itself as text."""

    @property
    def is_met(self) -> bool:
        """Whether nothing misses its bar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One ratio and its bar: at least (`>=`) or at most (`<=`)."""

    name: str
    ratio: float
    relation: str
    bar: float
    remark: str = ""
    """What to read it by."""

    @property
    def is_met(self) -> bool:
        """Whether the ratio is on the right side of its bar."""
        return self.ratio >= self.bar if self.relation == ">=" else self.ratio <= self.bar

    def cells(self) -> tuple[str, str, str, str]:
        """Name, value, bar, remark."""
        missed = "" if self.is_met else " MISSED"
        return self.name, f"{self.ratio:.2f}", f"{self.relation} {self.bar:.2f}{missed}", self.remark

    def __str__(self) -> str:
        return in_columns(*self.cells())


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What is shown, and has no bar."""

    name: str
    value: str
    remark: str = ""
    is_met: bool = True

    def cells(self) -> tuple[str, str, str, str]:
        """Name, value, no bar, remark."""
        return self.name, self.value, "", self.remark

    def __str__(self) -> str:
        return in_columns(*self.cells())


def in_columns(name: str, value: str, bar: str, remark: str) -> str:
    """A line of the report."""
    return f"{name:<66} {value:>8}  {bar:<9}  {remark}".rstrip()


def absent(what: str, reason: str) -> Reading:
    """What cannot be measured here, and why."""
    return Reading(name=what, value="–", remark=f"not measured: {reason}")


def seconds(work: Callable[[], object]) -> float:
    """How long `work` takes, with the collector of garbage out of the way."""
    gc.collect()
    gc.disable()
    started = time.perf_counter()
    try:
        work()
        return time.perf_counter() - started
    finally:
        gc.enable()


def median_ratio(one: Callable[[], object], other: Callable[[], object], rounds: int) -> float:
    """Time of `one` over time of `other`: the median of `rounds` pairs, each run back to back."""
    one(), other()
    return median(seconds(one) / seconds(other) for _ in range(rounds))


def p99(values: Iterable[float]) -> float:
    """What 99 of 100 values do not exceed."""
    return quantiles(values, n=100, method="inclusive")[-1]
