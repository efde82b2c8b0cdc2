"""What keeps leases alive: one heartbeat thread and one watchdog thread for all leases of a service.

The heartbeat renews. The watchdog only looks at the clock, so that a lease is known to be lost even while a call to the
database hangs. Both wake once a second, or when something is due, and end soon after the last lease.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from lockwatch.core.acquiring import MAX_LOST_RACES, Grant, extend, never_at_rest
from lockwatch.core.dialects import Clock
from lockwatch.core.errors import LockwatchError, LossReason
from lockwatch.core.held import HeldTables
from lockwatch.core.lease import Lease, log
from lockwatch.core.loss import Loss
from lockwatch.core.model import Lock
from lockwatch.core.monotonic import Monotonic
from lockwatch.core.table import LockTable
from lockwatch.core.text import clean

TICK_SECS: Final = 1.0
"""How long a thread sleeps at most. Its sleep does not count the machine's sleep, so it must be short."""
RETRY_SHARE: Final = 1 / 20
"""How much of the TTL passes before a renewal that failed is tried again."""


@dataclass(slots=True, kw_only=True)
class Kept:
    """A lease, when its next heartbeat is due, and how many holds share it."""

    lease: Lease
    interval: float
    due: float
    is_ours: bool
    """Whether one of these holds was granted it, so that the last to end releases it."""
    holds: int = 1
    failed: bool = False
    """Whether the last renewal did not get through."""


class LeaseKeeper:
    """Renews leases until they are dropped, and signals the loss of those that could not be renewed in time."""

    def __init__(self, tables: HeldTables, monotonic: Monotonic, clock: Clock) -> None:
        self._tables = tables
        self._clock = clock
        self._monotonic = monotonic
        self._start_anew()
        _keepers.add(self)

    def enter(self, grant: Grant, ttl_seconds: float, interval_seconds: float) -> Kept:
        """Begin a hold of what was granted; a hold within another one of the same lease shares it."""
        deadline = grant.sent_at + ttl_seconds
        with self._mutex:
            kept = self._kept.get(grant.lock.id)
            if kept is not None and kept.lease.prolong(grant.lock, deadline):
                kept.holds += 1
                return kept
            lease = Lease(
                grant.lock, ttl_seconds=ttl_seconds, deadline=deadline, monotonic=self._monotonic, clock=self._clock
            )
            due = grant.sent_at + interval_seconds
            kept = Kept(lease=lease, interval=interval_seconds, due=due, is_ours=grant.is_new)
            self._kept[grant.lock.id] = kept
            self._ensure_thread("heartbeat", self._beat)
            self._ensure_thread("watchdog", self._watch)
            return kept

    def leave(self, kept: Kept) -> bool:
        """End a hold: whether it was the last one of a lease that is ours to release."""
        with self._mutex:
            kept.holds -= 1
        if kept.holds:
            return False
        self._drop(kept)
        return kept.is_ours

    def leases(self) -> list[Lease]:
        """Those that are kept."""
        return [kept.lease for kept in self._all_kept()]

    def shut_down(self, grace_seconds: float) -> None:
        """Tell all bodies to end, and wait for them: their leases are kept alive meanwhile."""
        for lease in self.leases():
            lease.lose(Loss(reason=LossReason.SHUTTING_DOWN))
        give_up_at = self._monotonic() + grace_seconds
        while self.leases() and (left := give_up_at - self._monotonic()) > 0:
            self._dropped.clear()
            if self.leases():
                self._dropped.wait(min(left, TICK_SECS))

    def close(self) -> None:
        """Keep nothing alive any more. What was kept is lost; its rows stay for their TTL."""
        self._closing.set()
        for kept in self._all_kept():
            kept.lease.lose(Loss(reason=LossReason.SHUTTING_DOWN))
            self._drop(kept)

    def become_childs(self) -> None:
        """In a forked child: nothing is kept here. What the parent keeps is the parent's."""
        for kept in list(self._kept.values()):
            kept.lease.become_parents()
        self._start_anew()

    def _start_anew(self) -> None:
        self._mutex = threading.Lock()
        self._closing = threading.Event()
        self._dropped = threading.Event()
        self._kept: dict[int, Kept] = {}
        self._threads: dict[str, threading.Thread] = {}

    def _drop(self, kept: Kept) -> None:
        # A renewal that is under way may still come to its end; it inserts nothing.
        with self._mutex:
            if self._kept.get(kept.lease.fence) is kept:
                del self._kept[kept.lease.fence]
            self._dropped.set()

    def _all_kept(self) -> list[Kept]:
        with self._mutex:
            return list(self._kept.values())

    def _ensure_thread(self, name: str, work: Callable[[], float]) -> None:
        if name not in self._threads:
            thread = threading.Thread(target=self._run, args=(name, work), name=f"lockwatch {name}", daemon=True)
            self._threads[name] = thread
            thread.start()

    def _run(self, name: str, work: Callable[[], float]) -> None:
        while not self._is_over(name):
            wake_at = work()
            self._closing.wait(min(TICK_SECS, max(0.0, wake_at - self._monotonic())))

    def _is_over(self, name: str) -> bool:
        with self._mutex:
            if self._kept and not self._closing.is_set():
                return False
            del self._threads[name]
            return True

    def _beat(self) -> float:
        """Renew what is due, the most urgent first; when the next one is."""
        for kept in sorted(self._all_kept(), key=lambda kept: kept.due):
            if kept.due > self._monotonic() or self._closing.is_set():
                break
            self._renew(kept)
        return min((kept.due for kept in self._all_kept()), default=self._monotonic() + TICK_SECS)

    def _watch(self) -> float:
        """Signal the loss of what is over; when the next one would be."""
        for kept in self._all_kept():
            if kept.lease.is_over():
                kept.lease.lose(Loss(reason=LossReason.UNREACHABLE if kept.failed else LossReason.EXPIRED))
                self._drop(kept)
        return min((kept.lease.deadline for kept in self._all_kept()), default=self._monotonic() + TICK_SECS)

    def _renew(self, kept: Kept) -> None:
        lease = kept.lease
        sent_at = self._monotonic()
        kept.failed = True  # until it is known to have got through: it may hang
        try:
            with self._tables.use() as table:
                answer = renew_lease(table, lease)
                if isinstance(answer, Lock) and not lease.prolong(answer, sent_at + lease.ttl_seconds):
                    table.end(answer)
                    answer = Loss(reason=LossReason.EXPIRED)
        except Exception as error:  # noqa: BLE001 the next beat tries again, whatever it was
            kept.due = self._monotonic() + lease.ttl_seconds * RETRY_SHARE
            if not isinstance(error, LockwatchError):
                log.exception("the heartbeat of %s failed", clean(lease.lock.resource))
            return
        kept.failed = False
        kept.due = sent_at + kept.interval
        if isinstance(answer, Loss):
            lease.lose(answer)
            self._drop(kept)


def renew_lease(table: LockTable, lease: Lease) -> Lock | Loss:
    """The lock of a lease, renewed; or why it is lost."""
    key = lease.lock.key
    for _ in range(MAX_LOST_RACES):
        found = table.find(key)
        loss = _loss(lease.lock, found[0] if found else None)
        if found is None or loss is not None:
            return loss or Loss(reason=LossReason.REMOVED)
        lock, now = found
        if lock.is_expired(now):
            return Loss(reason=LossReason.EXPIRED)
        renewed = extend(table, lock, now, lease.ttl_seconds)
        if renewed is not None:
            return renewed
    raise never_at_rest(key)


def _loss(lock: Lock, found: Lock | None) -> Loss | None:
    if found is None:
        return Loss(reason=LossReason.REMOVED)
    if (found.id, found.owner_id) != (lock.id, lock.owner_id):
        return Loss(reason=LossReason.TAKEN_OVER, holder=found)
    return None if found.is_readable else Loss(reason=LossReason.UNREADABLE)


_keepers: Final[weakref.WeakSet[LeaseKeeper]] = weakref.WeakSet()


def _in_child() -> None:
    for keeper in list(_keepers):
        keeper.become_childs()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
