"""What an operator can order."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from lockwatch.core.exact import CHUNK_SIZE
from lockwatch.core.model import DEFAULT_LOCK_TTL_SECS, MAX_LOCK_TTL_SECS, MIN_LOCK_TTL_SECS, Lock


class Verb(StrEnum):
    """What to do to a lease."""

    RELEASE = "release"
    RENEW = "renew"
    PURGE = "purge"

    @property
    def done(self) -> str:
        """As a participle."""
        return {"release": "released", "renew": "renewed", "purge": "purged"}[self]

    @property
    def doing(self) -> str:
        """While it is done."""
        return {"release": "releasing", "renew": "renewing", "purge": "purging"}[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Leases to settle in one transaction. `ttl_seconds` is for a renewal."""

    locks: tuple[Lock, ...]
    ttl_seconds: float = DEFAULT_LOCK_TTL_SECS


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """To do this to those very leases. `ttls` are for a renewal: seconds, one for each lease."""

    verb: Verb
    locks: tuple[Lock, ...]
    ttls: tuple[float, ...] = ()

    def chunks(self) -> list[Chunk]:
        """The leases in portions, each with one TTL, in their order."""
        ttls = self.ttls or (DEFAULT_LOCK_TTL_SECS,) * len(self.locks)
        return [
            Chunk(locks=tuple(lock for lock, _ in pairs[start : start + CHUNK_SIZE]), ttl_seconds=ttl)
            for ttl, group in groupby(zip(self.locks, ttls, strict=True), key=lambda pair: pair[1])
            for pairs in [list(group)]
            for start in range(0, len(pairs), CHUNK_SIZE)
        ]


def renewal_ttl(seconds: float | None) -> float:
    """How many seconds a renewal gives: the lease's own TTL where it is known, else the default."""
    return min(max(seconds or DEFAULT_LOCK_TTL_SECS, MIN_LOCK_TTL_SECS), MAX_LOCK_TTL_SECS)
