"""Pastes in what a terminal sends. Textual's parser makes keys of a paste that has an escape sequence in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from textual.events import Paste

from lockwatch.tui.editor import one_line

_START: Final = "\x1b[200~"
_END: Final = "\x1b[201~"
_CTRL_C: Final = "\x03"
_MOST: Final = 65_536
"""So many characters of a paste are kept while its end has not come."""


class Pastes:
    """Tells what is typed from what is pasted, between the marks that a terminal sets."""

    def __init__(self) -> None:
        self._begun: str | None = None

    def split(self, text: str) -> Iterator[str | Paste]:
        """What was typed, and each paste that ends here, as one harmless line. A start that comes in parts is typed.

        A ctrl+c that comes alone is typed, too: the end of a paste may have been lost on its way.
        """
        if text == _CTRL_C:
            self._begun = None
        while text:
            if self._begun is None:
                typed, start, text = text.partition(_START)
                self._begun = "" if start else None
                if typed:
                    yield typed
                continue
            pasted, end, text = (self._begun + text).partition(_END)
            self._begun = None if end else _shortened(pasted)
            if end:
                yield Paste(one_line(pasted))


def _shortened(pasted: str) -> str:
    """What is kept of a paste whose end has not come, or only a part of it."""
    return pasted[:_MOST] + pasted[_MOST:][1 - len(_END) :]
