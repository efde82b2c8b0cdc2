"""Measuring ratios on machines that are shared and noisy: both sides in turn, the median of the pairs."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One ratio and its bar: at least (`>=`) or at most (`<=`)."""

    name: str
    ratio: float
    relation: str
    bar: float

    @property
    def is_met(self) -> bool:
        """Whether the ratio is on the right side of its bar."""
        return self.ratio >= self.bar if self.relation == ">=" else self.ratio <= self.bar

    def __str__(self) -> str:
        return f"{self.name:<52} {self.ratio:5.2f}  {self.relation} {self.bar:.2f}{'' if self.is_met else '  MISSED'}"


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
