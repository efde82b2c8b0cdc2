"""The one place that turns ISO-8601 text into an aware datetime and back.

One form is written: UTC, microseconds, `Z`, 27 characters. It fits the 30 of the columns, which
`datetime.isoformat()` with an offset (32) does not, and it sorts as text. Any ISO-8601 form is read, since
tables written by other programs exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

_WRITTEN_FORM: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")


def utc_now() -> datetime:
    """This machine's wall clock, aware, in UTC."""
    return datetime.now(UTC)


def to_text(moment: datetime) -> str:
    """An aware moment in the one form that is written: `2026-12-01T02:03:04.000000Z`."""
    in_utc = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return f"{in_utc.isoformat(timespec='microseconds')[:26]}Z"


def in_written_form(cell: bytes | None) -> str | None:
    """Stored ISO-8601 text of any form, as bytes, in the one form that is written; None if it names no moment."""
    text = (cell or b"").decode("utf-8", "replace")
    moment = from_text(text)
    if moment is None or _WRITTEN_FORM.fullmatch(text):
        return None if moment is None else text
    return to_text(moment)


def later(text: str, seconds: float) -> str:
    """The written form of the moment that is `seconds` after `text`, itself in the written form."""
    return to_text(written(text) + timedelta(seconds=seconds))


def written(text: str) -> datetime:
    """The moment that a text in the written form names.

    Raises:
        ValueError: it is in another form.
    """
    return datetime.fromisoformat(text)


def name_moments(texts: Iterable[str]) -> bool:
    """Whether each of the texts, which have the shape of the written form, names a moment."""
    try:
        for _ in map(datetime.fromisoformat, texts):
            pass
    except ValueError:
        return False
    return True


def from_text(text: str) -> datetime | None:
    """The moment that an ISO-8601 `text` names, aware, in UTC; None if it names none.

    A text without an offset is taken as UTC; the date and the time are parted by a `T` or a blank.
    """
    if "\0" in text or (len(text) > 10 and text[10] not in "Tt " and text[8] not in "Tt "):
        return None
    try:
        moment = datetime.fromisoformat(text.upper())
        if moment.tzinfo is UTC:
            return moment
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
