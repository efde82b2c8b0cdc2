"""How often the table is looked at, in the steps that the keys take."""

from __future__ import annotations

from typing import Final

_STEPS: Final = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)


def slower_or_faster(interval: float, step: int) -> float:
    """The next longer interval in seconds (`step` above 0), or the next shorter one; the last there is stays."""
    others = [one for one in _STEPS if (one > interval if step > 0 else one < interval)]
    if not others:
        return interval
    return min(others) if step > 0 else max(others)
