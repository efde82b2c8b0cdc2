"""Which keys scroll a text, and how far."""

from __future__ import annotations

from typing import Final

_FAR: Final = 10**6
_LINES: Final = {"j": 1, "down": 1, "k": -1, "up": -1, "home": -_FAR, "g": -_FAR, "end": _FAR, "G": _FAR}
_PAGES: Final = {"pagedown": 1, "pageup": -1, "space": 1}


def steps(key: str, page: int) -> int:
    """By how many lines a key scrolls; 0 if it is none that does. `page` is how many lines are in view."""
    return _LINES.get(key, 0) or _PAGES.get(key, 0) * max(1, page - 1)
