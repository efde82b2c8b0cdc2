"""What an operator can order."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from lockwatch.core.model import DEFAULT_LOCK_TTL_SECS, MAX_LOCK_TTL_SECS, MIN_LOCK_TTL_SECS, Lock
from lockwatch.tui.ttl import Ttl


class Verb(StrEnum):
    """What to do to a lease."""

    RELEASE = "release"
    RENEW = "renew"
    PURGE = "purge"

    @property
    def done(self) -> str:
        """As a participle."""
        return {"release": "released", "renew": "renewed", "purge": "purged"}[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """To do this to those very leases. `ttl_seconds` is for a renewal."""

    verb: Verb
    locks: tuple[Lock, ...]
    ttl_seconds: float = DEFAULT_LOCK_TTL_SECS


def renewal_ttl(ttl: Ttl | None) -> float:
    """How many seconds a renewal gives: the lease's own TTL where it is known, else the default."""
    seconds = ttl.seconds if ttl else DEFAULT_LOCK_TTL_SECS
    return min(max(seconds, MIN_LOCK_TTL_SECS), MAX_LOCK_TTL_SECS)
