"""How an owner renews and releases its own lease, which is named by its resource: no other owner's is ever touched."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from lockwatch.core.acquiring import MAX_LOST_RACES, extend, never_at_rest
from lockwatch.core.errors import DatabaseError, LockExpiredError, LossReason
from lockwatch.core.model import Key, Lock
from lockwatch.core.table import LockTable
from lockwatch.core.text import clean


def renew(table: LockTable, key: Key, owner_id: str, ttl_seconds: float) -> Lock:
    """The owner's live lease, extended to `ttl_seconds` from now; one that lasts longer stays as it is.

    Raises:
        LockExpiredError: it expired, or is somebody else's, or is not there; nothing was changed.
        DatabaseError: nothing names its row.
    """
    for _ in range(MAX_LOST_RACES):
        lock, now = _live_lease(table, key, owner_id)
        _require_id(lock)
        renewed = extend(table, lock, now, ttl_seconds)
        if renewed is not None:
            return renewed
    raise never_at_rest(key)


def release(table: LockTable, key: Key, owner_id: str) -> bool:
    """End the owner's lease, an expired one too: whether it was live. In one statement, as a rule.

    Raises:
        DatabaseError: nothing names its row.
    """
    was_live = table.end_owned(key, owner_id)
    if was_live is not None:
        return was_live
    for _ in range(MAX_LOST_RACES):
        found = table.find(key)
        if found is None:
            return False
        lock, _ = found
        if lock.owner_id != owner_id or lock.expires_at is None:
            return False
        _require_id(lock)
        ended_at = table.end(lock)
        if ended_at is not None:
            return ended_at < lock.expires_at
    raise never_at_rest(key)


def release_all(table: LockTable, owner_id: str) -> int:
    """Remove all locks of an owner: how many were removed. Rows that nothing names are left alone."""
    removed = 0
    for _ in range(MAX_LOST_RACES):
        mine = [lock for lock in table.of_owner(owner_id) if lock.is_readable and _has_id(lock)]
        if not mine:
            break
        removed += table.connection.transact(partial(_end_all, table, mine))
    return removed


def _end_all(table: LockTable, locks: list[Lock]) -> int:
    return sum(table.end(lock) is not None for lock in locks)


def _has_id(lock: Lock) -> bool:
    return isinstance(lock.id, int)  # in another program's table it may be anything


def _require_id(lock: Lock) -> None:
    if not _has_id(lock):
        raise DatabaseError(
            f"the lock of {clean(lock.resource)} cannot be changed: its id is no whole number, so nothing names its row"
        )


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
