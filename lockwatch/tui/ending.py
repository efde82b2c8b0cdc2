"""How an app ends: soon when it is told, and without a page of variables when it fails."""

from __future__ import annotations

import gc
import os
from typing import Final

from rich.console import RenderableType

from lockwatch.tui.painting import SparingApp

_STDIN: Final = 0


class QuietApp(SparingApp):
    """An app that may be ended at any time, and whose failure is told by who ran it."""

    is_ending = False

    @property
    def failure(self) -> Exception | None:
        """What ended the app, if it did not end as it should."""
        return self._exception

    def end(self) -> None:
        """Quit soon, also if it has hardly begun. May be called from a signal handler."""
        self.is_ending = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self.exit)

    def is_abandoned(self) -> bool:
        """Whether its window was closed and nobody told: it would go on unseen, at full speed."""
        return not self.is_headless and not os.isatty(_STDIN)

    def panic(self, *renderables: RenderableType) -> None:  # noqa: ARG002 what would be printed holds values of variables
        """End without a word: `failure` tells."""
        self._close_messages_no_wait()

    def _fatal_error(self) -> None:
        self.panic()


def settle_memory() -> None:
    """Let the collector of garbage pass over what is there to stay: a look at a large table would stop the screen."""
    gc.collect()
    gc.freeze()
