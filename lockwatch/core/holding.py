"""Holding a lock while a body runs: acquired before it, renewed beside it, released after it."""

from __future__ import annotations

import os
import secrets
import socket
from types import TracebackType
from typing import Final

from lockwatch.core.acquiring import MAX_LOST_RACES, Acquirer, Request
from lockwatch.core.errors import LockwatchError, ValidationError
from lockwatch.core.held import HeldTables
from lockwatch.core.keeper import Kept, LeaseKeeper
from lockwatch.core.lease import Lease, OnLost, log
from lockwatch.core.model import Lock
from lockwatch.core.text import clean

HEARTBEAT_SHARE: Final = 1 / 3
"""How much of its TTL passes between two renewals of a lease, unless asked otherwise."""
MAX_HEARTBEAT_SHARE: Final = 1 / 2
"""The most that may be asked for, so that one missed beat does not lose the lease."""


class Hold:
    """`with service.hold(...) as lease`: nothing happens before the `with`. To be entered once."""

    def __init__(
        self,
        tables: HeldTables,
        acquirer: Acquirer,
        keeper: LeaseKeeper,
        *,
        request: Request,
        wait_seconds: float,
        interval_seconds: float,
        on_lost: OnLost | None,
    ) -> None:
        self._tables = tables
        self._acquirer = acquirer
        self._keeper = keeper
        self._request = request
        self._wait_seconds = wait_seconds
        self._interval_seconds = interval_seconds
        self._on_lost = on_lost
        self._kept: Kept | None = None

    def __enter__(self) -> Lease:
        if self._kept is not None:
            raise LockwatchError("a hold can be entered once; call hold() again for another one")
        grant = self._acquirer.acquire(self._request, self._wait_seconds)
        self._kept = self._keeper.enter(grant, self._request.ttl_seconds, self._interval_seconds)
        lease = self._kept.lease
        if self._on_lost is not None:
            lease.tell(self._on_lost)
        return lease

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        kept = self._kept
        if kept is None or not kept.lease.is_of_this_process:
            return
        was_lost = kept.lease.is_lost()
        if self._keeper.leave(kept):
            self._release(kept.lease.lock)
        if kind is None and was_lost:
            kept.lease.check()

    def _release(self, lock: Lock) -> None:
        try:
            with self._tables.use() as table:
                for _ in range(MAX_LOST_RACES):  # a heartbeat that is under way may change the row once more
                    found = table.find(lock.key)
                    if found is None or (found[0].id, found[0].owner_id) != (lock.id, lock.owner_id):
                        return
                    if not found[0].is_readable or table.end(found[0]) is not None:
                        return
        except LockwatchError as error:
            log.warning("%s was not released and ends by its TTL: %s", clean(lock.resource), error)


def heartbeat_interval(heartbeat_seconds: float | None, ttl_seconds: float) -> float:
    """Seconds between two renewals: a third of the TTL, or what was asked for.

    Raises:
        ValidationError: more than half of the TTL was asked for, or nothing that is a positive number.
    """
    if heartbeat_seconds is None:
        return ttl_seconds * HEARTBEAT_SHARE
    greatest = ttl_seconds * MAX_HEARTBEAT_SHARE
    rule = f"must be a number of seconds above 0 and at most half of the TTL, {greatest:g}"
    if isinstance(heartbeat_seconds, bool) or not isinstance(heartbeat_seconds, int | float):
        raise ValidationError("heartbeat_seconds", heartbeat_seconds, rule)
    if not 0 < heartbeat_seconds <= greatest:
        raise ValidationError("heartbeat_seconds", heartbeat_seconds, rule)
    return heartbeat_seconds


def new_owner() -> str:
    """An owner id that nobody else has: `host:pid:random`."""
    host = "".join(character for character in socket.gethostname() if character.isprintable()).strip()
    return f"{host[:200] or 'host'}:{os.getpid()}:{secrets.token_hex(4)}"
