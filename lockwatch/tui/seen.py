"""Whether a text that must be read before a key counts has been in view."""

from __future__ import annotations


class Seen:
    """How much of a text was in view, from its start on without a gap."""

    def __init__(self) -> None:
        self._wanted = (0, 0)
        self._lines = 0

    def note(self, needed: int, cells: int, lines: range) -> None:
        """These lines are in view, of a text whose first `needed` lines must be; wrapped anew, it begins anew."""
        if (needed, cells) != self._wanted:
            self._wanted, self._lines = (needed, cells), 0
        if lines.start <= self._lines:
            self._lines = max(self._lines, lines.stop)

    @property
    def is_enough(self) -> bool:
        """Whether all that must be seen was."""
        needed, _cells = self._wanted
        return 0 < needed <= self._lines
