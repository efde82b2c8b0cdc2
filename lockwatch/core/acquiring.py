"""How a resource is acquired, at once or after a wait.

1. Insert a row unless the resource has one. Inserted: granted.
2. Otherwise read the row. Live and ours: extend it, never shorten it.
3. Live and somebody else's, or its expiry cannot be read: a conflict, with that row as the holder.
4. Expired, whoever's: delete that very row and begin again. A takeover is a new row with a greater id.
5. What was read and is no longer so when it is to be changed is a lost race: begin again.
6. What another transaction held up lasts its whole TTL from when it came: it is extended once more.

Who waits looks again and again, without ever writing, until the row is gone or its time is up; then it begins anew.
Who has just released it and would wait for it again lets others look first, and who was passed over looks more often.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final, TypeVar

from lockwatch.core.courtesy import Courtesy, Pace
from lockwatch.core.errors import DatabaseBusyError, DatabaseError, LockConflictError, LockwatchError, ValidationError
from lockwatch.core.forking import after_fork
from lockwatch.core.held import HeldTables
from lockwatch.core.model import Key, Lock, is_number
from lockwatch.core.monotonic import Monotonic, elapsed
from lockwatch.core.table import LockTable
from lockwatch.core.text import clean

T = TypeVar("T")

MAX_LOST_RACES: Final = 100
"""How often a call begins again because the row changed under it, before it gives up."""
MAX_WAIT_SECS: Final = 366 * 24 * 3600
"""Longest wait that can be asked for, in seconds."""
_WAIT_RULE: Final = f"must be a number of seconds from 0 to {MAX_WAIT_SECS}, which is a year"
LATE_SHARE: Final = 1 / 20
"""How much of the TTL may pass between the question and the answer."""
POLL_SECS: Final = (0.05, 0.2)
"""Bounds of the random pause between two looks of a waiter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Who wants what, for how many seconds."""

    key: Key
    owner_id: str
    ttl_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A lock that was obtained: as a new row, or by extending the owner's live one; asked for at `sent_at`."""

    lock: Lock
    is_new: bool
    sent_at: float


class Acquirer:
    """Acquires on a service's tables, until it is closed."""

    def __init__(self, tables: HeldTables, monotonic: Monotonic) -> None:
        self._tables = tables
        self._monotonic = monotonic
        self._closing = threading.Event()
        self._courtesy = Courtesy(monotonic, longest_seconds=POLL_SECS[1])
        after_fork(self)

    def close(self) -> None:
        """Acquire nothing more. Who waits is refused at once."""
        self._closing.set()

    def become_childs(self) -> None:
        """In a forked child: a waiting thread of the parent is waited for by nobody."""
        was_closed = self._closing.is_set()
        self._closing = threading.Event()
        if was_closed:
            self._closing.set()

    def acquire(self, request: Request, wait_seconds: float) -> Grant:
        """A grant, after at most `wait_seconds` of waiting for the holder. Raises as `wait_for` does."""
        if not wait_seconds:
            return self.acquire_now(request)
        return self.wait_for(request, wait_seconds, partial(self.acquire_now, request))

    def wait_for(self, request: Request, wait_seconds: float, attempt: Callable[[], T]) -> T:
        """What `attempt` returns, once it raises no conflict; waits up to `wait_seconds` for the holder in between.

        Raises:
            LockConflictError: somebody else holds it, still at the end of the wait.
            LockwatchError: the service was closed meanwhile.
        """
        give_up_at = self._monotonic() + wait_seconds
        if wait_seconds and (others_turn := self._courtesy.pause(request.key)):
            self.pause(min(others_turn, wait_seconds))
        pace = Pace()
        while True:
            try:
                return attempt()
            except LockConflictError as conflict:
                self._wait_until_free(request, conflict, give_up_at, pace)

    def acquire_now(self, request: Request) -> Grant:
        """A grant, without waiting.

        Raises:
            LockConflictError: somebody else holds it.
            LockwatchError: the service is closed or shutting down.
        """
        self._require_open()
        with self._tables.use() as table:
            _require_fencing_tokens(table)
            for _ in range(MAX_LOST_RACES):
                sent_at = self._monotonic()
                try:
                    found = _try(table, request)
                except DatabaseBusyError as busy:
                    _raise_if_held(table, request, busy)
                    raise
                if found is not None:
                    lock, is_new = found
                    grant = Grant(lock=lock, is_new=is_new, sent_at=sent_at)
                    if not is_new:
                        return grant
                    self._courtesy.granted(request.key, sent_at)
                    if whole := self._in_full(table, grant, request.ttl_seconds):
                        return whole
        raise never_at_rest(request.key)

    def _in_full(self, table: LockTable, grant: Grant, ttl_seconds: float) -> Grant | None:
        """A new grant with its whole TTL left; None if that has passed by now: begin again."""
        now = self._monotonic()
        if now - grant.sent_at <= ttl_seconds * LATE_SHARE:
            return grant
        try:
            lock = table.extend(grant.lock, ttl_seconds)
        except DatabaseError:  # it is granted all the same
            return grant
        return None if lock is None else replace(grant, lock=lock, sent_at=now)

    def released(self, key: Key) -> None:
        """Take note that a lease which was granted here was released."""
        self._courtesy.released(key)

    def _wait_until_free(self, request: Request, conflict: LockConflictError, give_up_at: float, pace: Pace) -> None:
        while (left := give_up_at - self._monotonic()) > 0:
            self.pause(min(left, _until_next_look(conflict.holder, conflict.now, pace)))
            with self._tables.look() as table:
                found = table.find(request.key)
            if found is None or not _keeps_out(request, *found):
                return
            conflict = LockConflictError(*found)
        raise conflict

    def pause(self, seconds: float) -> None:
        """Wait: the one place in a call where nothing is lost when a signal's exception ends it.

        Raises:
            LockwatchError: the service was closed meanwhile.
        """
        self._closing.wait(seconds)
        self._require_open()

    def _require_open(self) -> None:
        if self._closing.is_set():
            raise LockwatchError("the lock service is closed or shutting down: it acquires nothing more")


def validate_wait(wait_seconds: float, argument: str = "wait_seconds") -> float:
    """The wait, if it is a number of seconds from 0 to a year, and not a truth value.

    Raises:
        ValidationError: it is not.
    """
    if not is_number(wait_seconds, 0, MAX_WAIT_SECS):
        raise ValidationError(argument, wait_seconds, _WAIT_RULE)
    return wait_seconds


def extend(table: LockTable, lock: Lock, now: datetime, ttl_seconds: float, *, waits: bool = True) -> Lock | None:
    """That very live lease until `ttl_seconds` from now, or as it is if it lasts longer; None if it changed.

    If not `waits`, see `LockTable.extend`. A statement that was held up counts from its start, so it is said once more.
    """
    if lock.remaining(now) >= ttl_seconds:
        return lock
    sent_at = elapsed()
    extended = table.extend(lock, ttl_seconds, waits=waits)
    if extended is None or not waits or elapsed() - sent_at <= ttl_seconds * LATE_SHARE:
        return extended
    return table.extend(extended, ttl_seconds)


def never_at_rest(key: Key) -> DatabaseBusyError:
    """The error of a call that lost race after race."""
    return DatabaseBusyError(f"the lock of {clean(str(key))} changed {MAX_LOST_RACES} times while it was looked at")


def _try(table: LockTable, request: Request) -> tuple[Lock, bool] | None:
    """The lock, and whether it is a new row; None if the row changed or was cleared away: begin again."""
    granted = table.insert(request.key, request.owner_id, request.ttl_seconds)
    if granted is not None:
        return granted, True
    found = table.find(request.key)
    if found is None:
        return None
    lock, now = found
    if lock.is_expired(now):
        table.end(lock)
        return None
    if _keeps_out(request, lock, now):
        raise LockConflictError(lock, now)
    extended = extend(table, lock, now, request.ttl_seconds)
    return None if extended is None else (extended, False)


def _raise_if_held(table: LockTable, request: Request, busy: DatabaseBusyError) -> None:
    found = table.find(request.key)
    if found is None:
        return
    lock, now = found
    if _keeps_out(request, lock, now):
        raise LockConflictError(lock, now) from busy


def _keeps_out(request: Request, lock: Lock, now: datetime) -> bool:
    """Whether a lock is live, and somebody else's or of an expiry that cannot be read."""
    return not lock.is_readable or (lock.owner_id != request.owner_id and not lock.is_expired(now))


def _require_fencing_tokens(table: LockTable) -> None:
    if table.connection.unfenced is None:
        return
    table.connection.check_table()
    if (why := table.connection.unfenced) is not None:
        raise DatabaseError(f"nothing can be acquired here: {why}; `lockwatch db upgrade` makes it fit where it can")


def _until_next_look(holder: Lock, now: datetime, pace: Pace) -> float:
    # Random so that waiters do not look in step.
    pause = random.uniform(*POLL_SECS) / pace.behind(holder.id)  # noqa: S311  # nosec B311
    remaining = holder.remaining(now)
    return min(pause, max(remaining, 0.0)) if holder.is_readable else pause
