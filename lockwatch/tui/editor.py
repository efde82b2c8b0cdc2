"""A line of text that is being typed."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from lockwatch.core.text import clean

LONGEST: Final = 500
"""How many characters a line takes; more are cut off."""
_LINE_ENDS: Final = re.compile("[\r\n\t]+")


@dataclass(frozen=True, slots=True)
class Editor:
    """A text, and the caret before its character number `caret`."""

    text: str = ""
    caret: int = 0

    def insert(self, more: str) -> Editor:
        """Type or paste, as one harmless line."""
        harmless = one_line(more)
        text = (self.text[: self.caret] + harmless + self.text[self.caret :])[:LONGEST]
        return Editor(text, min(self.caret + len(harmless), len(text)))

    def press(self, key: str) -> Editor:
        """What a key that types nothing does; one that means nothing here changes nothing."""
        match key:
            case "left" | "right" | "home" | "ctrl+a" | "end" | "ctrl+e":
                return replace(self, caret=self._target(key))
            case "backspace" | "ctrl+h":
                return self._cut(max(0, self.caret - 1), self.caret)
            case "delete" | "ctrl+d":
                return self._cut(self.caret, self.caret + 1)
            case "ctrl+w":
                return self._cut(self.text[: self.caret].rstrip().rfind(" ") + 1, self.caret)
            case "ctrl+u":
                return self._cut(0, self.caret)
            case "ctrl+k":
                return self._cut(self.caret, len(self.text))
            case _:
                return self

    def _target(self, key: str) -> int:
        ends = {"home": 0, "ctrl+a": 0, "end": len(self.text), "ctrl+e": len(self.text)}
        step = {"left": self.caret - 1, "right": self.caret + 1}
        return min(max(0, (ends | step)[key]), len(self.text))

    def _cut(self, start: int, end: int) -> Editor:
        return Editor(self.text[:start] + self.text[end:], start)


def one_line(text: str) -> str:
    """A text in which line ends and tabs became blanks, and what a terminal would act on became harmless."""
    return clean(_LINE_ENDS.sub(" ", text))
