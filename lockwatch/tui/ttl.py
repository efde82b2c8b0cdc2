"""How long a lease lasts in all: six columns do not hold a TTL, so it is told from what was seen.

It is exact while the lease was never renewed, an estimate once this dashboard has seen a renewal, else unknown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from lockwatch.tui.words import brief

_ROUND: Final = (300, 60, 30, 10, 5, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ttl:
    """A lifetime in seconds, and whether it is sure."""

    seconds: float
    is_exact: bool

    def __str__(self) -> str:
        return f"{'' if self.is_exact else '~'}{ttl_text(self.seconds)}"


def ttl_text(seconds: float) -> str:
    """A TTL as people say it: `60s`, `90s`, `5m`, `1h`; rounded only if it is longer than any that can be asked for."""
    whole = round(seconds)
    is_round = whole >= 120 and whole % 60 == 0 and (whole < 3600 or whole % 3600 == 0)
    return brief(whole) if is_round or whole >= 10_000 else f"{whole}s"


def estimate(least: float, most: float) -> float:
    """The roundest number of seconds that a renewal between two looks allows; people choose round ones."""
    for step in _ROUND:
        candidate = math.ceil(least / step) * step
        if 0 < candidate <= most:
            return candidate
    return max(1.0, math.ceil(least))
