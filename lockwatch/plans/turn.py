"""A turn: one plan under its lock, read under it, and moved on by writes that its lease guards.

1. Take the plan's lock, under an owner that no other call has: two calls in one process exclude each other too.
2. Read the plan, and see whether the operation is allowed.
3. If it changes the project, take the project's lock, always after the plan's. Refused: give the plan's back.
4. In one short transaction: guard, then change the very row that was read, with its run.
5. Give the locks back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from lockwatch.core.errors import DatabaseBusyError, LockExpiredError
from lockwatch.core.lease import Lease
from lockwatch.core.monotonic import elapsed
from lockwatch.core.service import LockService
from lockwatch.plans.errors import PlanTransitionError
from lockwatch.plans.leases import PlanLease
from lockwatch.plans.model import Plan, PlanState, RunOutcome, Stage
from lockwatch.plans.store import PlanStore, begin_run, end_run, find_in, move
from lockwatch.plans.transitions import CHANGES_PROJECT, Operation, allowed, target

TRANSITION_TTL_SECS: Final = 30.0
"""Lifetime of the lock of a transition without work: how long a plan is stuck if the process dies in it."""
WRITE_TRIES: Final = 3
"""How often a write is tried while another connection keeps the database locked; the lease is renewed meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """For whom and for how many seconds a lock is taken, and how long its holder is waited for."""

    owner_id: str
    ttl_seconds: float
    wait_seconds: float


class Turn:
    """A plan whose lock is held. `is_over` once its last write is committed."""

    def __init__(self, locks: LockService, store: PlanStore, plan: Plan, lease: PlanLease) -> None:
        self.lease = lease
        self.is_over = False
        self._locks = locks
        self._store = store
        self._plan = plan

    def start(self, *, is_manual: bool) -> Plan:
        """Begin a run of the plan's phase; the turn goes on until that ends, unless it is manual.

        Raises:
            LockExpiredError: the lease was lost; nothing was written.
        """
        to, now = target(self._plan, Operation.START), self._locks.now()

        def write(connection: Connection) -> Plan:
            after = self._move(connection, Operation.START, to, None, now)
            begin_run(connection, after, self.lease.lock, is_manual=is_manual, now=now)
            return after

        return self._written(write, is_last=is_manual)

    def end(self, operation: Operation, reason: str | None = None, outcome: RunOutcome | None = None) -> Plan:
        """The turn's last write. A run under way ends with it, as the plan's state says if `outcome` does not.

        Raises:
            LockExpiredError: the lease was lost; nothing was written.
        """
        to, now = target(self._plan, operation), self._locks.now()
        was_processing = self._plan.state is PlanState.PROCESSING

        def write(connection: Connection) -> Plan:
            after = self._move(connection, operation, to, reason, now)
            if was_processing:
                end_run(connection, after, outcome or RunOutcome(to.state), now)
            return after

        return self._written(write, is_last=True)

    def _move(self, connection: Connection, operation: Operation, to: Stage, reason: str | None, now: datetime) -> Plan:
        after = move(connection, self._plan, to, reason, now)
        if after is None:  # somebody changed it without its lock
            found = find_in(connection, self._plan.id)
            raise PlanTransitionError(found, operation, allowed(found.stage))
        return after

    def _written(self, write: Callable[[Connection], Plan], *, is_last: bool) -> Plan:
        self._plan = guarded(self._store, self.lease, write)
        self.is_over = is_last
        return self._plan


@contextmanager
def take_turn(locks: LockService, store: PlanStore, plan_id: str, operation: Operation, terms: Terms) -> Iterator[Turn]:
    """The plan's turn for an operation that its phase and state allow, under the locks that it needs.

    Raises:
        LockConflictError: somebody else holds the plan or the project; nothing is held then.
        LockExpiredError: the lease was lost before the last write.
        PlanNotFoundError: there is no such plan.
        PlanTransitionError: its phase and state do not allow the operation.
    """
    turn: Turn | None = None
    try:
        with ExitStack() as held:
            plan, lease = _take_locks(held, locks, store, plan_id, operation, terms)
            turn = Turn(locks, store, plan, lease)
            yield turn
    except LockExpiredError:
        # What was committed under the guard is done, whatever became of the lease on the way out.
        if turn is None or not turn.is_over:
            raise


def guarded(store: PlanStore, lease: PlanLease, write: Callable[[Connection], Plan]) -> Plan:
    """What `write` gives, done in one transaction in which the lease holds.

    Raises:
        LockExpiredError: the lease is lost; all was rolled back.
        DatabaseBusyError: another connection kept the database locked.
    """
    tries = 0
    while True:
        tries += 1
        try:
            with store.transaction() as connection:
                lease.guard(connection)
                return write(connection)
        except DatabaseBusyError:
            if tries == WRITE_TRIES or lease.is_lost():
                raise


def _take_locks(
    held: ExitStack, locks: LockService, store: PlanStore, plan_id: str, operation: Operation, terms: Terms
) -> tuple[Plan, PlanLease]:
    owner, begun = terms.owner_id, elapsed()

    def take(resource_type: str, resource_id: str, wait_seconds: float) -> Lease:
        hold = locks.hold(resource_type, resource_id, owner, ttl_seconds=terms.ttl_seconds, wait_seconds=wait_seconds)
        return held.enter_context(hold)

    lease = take("plan", plan_id, terms.wait_seconds)
    plan = store.find(plan_id)
    target(plan, operation)
    if (plan.phase, operation) not in CHANGES_PROJECT:
        return plan, PlanLease(lease)
    return plan, PlanLease(lease, take("project", plan.project_id, max(0.0, terms.wait_seconds - (elapsed() - begun))))
