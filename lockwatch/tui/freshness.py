"""How old what is on the screen is, and whether the database still answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from lockwatch.tui.messages import Polled

PATIENCE_SECS: Final = 3.0
"""How many seconds beyond its interval a poll may take before the database counts as out of reach."""
SKEW_SECS: Final = 1.0
"""By how many seconds this machine's clock may be off before it is worth a word."""


class Link(Enum):
    """How the database stands to the screen."""

    CONNECTING = "connecting"
    LIVE = "live"
    PAUSED = "PAUSED"
    DISCONNECTED = "DISCONNECTED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """What the last polls gave. Times without a date are seconds of a steady clock; `took` is what a poll took."""

    started: float
    every: float
    taken_at: datetime | None = None
    polled: float | None = None
    took: float = 0.0
    skew: float = 0.0
    failure: str | None = None
    paused: float | None = None

    def after(self, polled: Polled, steady: float) -> Freshness:
        """What it is once a poll was taken in. A screen that is paused stands still at that moment from then on."""
        return Freshness(
            started=self.started,
            every=polled.every,
            taken_at=polled.catalogue.taken_at,
            polled=polled.began,
            took=polled.took,
            skew=polled.skew,
            paused=None if self.paused is None else steady,
        )

    def age(self, steady: float) -> float:
        """How old the data is, in seconds; since the start if there is none yet."""
        return max(0.0, steady - (self.started if self.polled is None else self.polled))

    def now(self, steady: float) -> datetime | None:
        """The moment by the clock that judges: that of the last poll, and the time since; None before the first.

        It stands still while the screen is paused: nobody is seen to renew, and so nobody is seen to expire.
        """
        steady = steady if self.paused is None else self.paused
        return None if self.taken_at is None else self.taken_at + timedelta(seconds=self.age(steady))

    def link(self, steady: float) -> Link:
        """Whether the screen may be believed."""
        if self.failure is not None:
            return Link.DISCONNECTED
        if self.paused is not None:
            return Link.PAUSED
        if self.age(steady) > self.every + PATIENCE_SECS:
            return Link.DISCONNECTED
        return Link.CONNECTING if self.polled is None else Link.LIVE

    def reason(self) -> str:
        """Why there is no link, in one line."""
        return self.failure or "the database does not answer"
