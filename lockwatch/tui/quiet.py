"""Guards a dialog against keys that were not meant for it: a typing storm, a paste, a key held down."""

from __future__ import annotations

from typing import Final

QUIET_SECS: Final = 0.3
"""For how long no key may have come before one counts, in seconds."""


class Quiet:
    """Lets a key pass only after a time without any."""

    def __init__(self, since: float, seconds: float = QUIET_SECS) -> None:
        self._last = since
        self._seconds = seconds

    def passes(self, at: float) -> bool:
        """Whether a key that came at `at` counts. It disturbs the quiet either way."""
        quiet = self.is_quiet(at)
        self.disturb(at)
        return quiet

    def is_quiet(self, at: float) -> bool:
        """Whether a key would count at `at`."""
        return at - self._last >= self._seconds

    def disturb(self, at: float) -> None:
        """Begin to wait anew."""
        self._last = max(self._last, at)
