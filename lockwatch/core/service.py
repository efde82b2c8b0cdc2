"""The lock service: who may have a resource now.

Acquire, as an ordered list:

1. Insert a row unless the resource has one. Inserted: granted.
2. Otherwise read the row. Live and ours: extend it, never shorten it.
3. Live and somebody else's, or its expiry cannot be read: a conflict, with that row as the holder.
4. Expired, whoever's: delete that very row and begin again. A takeover is a new row with a greater id.
5. What was read and is no longer so when it is to be changed is a lost race: begin again.

The row's `id` is a fencing token: of two grants of one resource the later has the greater one. A store that
remembers the greatest token it has seen can refuse a holder that was paused past its TTL.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from types import TracebackType
from typing import Final, Self

from sqlalchemy import Engine

from lockwatch.core import exact
from lockwatch.core.dialects import UPGRADE_HINT, Clock
from lockwatch.core.errors import (
    DatabaseBusyError,
    DatabaseError,
    LockConflictError,
    LockExpiredError,
    LossReason,
)
from lockwatch.core.held import HeldTables, Identity
from lockwatch.core.model import (
    DEFAULT_LOCK_TTL_SECS,
    Key,
    Lock,
    LockSnapshot,
    Outcome,
    known_types,
    validate_key,
    validate_name,
    validate_ttl,
)
from lockwatch.core.table import LockTable
from lockwatch.core.timestamps import utc_now
from lockwatch.core.watcher import Watcher

MAX_LOST_RACES: Final = 100
"""How often a call begins again because the row changed under it, before it gives up."""


class LockService:
    """Advisory locks with a TTL in one table. Safe for use from many threads; `close` it, or use it in a `with`.

    Every change is one compare-and-swap on the row that was read, committed on a connection of the service's own
    when the call returns, whatever the caller has open. Any call may raise DatabaseError (unreachable, no table
    of ours, file replaced) or LockwatchError (closed).

    Args:
        engine: opens connections, which are then this service's alone and in autocommit; `lockwatch.connect` makes one.
        clock: aware now, for a database that has no clock of its own (SQLite).
        resource_types: types allowed beside `plan` and `project`.
        identity: tells what the database's address leads to now, so that a replaced file is noticed.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        clock: Clock = utc_now,
        resource_types: Iterable[str] = (),
        identity: Identity | None = None,
    ) -> None:
        self.resource_types = known_types(resource_types)
        self._engine = engine
        self._clock = clock
        self._identity = identity
        self._tables = HeldTables(engine, clock, identity)

    def acquire(
        self, resource_type: str, resource_id: str, owner_id: str, ttl_seconds: float = DEFAULT_LOCK_TTL_SECS
    ) -> Lock:
        """Take a resource for `ttl_seconds` (5 to 3600) from now, or extend a live lease of the same owner.

        Re-entrant: a lease that the owner has already is extended, never shortened, and keeps its id.

        Raises:
            ValidationError: an argument breaks a rule.
            LockConflictError: somebody else holds it.
            DatabaseError: also if the table's ids can come back, which makes them no fencing tokens.
        """
        key = validate_key(resource_type, resource_id, self.resource_types)
        validate_name("owner_id", owner_id)
        validate_ttl(ttl_seconds)
        with self._tables.use() as table:
            _require_fencing_tokens(table)
            for _ in range(MAX_LOST_RACES):
                try:
                    lock = _try_to_acquire(table, key, owner_id, ttl_seconds)
                except DatabaseBusyError as busy:
                    _raise_if_held(table, key, owner_id, busy)
                    raise
                if lock is not None:
                    return lock
        raise _never_at_rest(key)

    def renew(
        self, resource_type: str, resource_id: str, owner_id: str, ttl_seconds: float = DEFAULT_LOCK_TTL_SECS
    ) -> Lock:
        """Extend a live lease to `ttl_seconds` (5 to 3600) from now; one that lasts longer stays as it is.

        Raises:
            ValidationError: an argument breaks a rule.
            LockExpiredError: it expired, or is somebody else's, or is not there; nothing was changed.
        """
        key = validate_key(resource_type, resource_id, self.resource_types)
        validate_name("owner_id", owner_id)
        validate_ttl(ttl_seconds)
        with self._tables.use() as table:
            for _ in range(MAX_LOST_RACES):
                lock, now = _live_lease(table, key, owner_id)
                renewed = _extend(table, lock, now, ttl_seconds)
                if renewed is not None:
                    return renewed
        raise _never_at_rest(key)

    def release(self, resource_type: str, resource_id: str, owner_id: str) -> bool:
        """End the owner's lease: True if it was live, False if there was none to end.

        The owner's own expired row is removed too, though the answer is False. Another's is never touched.

        Raises:
            ValidationError: an argument breaks a rule.
        """
        key = validate_key(resource_type, resource_id, self.resource_types)
        validate_name("owner_id", owner_id)
        with self._tables.use() as table:
            for _ in range(MAX_LOST_RACES):
                found = table.find(key)
                if found is None:
                    return False
                lock, _ = found
                if lock.owner_id != owner_id or lock.expires_at is None:
                    return False
                ended_at = table.end(lock)
                if ended_at is not None:
                    return ended_at < lock.expires_at
        raise _never_at_rest(key)

    def release_all_for_owner(self, owner_id: str) -> int:
        """Remove all locks of an owner, so that others can go on at once: how many were removed.

        Raises:
            ValidationError: `owner_id` breaks a rule.
        """
        validate_name("owner_id", owner_id)
        removed = 0
        with self._tables.use() as table:
            for _ in range(MAX_LOST_RACES):
                mine = [lock for lock in table.of_owner(owner_id) if lock.is_readable]
                if not mine:
                    break
                with table.connection.transaction():
                    removed += sum(table.end(lock) is not None for lock in mine)
        return removed

    def cleanup_expired(self) -> int:
        """Remove the locks whose time is up: how many were removed.

        One that is renewed or taken over meanwhile survives, and one whose expiry cannot be read is left alone.
        """
        with self._tables.use() as table:
            return table.delete_expired()

    def count_stale_locks(self) -> int:
        """How many locks have expired and were not cleaned up."""
        with self._tables.use() as table:
            return table.count_expired()

    def get(self, resource_type: str, resource_id: str) -> Lock | None:
        """The lock of a resource, an expired one too; None if it has none.

        Raises:
            ValidationError: an argument breaks a rule.
        """
        key = validate_key(resource_type, resource_id, self.resource_types)
        with self._tables.use() as table:
            found = table.find(key)
            return found[0] if found else None

    def snapshot(self) -> LockSnapshot:
        """All locks, and the moment by the clock that judges; no row is older than that moment."""
        with self._tables.use() as table:
            return LockSnapshot(taken_at=table.now(), locks=table.all())

    def now(self) -> datetime:
        """The moment, aware, in UTC, by the clock that judges: the server's, or this machine's for SQLite."""
        with self._tables.use() as table:
            return table.now()

    def watcher(self) -> Watcher:
        """Something to poll the table with, again and again, on a connection of its own. Close it."""
        return Watcher(HeldTables(self._engine, self._clock, self._identity))

    def release_exact(self, lock: Lock) -> Outcome:
        """For operators: end the very lease that was displayed, live or stale, and say what happened."""
        with self._tables.use() as table:
            return exact.release(table, [lock])[0]

    def renew_exact(self, lock: Lock, ttl_seconds: float = DEFAULT_LOCK_TTL_SECS) -> Outcome:
        """For operators: extend the very lease that was displayed to `ttl_seconds` (5 to 3600) from now.

        Raises:
            ValidationError: `ttl_seconds` breaks a rule.
        """
        validate_ttl(ttl_seconds)
        with self._tables.use() as table:
            return exact.renew(table, [lock], ttl_seconds)[0]

    def purge_exact(self, locks: Iterable[Lock]) -> list[Outcome]:
        """For operators: remove those of the very leases displayed that are stale; an outcome for each, in order.

        One transaction for each `exact.CHUNK_SIZE` of them. If a later one fails, the earlier ones are done.
        """
        with self._tables.use() as table:
            return exact.purge(table, locks)

    def close(self) -> None:
        """Close the service's connections. Calls that are under way end as usual; later ones are refused."""
        self._tables.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _try_to_acquire(table: LockTable, key: Key, owner_id: str, ttl_seconds: float) -> Lock | None:
    """A grant; None if the row changed or was cleared away, and it is time to begin again."""
    granted = table.insert(key, owner_id, ttl_seconds)
    if granted is not None:
        return granted
    found = table.find(key)
    if found is None:
        return None
    lock, now = found
    if lock.is_expired(now):
        table.end(lock)
        return None
    if lock.owner_id != owner_id or not lock.is_readable:
        raise LockConflictError(lock, now)
    return _extend(table, lock, now, ttl_seconds)


def _extend(table: LockTable, lock: Lock, now: datetime, ttl_seconds: float) -> Lock | None:
    if lock.remaining(now) >= ttl_seconds:
        return lock
    return table.extend(lock, ttl_seconds)


def _live_lease(table: LockTable, key: Key, owner_id: str) -> tuple[Lock, datetime]:
    found = table.find(key)
    if found is None:
        raise LockExpiredError(str(key), owner_id, LossReason.REMOVED, table.now(), None)
    lock, now = found
    reason = _why_not_renewable(lock, owner_id, now)
    if reason is not None:
        raise LockExpiredError(str(key), owner_id, reason, now, lock)
    return lock, now


def _why_not_renewable(lock: Lock, owner_id: str, now: datetime) -> LossReason | None:
    if lock.owner_id != owner_id:
        return LossReason.TAKEN_OVER
    if not lock.is_readable:
        return LossReason.UNREADABLE
    return LossReason.EXPIRED if lock.is_expired(now) else None


def _raise_if_held(table: LockTable, key: Key, owner_id: str, busy: DatabaseBusyError) -> None:
    found = table.find(key)
    if found is None:
        return
    lock, now = found
    if lock.owner_id != owner_id and not lock.is_expired(now):
        raise LockConflictError(lock, now) from busy


def _require_fencing_tokens(table: LockTable) -> None:
    if table.connection.ids_never_return:
        return
    table.connection.check_table()
    if not table.connection.ids_never_return:
        raise DatabaseError(
            f"ids of the table `locks` can come back, so they cannot fence a late holder; {UPGRADE_HINT}"
        )


def _never_at_rest(key: Key) -> DatabaseBusyError:
    return DatabaseBusyError(f"the lock of {key} changed {MAX_LOST_RACES} times while it was looked at")
