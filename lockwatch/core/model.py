"""What a lock is, what the table looked like at one moment, and the limits that arguments keep to."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple, Self, TypeAlias, TypeGuard

from lockwatch.core.errors import ValidationError
from lockwatch.core.text import clean
from lockwatch.core.timestamps import from_text

DEFAULT_LOCK_TTL_SECS: Final = 300
"""Lifetime of a lock in seconds where none is asked for (5 minutes)."""
MAX_LOCK_TTL_SECS: Final = 3600
"""Greatest lifetime that can be asked for, in seconds (1 hour)."""
MIN_LOCK_TTL_SECS: Final = 5
"""Least lifetime that can be asked for, in seconds."""
RESOURCE_TYPES: Final = ("plan", "project")
"""The resource types that every service knows. More must be asked for: a typing error opens no second namespace."""
MAX_NAME_LENGTH: Final = 255
"""Longest owner or resource id, in characters (the column's length)."""
MAX_TYPE_LENGTH: Final = 50
"""Longest resource type, in characters (the column's length)."""

_TTL_RULE: Final = f"must be a number of seconds from {MIN_LOCK_TTL_SECS} to {MAX_LOCK_TTL_SECS}"
_FORBIDDEN: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

Cell: TypeAlias = str | bytes | int | float | None
"""A column's value as a driver gives it. SQLite keeps what it was given, whatever the column's type."""
Row: TypeAlias = Sequence[Any]
"""id (an int, but maybe any Cell in another program's table), then Cells: owner_id, resource_type, resource_id,
acquired_at, expires_at."""


class Key(NamedTuple):
    """What is locked. At most one row of the table has it."""

    resource_type: str
    resource_id: str

    def __str__(self) -> str:
        return f"{self.resource_type}/{self.resource_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """One row of the table, as it was read: one lease of one resource.

    `id` is its fencing token: every later grant of the resource has a greater one. In another program's table it
    may be no number and no token: then it is text, safe on a terminal. Times are aware, UTC.
    `acquired_at` and `expires_at` are None where the text cannot be read; `expires_text` is always what is
    stored. Text that is not UTF-8 is held with surrogate escapes; pass it through `core.text.clean` to show it.
    """

    id: int
    owner_id: str
    resource_type: str
    resource_id: str
    acquired_at: datetime | None
    expires_at: datetime | None
    expires_text: str

    @classmethod
    def from_row(cls, row: Row) -> Self:
        """The lock that a row of the table describes, whatever it holds."""
        number, owner, resource_type, resource_id, acquired, expires = row
        expires_text = as_text(expires)
        return cls(
            id=_as_id(number),
            owner_id=as_text(owner),
            resource_type=as_text(resource_type),
            resource_id=as_text(resource_id),
            acquired_at=from_text(as_text(acquired)),
            expires_at=from_text(expires_text),
            expires_text=expires_text,
        )

    @property
    def key(self) -> Key:
        """What is locked."""
        return Key(self.resource_type, self.resource_id)

    @property
    def resource(self) -> str:
        """What is locked, as people write it: `plan/p1`."""
        return f"{self.resource_type}/{self.resource_id}"

    @property
    def is_readable(self) -> bool:
        """Whether its expiry can be read. If not it is never taken for expired, and only a person may remove it."""
        return self.expires_at is not None

    def remaining(self, now: datetime) -> float:
        """Seconds until it expires, negative once it has; not a number (NaN) if its expiry cannot be read."""
        return math.nan if self.expires_at is None else (self.expires_at - now).total_seconds()

    def is_expired(self, now: datetime) -> bool:
        """Whether its time is up: `expires_at <= now`."""
        return self.expires_at is not None and self.expires_at <= now


@dataclass(frozen=True, slots=True, kw_only=True)
class LockSnapshot:
    """All locks of the table as one statement saw them, ordered by id, and the moment by the clock that judges."""

    taken_at: datetime
    locks: tuple[Lock, ...]

    @property
    def stale(self) -> tuple[Lock, ...]:
        """The expired ones."""
        return tuple(lock for lock in self.locks if lock.is_expired(self.taken_at))


class OutcomeKind(StrEnum):
    """What became of an operator's wish to settle one lease."""

    DONE = "done"
    RENEWED_SINCE = "renewed since"
    TAKEN_OVER = "taken over"
    GONE = "gone"
    EXPIRED = "expired"
    NOT_EXPIRED = "not expired"
    CHANGED = "changed since"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The answer to an operator: what was done to the lease `seen`, and what is there now.

    `now` is the lock that has the resource after the call: for a renewal that was done the renewed one, for a
    release that was done None. `at` is the moment of the answer, by the clock that judges.
    """

    kind: OutcomeKind
    seen: Lock
    now: Lock | None
    at: datetime

    @property
    def is_done(self) -> bool:
        """Whether the wish was carried out."""
        return self.kind is OutcomeKind.DONE


def is_number(value: object, least: float, greatest: float) -> TypeGuard[float]:
    """Whether a value is a number from `least` to `greatest`, and not a truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= greatest


def validate_ttl(ttl_seconds: float) -> float:
    """The TTL, if it is a number of seconds from 5 to 3600.

    Raises:
        ValidationError: it is not.
    """
    if not is_number(ttl_seconds, MIN_LOCK_TTL_SECS, MAX_LOCK_TTL_SECS):
        raise ValidationError("ttl_seconds", ttl_seconds, _TTL_RULE)
    return ttl_seconds


def validate_name(argument: str, text: str, limit: int = MAX_NAME_LENGTH) -> str:
    """An owner or an id: text, not blank, no blanks at its ends, no control characters, not too long.

    Raises:
        ValidationError: it breaks one of these; the message says which.
    """
    if not isinstance(text, str):
        raise ValidationError(argument, text, "must be text")
    if len(text) > limit:
        raise ValidationError(argument, text, f"must have at most {limit} characters, not {len(text)}")
    if _FORBIDDEN.search(text):
        raise ValidationError(argument, text, "must have no control characters and no lone surrogates")
    if not text.strip():
        raise ValidationError(argument, text, "must not be blank")
    if text[0].isspace() or text[-1].isspace():
        raise ValidationError(argument, text, "must have no leading or trailing blanks")
    return text


def known_types(more: Iterable[str]) -> frozenset[str]:
    """`plan`, `project` and `more`, each of them a valid type.

    Raises:
        ValidationError: one of them is no name for a type.
    """
    if isinstance(more, str):
        raise ValidationError("resource_types", more, "must be several names, not one text")
    names = tuple(more)
    for name in names:
        if "/" in validate_name("resource_types", name, MAX_TYPE_LENGTH):
            raise ValidationError("resource_types", name, "must have no slash, which parts a type from an id")
    return frozenset((*RESOURCE_TYPES, *names))


def validate_key(resource_type: str, resource_id: str, types: frozenset[str]) -> Key:
    """The resource's key, if its type is one of `types` and its id a valid name.

    Raises:
        ValidationError: it is not.
    """
    if not isinstance(resource_type, str) or resource_type not in types:
        rule = f"must be one of {', '.join(sorted(types))}; resource_types= or $LOCKWATCH_RESOURCE_TYPES adds to them"
        raise ValidationError("resource_type", resource_type, rule)
    return Key(resource_type, validate_name("resource_id", resource_id))


def as_text(cell: Cell) -> str:
    """A column's value as text. Bytes that are not UTF-8 become surrogate escapes, NULL becomes empty."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "surrogateescape")
    return "" if cell is None else str(cell)


def _as_id(cell: Any) -> Any:
    # Text that was made safe names no row whose id was something else: such a row is shown, and left alone.
    return cell if isinstance(cell, int) else clean(as_text(cell))
