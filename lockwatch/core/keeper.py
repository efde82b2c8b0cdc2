"""What keeps leases alive: one heartbeat thread and one watchdog thread for all leases of a service.

The heartbeat renews. The watchdog only looks at the clock, so that a lease is known to be lost even while a call to the
database hangs. Both wake once a second, or when something is due, and end soon after the last hold.
A lease that is lost is kept, though not renewed, until its holds have ended: bodies still run under it.
"""

from __future__ import annotations

import math
import threading
from typing import Final

from lockwatch.core.acquiring import MAX_LOST_RACES, Grant, extend, never_at_rest
from lockwatch.core.dialect import Clock
from lockwatch.core.errors import DatabaseBusyError, LockwatchError, LossReason
from lockwatch.core.forking import after_fork
from lockwatch.core.held import HeldTables
from lockwatch.core.kept import Kept
from lockwatch.core.lease import Lease
from lockwatch.core.loss import Loss, loss_of
from lockwatch.core.model import Key, Lock
from lockwatch.core.monotonic import Monotonic
from lockwatch.core.rounds import TICK_SECS, Rounds, log
from lockwatch.core.table import LockTable
from lockwatch.core.text import clean
from lockwatch.core.turns import Turn, Turns

AHEAD_SECS: Final = 0.05
"""How much before its deadline the watchdog gives a lease up: a thread never wakes on the dot, but always later."""
RETRY_SHARE: Final = 1 / 20
"""How much of the TTL passes before a renewal that failed is tried again."""


class LeaseKeeper:
    """Renews leases while holds last, and signals the loss of those that could not be renewed in time."""

    def __init__(self, tables: HeldTables, monotonic: Monotonic, clock: Clock) -> None:
        self._tables = tables
        self._clock = clock
        self._monotonic = monotonic
        self._start_anew()
        after_fork(self)

    def turn(self, key: Key, owner_id: str) -> Turn:
        """To be held from before an acquisition until `enter`, and from `leave` until `drop`.

        Otherwise one hold of an owner could be granted the row that another one of the same owner is about to delete.
        """
        return self._turns.of((key, owner_id))

    def enter(self, holder: object, grant: Grant, ttl_seconds: float, interval_seconds: float) -> Kept | None:
        """Begin a hold of what was granted; a hold within another one of the same lease shares it.

        None if that lease is one that a hold here has lost: its row must go, and a new grant be asked for.

        Raises:
            LockwatchError: the service is shutting down.
        """
        deadline = grant.sent_at + ttl_seconds
        with self._mutex:
            kept = self._kept.get(grant.lock.id)
            if kept is not None and kept.lease.prolong(grant.lock, deadline):
                kept.share(holder, grant.sent_at, ttl_seconds, interval_seconds)
            elif kept is not None and kept.is_ours:
                return None
            else:
                lease = Lease(
                    grant.lock,
                    ttl_seconds,
                    deadline,
                    monotonic=self._monotonic,
                    clock=self._clock,
                    dialect=self._tables.dialect,
                )
                due = grant.sent_at + interval_seconds
                kept = Kept(lease=lease, interval=interval_seconds, due=due, is_ours=grant.is_new, holders={holder})
                self._keep(kept)
            self._call_if_urgent(kept)
            return kept

    def leave(self, holder: object, kept: Kept) -> bool:
        """End a hold: whether none is left, after which the row is to be released and the lease to be dropped.

        The same if it was ended before: an interrupt may come in the midst of an end, which is then begun again.
        """
        with self._mutex:
            kept.holders.discard(holder)
            kept.is_ending = not kept.holders
            return kept.is_ending

    def held_by(self, holder: object) -> Kept | None:
        """What a hold keeps alive."""
        return next((kept for kept in self._all_kept() if holder in kept.holders), None)

    def drop(self, kept: Kept) -> None:
        """Keep it no longer. A renewal that is under way may still come to its end; it inserts nothing."""
        kept.lease.end()
        with self._mutex:
            if self._kept.get(kept.lease.fence) is kept:
                del self._kept[kept.lease.fence]
            self._dropped.set()

    def leases(self) -> list[Lease]:
        """Those under which bodies work, lost ones too."""
        return [kept.lease for kept in self._all_kept()]

    def shut_down(self, grace_seconds: float) -> None:
        """Tell all bodies to end, and wait for them: their leases are kept alive meanwhile, until they are released."""
        self._is_shutting_down = True
        self._lose_all()
        give_up_at = self._monotonic() + grace_seconds
        while self._all_kept() and (left := give_up_at - self._monotonic()) > 0:
            self._dropped.clear()
            if self._all_kept():
                self._dropped.wait(min(left, TICK_SECS))

    def close(self) -> None:
        """Keep nothing alive any more. What was kept is lost; its rows stay for their TTL."""
        self._is_shutting_down = self._is_closed = True
        self._lose_all()
        with self._mutex:
            self._kept.clear()
            self._call_all()

    def become_childs(self) -> None:
        """In a forked child: nothing is kept here. What the parent keeps is the parent's."""
        for kept in list(self._kept.values()):
            kept.lease.become_parents()
        self._start_anew()

    def _start_anew(self) -> None:
        self._mutex = threading.Lock()
        self._is_shutting_down = self._is_closed = False
        self._dropped = threading.Event()
        self._kept: dict[int, Kept] = {}
        self._turns = Turns()
        self._threads: dict[str, Rounds] = {}

    def _keep(self, kept: Kept) -> None:
        if self._is_shutting_down:
            raise LockwatchError("the lock service is shutting down: no new lease is held")
        for name, work in (("heartbeat", self._beat), ("watchdog", self._watch)):
            if name not in self._threads:
                thread = Rounds(name, work, self._is_over, self._monotonic)
                thread.start()
                self._threads[name] = thread
        self._kept[kept.lease.fence] = kept

    def _is_over(self, thread: Rounds) -> bool:
        with self._mutex:
            mine = [name for name, known in self._threads.items() if known is thread]
            if mine and self._kept:
                return False
            for name in mine:
                del self._threads[name]
            return True

    def _call_if_urgent(self, kept: Kept) -> None:
        if min(kept.due, kept.lease.deadline) < self._monotonic() + TICK_SECS:
            self._call_all()

    def _call_all(self) -> None:
        for thread in self._threads.values():
            thread.call()

    def _lose_all(self) -> None:
        for kept in self._all_kept():
            kept.lease.lose(Loss(reason=LossReason.SHUTTING_DOWN))

    def _all_kept(self) -> list[Kept]:
        with self._mutex:
            return list(self._kept.values())

    def _alive(self) -> list[Kept]:
        return [kept for kept in self._all_kept() if kept.lease.is_alive and not kept.is_ending]

    def _beat(self) -> float:
        """Renew what is due, the most urgent first, and what nearly is, so as to wake less often; when the next is."""
        now = self._monotonic()
        for kept in sorted((kept for kept in self._alive() if kept.is_due(now)), key=lambda kept: kept.due):
            if self._is_closed:
                break
            self._renew(kept)
        return min((kept.due for kept in self._alive()), default=math.inf)

    def _watch(self) -> float:
        """Signal the loss of what is over; when the next one would be."""
        for kept in self._all_kept():
            if not kept.is_ending:
                kept.lease.is_lost(AHEAD_SECS)
        return min((kept.lease.deadline for kept in self._alive()), default=math.inf) - AHEAD_SECS

    def _renew(self, kept: Kept) -> None:
        lease, sent_at, ttl_seconds = kept.lease, self._monotonic(), kept.lease.ttl_seconds
        lease.is_doubted = False
        lease.is_cut_off = True  # until it is known to have got through: it may hang
        try:
            with self._tables.use() as table:
                answer = renew_lease(table, lease.lock, ttl_seconds)
            if isinstance(answer, Lock) and not lease.prolong(answer, sent_at + ttl_seconds):
                self._give_back(kept, answer)
        except Exception as error:  # noqa: BLE001 the next beat tries again, whatever it was
            kept.due = self._monotonic() + ttl_seconds * RETRY_SHARE
            if not isinstance(error, LockwatchError):
                log.exception("the heartbeat of %s failed", clean(lease.lock.resource))
            return
        lease.is_cut_off = False
        kept.due = sent_at + kept.interval
        if isinstance(answer, Loss) and not kept.is_ending:
            lease.lose(answer)

    def _give_back(self, kept: Kept, lock: Lock) -> None:
        """Release what was renewed too late, if it is ours and no other hold has it by now."""
        kept.lease.is_lost()
        with self.turn(lock.key, lock.owner_id):
            if kept.is_ours and self._kept.get(lock.id, kept) is kept:
                with self._tables.use() as table:
                    table.end(lock)


def renew_lease(table: LockTable, lock: Lock, ttl_seconds: float) -> Lock | Loss:
    """That very lease, renewed; or why it is lost. A row that is locked is not waited for: others are due as well.

    Raises:
        DatabaseBusyError: a transaction has locked the row, and so nobody can take it over: come back to it.
    """
    before: Lock | None = None
    for _ in range(MAX_LOST_RACES):
        found = table.find(lock.key)
        loss = loss_of(lock, found)
        if found is None or loss is not None:
            return loss or Loss(reason=LossReason.REMOVED)
        if found[0] == before:
            raise DatabaseBusyError(f"another transaction keeps the lock of {clean(lock.resource)} from being renewed")
        before = found[0]
        renewed = extend(table, *found, ttl_seconds, waits=False)
        if renewed is not None:
            return renewed
    raise never_at_rest(lock.key)
