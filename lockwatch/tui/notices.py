"""Notices: what is told over the table for a while. They cover what is below: so they are short, few, and never twice.

No notice covers a dialog. What is told while one is open waits, and is told once it has been left.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from textual.notifications import Notification

from lockwatch.core.text import shorten
from lockwatch.tui.ending import QuietApp
from lockwatch.tui.telling import Severity

NOTICE_SECS: Final = 8
MOST: Final = 3
"""So many notices stand at once; the oldest gives way."""
LONGEST: Final = 400
"""How many characters of one are shown."""
_WAITING_SECS: Final = 86_400


class NoticingApp(QuietApp):
    """An app that gives notices."""

    def give_notice(self, words: str, severity: Severity, *, waits: bool = False) -> None:
        """Tell clean words; what `waits` is not seen before `give_what_waited`."""
        words = shorten(words, LONGEST)
        standing = list(self._notifications)
        if standing and standing[-1].message == words and standing[-1].time_left > NOTICE_SECS / 2:
            return
        others = [one for one in standing if one.message != words]
        kept = others[max(0, len(others) - MOST + 1) :]
        self._take_back(one for one in standing if one not in kept)
        self.notify(words, severity=severity, timeout=_WAITING_SECS if waits else NOTICE_SECS, markup=False)

    def give_what_waited(self) -> None:
        """Tell what could not be seen, for as long as any notice."""
        waiting = [one for one in self._notifications if one.timeout == _WAITING_SECS]
        self._take_back(waiting)
        for one in waiting:
            self.give_notice(one.message, one.severity)

    def _take_back(self, notices: Iterable[Notification]) -> None:
        for one in notices:
            self._unnotify(one)
