"""How a lock stands at one moment, as far as its six columns tell."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final

from lockwatch.core.model import Lock

EXPIRING_SHARE: Final = 0.25
"""A lock is about to expire when this share of its TTL, or less, is left."""
EXPIRING_SECS: Final = 10.0
"""The same while its TTL is unknown, in seconds."""


class LockState(StrEnum):
    """How a lock stands."""

    HELD = "held"
    EXPIRING = "expiring"
    STALE = "stale"
    UNREADABLE = "unreadable"


def ttl_of(lock: Lock) -> float | None:
    """The TTL in seconds of a lease that was never renewed; None where that cannot be told.

    Its two times are then a whole number of seconds apart. After a renewal they almost never are.
    """
    if lock.expires_at is None or lock.acquired_at is None:
        return None
    seconds = (lock.expires_at - lock.acquired_at).total_seconds()
    return seconds if seconds > 0 and seconds.is_integer() else None


def state_of(lock: Lock, now: datetime, ttl_seconds: float | None) -> LockState:
    """How a lock stands at `now`, if its TTL is `ttl_seconds` (None: unknown)."""
    if not lock.is_readable:
        return LockState.UNREADABLE
    if lock.is_expired(now):
        return LockState.STALE
    threshold = EXPIRING_SECS if ttl_seconds is None else ttl_seconds * EXPIRING_SHARE
    return LockState.EXPIRING if lock.remaining(now) <= threshold else LockState.HELD
