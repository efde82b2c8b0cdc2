"""What may be shown to a person: text from a database, made harmless, and durations in words.

Data is data. A lock's owner or id may hold escape sequences, bidirectional overrides or bytes that are not
UTF-8; on a terminal those would act instead of being read. Everything shown passes through `clean` once.
"""

from __future__ import annotations

import math
import re
from typing import Final

LONGEST: Final = 4096
"""How many characters of a text are shown at most. No name that lockwatch grants comes near; a table may hold worse."""
INVISIBLE: Final = "\N{MIDDLE DOT}"
"""Stands for each bidirectional or zero-width character: they reorder or hide what is beside them."""

# C0 and DEL have pictures of their own (U+2400..); C1, surrogates and non-characters have none.
_PICTURES: Final = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "\N{SYMBOL FOR DELETE}"}
_INVISIBLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_HARMFUL: Final = re.compile(f"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff{_INVISIBLE}]")
_HIDDEN: Final = re.compile(f"[{_INVISIBLE}]")


def clean(text: str) -> str:
    """`text` with nothing in it that a terminal would act on.

    Control characters become their pictures (ESC is ␛), C1 controls and undecodable bytes U+FFFD,
    bidirectional and zero-width characters a middle dot. What is beyond all measure loses its middle.
    """
    text = shorten(text, LONGEST)
    if text.isascii() and text.isprintable():
        return text
    return _HARMFUL.sub(lambda found: _harmless(found[0]), text)


def _harmless(character: str) -> str:
    if _HIDDEN.match(character):
        return INVISIBLE
    return _PICTURES.get(ord(character), "\N{REPLACEMENT CHARACTER}")


def shorten(text: str, length: int) -> str:
    """`text` in at most `length` characters, cut in the middle: both ends tell names apart."""
    if len(text) <= length:
        return text
    head = (length - 1) // 2
    tail = length - 1 - head
    return f"{text[:head]}…{text[len(text) - tail :]}"


def duration(seconds: float) -> str:
    """Seconds in one coarse unit: `6s`, `9m`, `3h`, `12d`, rounded down; `–` when they are not a number."""
    if not math.isfinite(seconds):
        return "–"
    sign = "-" if seconds < 0 else ""
    whole = int(abs(seconds))
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if whole >= size:
            return f"{sign}{whole // size}{unit}"
    return f"{sign if whole else ''}{whole}s"
