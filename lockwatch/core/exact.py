"""What an operator does: settle the very leases that were displayed, and say what became of each.

A lease is named by what was on the screen (`id`, owner and expiry as stored). What changed since is left alone
and reported. Nothing is ever done to a lease that nobody looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Final, TypeAlias

from lockwatch.core.model import Lock, Outcome, OutcomeKind
from lockwatch.core.table import LockTable

CHUNK_SIZE: Final = 500
"""How many leases are settled in one transaction: others wait for no longer than that takes."""

_Settle: TypeAlias = Callable[[LockTable, Lock, datetime], Outcome]


def release(table: LockTable, locks: Iterable[Lock]) -> list[Outcome]:
    """End those very leases, live or stale."""
    return _in_chunks(table, locks, _release)


def renew(table: LockTable, locks: Iterable[Lock], ttl_seconds: float) -> list[Outcome]:
    """Extend those of the very leases that are live to `ttl_seconds` from now, never shortening one."""
    return _in_chunks(table, locks, lambda table, lock, at: _renew(table, lock, at, ttl_seconds))


def purge(table: LockTable, locks: Iterable[Lock]) -> list[Outcome]:
    """Remove those of the very leases that are stale."""
    return _in_chunks(table, locks, _purge)


def _in_chunks(table: LockTable, locks: Iterable[Lock], settle: _Settle) -> list[Outcome]:
    waiting = list(locks)
    outcomes: list[Outcome] = []
    for start in range(0, len(waiting), CHUNK_SIZE):
        chunk = waiting[start : start + CHUNK_SIZE]
        outcomes += table.connection.transact(partial(_in_chunk, table, chunk, settle))
    return outcomes


def _in_chunk(table: LockTable, chunk: Sequence[Lock], settle: _Settle) -> list[Outcome]:
    at = table.now()
    return [settle(table, lock, at) if table.could_hold(lock) else _changed(table, lock, at) for lock in chunk]


def _release(table: LockTable, seen: Lock, at: datetime) -> Outcome:
    if table.end(seen) is None:
        return _changed(table, seen, at)
    return Outcome(kind=OutcomeKind.DONE, seen=seen, now=None, at=at)


def _purge(table: LockTable, seen: Lock, at: datetime) -> Outcome:
    if seen.is_expired(at):
        return _release(table, seen, at)
    return _unless_changed(table, seen, at, OutcomeKind.NOT_EXPIRED)


def _renew(table: LockTable, seen: Lock, at: datetime, ttl_seconds: float) -> Outcome:
    if seen.is_expired(at):
        return _unless_changed(table, seen, at, OutcomeKind.EXPIRED)
    if seen.remaining(at) >= ttl_seconds:
        return _unless_changed(table, seen, at, OutcomeKind.DONE)
    renewed = table.extend(seen, ttl_seconds)
    if renewed is None:
        return _unless_changed(table, seen, at, OutcomeKind.EXPIRED)
    return Outcome(kind=OutcomeKind.DONE, seen=seen, now=renewed, at=at)


def _unless_changed(table: LockTable, seen: Lock, at: datetime, kind: OutcomeKind) -> Outcome:
    """`kind`, if the lease is still the one that was seen (and can be judged at all); else how it changed."""
    current = table.find_again(seen)
    if current != seen:
        return _changed(table, seen, at)
    return Outcome(kind=kind if seen.is_readable else OutcomeKind.UNREADABLE, seen=seen, now=current, at=at)


def _changed(table: LockTable, seen: Lock, at: datetime) -> Outcome:
    current = table.find_again(seen)
    return Outcome(kind=_change(seen, current), seen=seen, now=current, at=at)


def _change(seen: Lock, current: Lock | None) -> OutcomeKind:
    if current is None:
        return OutcomeKind.GONE
    if (current.id, current.owner_id) != (seen.id, seen.owner_id):
        return OutcomeKind.TAKEN_OVER
    if seen.expires_at and current.expires_at and current.expires_at > seen.expires_at:
        return OutcomeKind.RENEWED_SINCE
    return OutcomeKind.CHANGED
