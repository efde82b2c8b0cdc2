"""What stands for a character that a terminal's encoding has not: as wide as that, so that columns stay columns."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Final

from lockwatch.cells import width

ERRORS: Final = "lockwatch-substitutes"
"""The name under which Python's codecs know them."""
_SUBSTITUTES: Final = dict(zip("●◐✗◔┄▸✓▲▼…–─━╾▏│╭╮╰╯·", "*%xo->+^v~--==||++++.", strict=True))


@contextmanager
def encodable_screen() -> Iterator[None]:
    """Within, whatever is written to stderr, where the screen is drawn, can be encoded."""
    stream = sys.__stderr__
    if not isinstance(stream, TextIOWrapper):
        yield
        return
    before = stream.errors
    stream.reconfigure(errors=ERRORS)
    try:
        yield
    finally:
        stream.reconfigure(errors=before)


def _substitute(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(_SUBSTITUTES.get(character, "?" * width(character)) for character in missing), error.end


codecs.register_error(ERRORS, _substitute)
