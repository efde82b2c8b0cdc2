"""Holding a lock while a body runs: acquired before it, renewed beside it, released after it."""

from __future__ import annotations

import os
import secrets
import socket
from contextlib import suppress
from types import TracebackType
from typing import Final

from lockwatch.core.acquiring import MAX_LOST_RACES, Acquirer, Grant, Request, never_at_rest
from lockwatch.core.errors import DatabaseBusyError, DatabaseError, LockwatchError, LossReason, ValidationError
from lockwatch.core.held import HeldTables
from lockwatch.core.keeper import LeaseKeeper
from lockwatch.core.kept import Kept
from lockwatch.core.lease import Lease, OnLost
from lockwatch.core.loss import Loss, loss_of
from lockwatch.core.model import Lock, is_number
from lockwatch.core.monotonic import elapsed
from lockwatch.core.rounds import log
from lockwatch.core.table import LockTable
from lockwatch.core.text import clean
from lockwatch.core.turns import Turn

HEARTBEAT_SHARE: Final = 1 / 3
"""How much of its TTL passes between two renewals of a lease, unless asked otherwise."""
MAX_HEARTBEAT_SHARE: Final = 1 / 2
"""The most that may be asked for, so that one missed beat does not lose the lease."""


RETRY_WITHIN_SECS: Final = 1.0
"""How soon a release must have failed to be tried once more."""


class Hold:
    """`with service.hold(...) as lease`: nothing happens before the `with`. To be entered once."""

    _turn: Turn

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
        is_sole_owner: bool,
    ) -> None:
        self._tables = tables
        self._acquirer = acquirer
        self._keeper = keeper
        self._request = request
        self._wait_seconds = wait_seconds
        self._interval_seconds = interval_seconds
        self._on_lost = on_lost
        self._is_sole_owner = is_sole_owner
        self._kept: Kept | None = None

    def __enter__(self) -> Lease:
        if self._kept is not None:
            raise LockwatchError("a hold can be entered once; call hold() again for another one")
        try:
            self._kept = self._acquirer.wait_for(self._request, self._wait_seconds, self._begin)
            if self._on_lost is not None:
                self._kept.lease.tell(self._on_lost)
        except LockwatchError as error:
            if _may_have_been_granted(error):
                self._undo()
            raise
        except BaseException:
            self._undo()
            raise
        return self._kept.lease

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._kept is None or not self._kept.lease.is_of_this_process:
            return
        lease = self._kept.lease
        try:
            lease.is_lost()
            self._end(self._kept)
        except BaseException:
            self._undo()
            raise
        if kind is None and lease.lost_reason is not None:
            raise lease.error(lease.lost_reason)

    def _begin(self) -> Kept:
        self._turn = self._keeper.turn(self._request.key, self._request.owner_id)
        with self._turn:
            for _ in range(MAX_LOST_RACES):
                grant = self._acquirer.acquire_now(self._request)
                kept = self._enter(grant)
                if kept is not None:
                    return kept
                self._release(grant.lock)
        raise never_at_rest(self._request.key)

    def _enter(self, grant: Grant) -> Kept | None:
        try:
            return self._keeper.enter(self, grant, self._request.ttl_seconds, self._interval_seconds)
        except BaseException:
            if grant.is_new:  # nobody works under it, and nobody was told of it
                self._release(grant.lock, even_closed=True)
            raise

    def _end(self, kept: Kept) -> None:
        lease = kept.lease
        with self._turn:
            if not self._keeper.leave(self, kept):
                if self._on_lost is not None:
                    lease.forget(self._on_lost)
                return
            try:
                loss = self._release(lease.lock) if kept.is_ours else None
                if loss is not None and not lease.is_over():  # else the release was late, and not the body
                    lease.lose(loss)
            finally:
                self._keeper.drop(kept)

    def _release(self, lock: Lock, *, even_closed: bool = False) -> Loss | None:
        """End the lease if it is still there; why it was lost if it is not."""
        try:
            loss = self._release_at_once(lock, even_closed)
        except Exception as error:  # noqa: BLE001 the body's own exception must come out, whatever this one is
            log.warning("%s was not released and ends by its TTL: %s", clean(lock.resource), clean(str(error)))
            return None
        self._acquirer.released(lock.key)
        return loss

    def _release_at_once(self, lock: Lock, even_closed: bool) -> Loss | None:
        """The same, once more if the connection was cut meanwhile. Who has the row by then says nothing of before."""
        begun = elapsed()
        try:
            with self._tables.use(even_closed=even_closed) as table:
                return release_lease(table, lock)
        except DatabaseBusyError:
            raise
        except DatabaseError:
            if elapsed() - begun > RETRY_WITHIN_SECS:  # nobody answers: that is enough of waiting
                raise
        with self._tables.use(even_closed=even_closed) as table:
            release_lease(table, lock)
        return None

    def _undo(self) -> None:
        """After ctrl+c between two steps, or a lost answer: take all of them back, what was taken back before too."""
        with suppress(Exception):  # the interrupt goes on, whatever this meets
            kept = self._kept or self._keeper.held_by(self)
            if kept is not None:
                self._end_again(kept)
            elif self._is_sole_owner:
                self._withdraw()

    def _end_again(self, kept: Kept) -> None:
        with self._turn:
            if not self._keeper.leave(self, kept):
                return
            try:
                if kept.is_ours:
                    with self._tables.use(even_closed=True) as table:
                        release_lease(table, kept.lease.lock)
            finally:
                self._keeper.drop(kept)

    def _withdraw(self) -> None:
        """Release a grant that was never heard of. Nobody else has this owner's name."""
        with self._tables.use(even_closed=True) as table:
            found = table.find(self._request.key)
            if found is not None and found[0].owner_id == self._request.owner_id:
                release_lease(table, found[0])


def _may_have_been_granted(error: LockwatchError) -> bool:
    """Whether the answer to an acquisition may be all that was lost."""
    return isinstance(error, DatabaseError) and not isinstance(error, DatabaseBusyError)


def release_lease(table: LockTable, lock: Lock) -> Loss | None:
    """End that very lease, live or expired; why it was lost if it was, and then nothing of another's is touched."""
    ended_at = table.end(lock) if lock.is_readable else None
    if ended_at is not None:  # as a rule: nothing has changed since its last renewal
        return loss_of(lock, (lock, ended_at))
    for _ in range(MAX_LOST_RACES):  # a heartbeat that is under way may change the row once more
        found = table.find(lock.key)
        loss = loss_of(lock, found)
        if found is None or (loss is not None and loss.reason is not LossReason.EXPIRED):
            return loss
        if table.end(found[0]) is not None:
            return loss
    raise never_at_rest(lock.key)


def heartbeat_interval(heartbeat_seconds: float | None, ttl_seconds: float) -> float:
    """Seconds between two renewals: a third of the TTL, or what was asked for.

    Raises:
        ValidationError: more than half of the TTL was asked for, or nothing that is a positive number.
    """
    if heartbeat_seconds is None:
        return ttl_seconds * HEARTBEAT_SHARE
    greatest = ttl_seconds * MAX_HEARTBEAT_SHARE
    rule = f"must be a number of seconds above 0 and at most half of the TTL, {greatest:g}"
    if not is_number(heartbeat_seconds, 0, greatest) or heartbeat_seconds == 0:
        raise ValidationError("heartbeat_seconds", heartbeat_seconds, rule)
    return heartbeat_seconds


def new_owner(worker: str | None = None) -> str:
    """An owner id that nobody else has: `worker:random`, or `host:pid:random` if the worker has no name."""
    return f"{worker or _this_process()}:{secrets.token_hex(4)}"


def _this_process() -> str:
    host = "".join(character for character in socket.gethostname() if character.isprintable()).strip()
    return f"{host[:200] or 'host'}:{os.getpid()}"
