"""How those who want the same resource get it in turn, though nothing is written about who waits.

Waiters look now and then. A resource that is released and asked for again at once is hardly ever free when they do, and
one contender would keep it: of eight, one got 1,669 of 2,000 grants, and three none. Two habits help:

- **Who has just released it and would wait for it again stands back**, for as long as it was held, and never for longer
  than a waiter's pause. Who held it for that long leaves it to any waiter; who asks without waiting loses nothing.
- **Who was passed over looks more often** from then on. Behind one holder that keeps it for long nobody does.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from lockwatch.core.model import Key
from lockwatch.core.monotonic import Monotonic

GREATEST_PACE: Final = 4.0
"""How many times as often as at first a waiter looks at the most."""
PASSED_OVER_FOR_TWICE: Final = 3
"""How often it was passed over when it looks twice as often."""
MOST: Final = 1000
"""How many resources are remembered: only the last second of each matters."""


class Courtesy:
    """Knows what this service held and released of late. It asks no database."""

    def __init__(self, monotonic: Monotonic, longest_seconds: float) -> None:
        self._monotonic = monotonic
        self._longest_seconds = longest_seconds
        self._held_since: OrderedDict[Key, float] = OrderedDict()
        self._others_until: OrderedDict[Key, float] = OrderedDict()

    def granted(self, key: Key, sent_at: float) -> None:
        """A resource was granted anew, as asked for at `sent_at`."""
        _remember(self._held_since, key, sent_at)

    def released(self, key: Key) -> None:
        """It was released."""
        since = self._held_since.pop(key, None)
        if since is not None:
            now = self._monotonic()
            _remember(self._others_until, key, now + min(now - since, self._longest_seconds))

    def pause(self, key: Key) -> float:
        """For how many seconds from now it is others' to look whether it is free."""
        return max(0.0, self._others_until.get(key, 0.0) - self._monotonic())


class Pace:
    """How often one waiter looks, as a multiple of how often it looks at first."""

    def __init__(self) -> None:
        self._fence: int | None = None
        self._passed_over = -1

    def behind(self, fence: int) -> float:
        """Its pace while it waits for the lease with that fence: another one than before was granted past it."""
        if fence != self._fence:
            self._fence = fence
            self._passed_over += 1
        return min(1 + self._passed_over / PASSED_OVER_FOR_TWICE, GREATEST_PACE)


def _remember(moments: OrderedDict[Key, float], key: Key, moment: float) -> None:
    moments.pop(key, None)  # the newest stand last
    moments[key] = moment
    if len(moments) > MOST:
        moments.popitem(last=False)
