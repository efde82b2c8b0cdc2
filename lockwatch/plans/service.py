"""The life of plans: who may move one on now, and to where.

A plan goes through the phases action, strategize, execute and apply. In each of the last three it is queued, started
(`start`), and then completed, failed or constrained; `advance` queues it in the next phase. `retry` queues it again in
its phase, `revert` in strategize, and `cancel` ends it. `transitions.RULES` holds what is allowed, as data.

Every one of these calls takes the plan's lock for itself alone, and writes under its guard: see `turn`. There are two
ways to run a phase. `run_phase` holds the lock for as long as the work takes, and records who runs it; if that process
dies, `recover_abandoned` finds out. `start` is for work that goes on elsewhere, by hand: it gives the lock back at
once, is marked manual, and is never taken for abandoned.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Final, Self, TypeAlias

from sqlalchemy import Connection, Engine

from lockwatch.core.acquiring import validate_wait
from lockwatch.core.errors import LockConflictError, LockwatchError
from lockwatch.core.holding import new_owner
from lockwatch.core.model import DEFAULT_LOCK_TTL_SECS, MAX_NAME_LENGTH, validate_name
from lockwatch.core.service import LockService
from lockwatch.core.text import clean
from lockwatch.plans.errors import PlanConstrainedError, PlanExistsError, PlanNotFoundError, PlanTransitionError
from lockwatch.plans.leases import PlanLease
from lockwatch.plans.model import Phase, Plan, PlanRun, PlanState, RunOutcome, as_reason
from lockwatch.plans.store import PlanStore, find_in, insert
from lockwatch.plans.transitions import Operation
from lockwatch.plans.turn import TRANSITION_TTL_SECS, Terms, Turn, guarded, take_turn

Work: TypeAlias = Callable[[PlanLease], object]
"""What a phase does, under a lease that it can `check()`, and `guard(connection)` its own writes with."""

MAX_WORKER_LENGTH: Final = MAX_NAME_LENGTH - 9
"""Longest name of a worker, in characters: `:random` comes after it in an owner id."""


class PlanLifecycleService:
    """Plans in a database, moved on under their locks. Safe for use from many threads.

    All calls that name a plan may raise PlanNotFoundError and ValidationError, all that change one LockConflictError
    (somebody else holds it, still after `wait_seconds`) and LockExpiredError (the lease was lost before the write,
    which was then not done). Any may raise DatabaseError.

    Args:
        locks: the lock service on the same database; its clock gives the moments that are written.
        engine: of the same database, with transactions that may write from their start on; see
            `lockwatch.plans.connect`.
        worker: who this is to those who watch the locks: each call's owner is `worker:random`, or
            `host:pid:random` if not given.
    """

    def __init__(self, locks: LockService, engine: Engine, *, worker: str | None = None) -> None:
        self.locks: Final = locks
        self._store = PlanStore(engine)
        self._worker = None if worker is None else validate_name("worker", worker, MAX_WORKER_LENGTH)

    def is_available(self) -> bool:
        """Whether the database has the tables of plans, and they are lockwatch's."""
        return self._store.is_there()

    def create(self, name: str, project_id: str, plan_id: str | None = None) -> Plan:
        """A new plan, queued in the phase action. Without an id it gets one.

        Raises:
            PlanExistsError: there is a plan of that id.
        """
        validate_name("name", name)
        validate_name("project_id", project_id)
        plan_id = validate_name("plan_id", secrets.token_hex(6) if plan_id is None else plan_id)
        owner_id = new_owner(self._worker)
        with self.locks.hold("plan", plan_id, owner_id, ttl_seconds=TRANSITION_TTL_SECS) as lease:
            now = self.locks.now()
            insert_new = partial(_insert_new, _new(plan_id, project_id, name, now), now)
            return guarded(self._store, PlanLease(lease), insert_new)

    def get(self, plan_id: str) -> Plan:
        """One plan."""
        return self._store.find(validate_name("plan_id", plan_id))

    def list(
        self, *, project_id: str | None = None, phase: Phase | None = None, state: PlanState | None = None
    ) -> tuple[Plan, ...]:
        """The plans of a project, in a phase, in a state (None: in any), the oldest first.

        Raises:
            ValidationError: there can be no such project.
        """
        if project_id is not None:
            validate_name("project_id", project_id)
        return self._store.listed(project_id, phase, state)

    def history(self, plan_id: str) -> tuple[PlanRun, ...]:
        """All runs of a plan's phases, the oldest first."""
        return self._store.runs(self.get(plan_id).id)

    def advance(self, plan_id: str, *, wait_seconds: float = 0) -> Plan:
        """Queue it in the next phase, once its phase is complete; an action needs no run.

        Raises:
            PlanTransitionError: not complete.
        """
        return self._end(plan_id, Operation.ADVANCE, None, wait_seconds)

    def start(self, plan_id: str, *, wait_seconds: float = 0) -> Plan:
        """Mark its phase as processing, by hand: nothing is held afterwards, so it is never taken for abandoned.

        To start an apply needs the project's lock for that moment. To hold locks while the work goes on: `run_phase`.

        Raises:
            PlanTransitionError: not queued, or an action.
        """
        with self._turn(plan_id, Operation.START, wait_seconds) as turn:
            return turn.start(is_manual=True)

    def complete(self, plan_id: str, *, wait_seconds: float = 0) -> Plan:
        """End its run: the phase is complete, or the plan applied if it was its last.

        To complete an apply needs the project's lock for that moment.

        Raises:
            PlanTransitionError: not processing.
        """
        return self._end(plan_id, Operation.COMPLETE, None, wait_seconds)

    def fail(self, plan_id: str, reason: str, *, wait_seconds: float = 0) -> Plan:
        """End its run: errored, for this reason.

        Raises:
            PlanTransitionError: not processing.
        """
        return self._end(plan_id, Operation.FAIL, as_reason(reason), wait_seconds)

    def constrain(self, plan_id: str, reason: str, *, wait_seconds: float = 0) -> Plan:
        """End its run: it met a constraint, said by this reason.

        Raises:
            PlanTransitionError: not processing.
        """
        return self._end(plan_id, Operation.CONSTRAIN, as_reason(reason), wait_seconds)

    def retry(self, plan_id: str, *, wait_seconds: float = 0) -> Plan:
        """Queue it again in its phase.

        Raises:
            PlanTransitionError: neither errored nor constrained.
        """
        return self._end(plan_id, Operation.RETRY, None, wait_seconds)

    def revert(self, plan_id: str, *, wait_seconds: float = 0) -> Plan:
        """Queue it in strategize again.

        Raises:
            PlanTransitionError: not in execute or apply, or processing, or final.
        """
        return self._end(plan_id, Operation.REVERT, None, wait_seconds)

    def cancel(self, plan_id: str, reason: str | None = None, *, wait_seconds: float = 0) -> Plan:
        """End it for good.

        Raises:
            PlanTransitionError: final already, or an action.
        """
        return self._end(plan_id, Operation.CANCEL, None if reason is None else as_reason(reason), wait_seconds)

    def run_phase(
        self, plan_id: str, work: Work, *, ttl_seconds: float = DEFAULT_LOCK_TTL_SECS, wait_seconds: float = 0
    ) -> Plan:
        """Run its phase: start it, call `work(lease)` with the locks held for as long as that takes, complete it.

        Work that raises leaves the plan errored, or constrained if it raised PlanConstrainedError, with the reason;
        what it raised is raised here. Work whose lease is lost is told (`lease.lost`, `lease.check()`), and nothing of
        its end is written: the plan is then processing without a live lease, for `recover_abandoned` to find.

        Args:
            plan_id: whose phase it is. Apply holds the project too.
            work: what the phase does.
            ttl_seconds: the leases' lifetime, 5 to 3600; they are renewed in the background.
            wait_seconds: how long to wait for who holds the plan or the project.

        Raises:
            PlanTransitionError: not queued, or an action.
            LockExpiredError: a lease was lost before the end was written.
        """
        with self._turn(plan_id, Operation.START, wait_seconds, ttl_seconds) as turn:
            turn.start(is_manual=False)
            try:
                work(turn.lease)
            except BaseException as error:
                _end_for(turn, error)
                raise
            return turn.end(Operation.COMPLETE)

    def find_abandoned(self) -> tuple[PlanRun, ...]:
        """The runs of `run_phase` that have not ended and whose lease is gone: nobody is there to end them."""
        found = [run for run in self._store.open_runs() if self._has_lost_its_lease(run)]
        still_open = self._store.open_runs() if found else ()  # one that has ended since gave its lease back
        return tuple(run for run in found if run in still_open)

    def count_abandoned(self) -> int:
        """How many plans are processing without anybody there to end it."""
        return len(self.find_abandoned())

    def recover_abandoned(self, *, grace_seconds: float = 0) -> tuple[Plan, ...]:
        """Make abandoned plans errored, so that they can be retried: those that it made so.

        Their error names who left them. A plan that somebody else recovers at the same time is left to them.

        Args:
            grace_seconds: for how long a stale lock is left alone first, for a person to see it. To recover its plan
                takes its place; one that a person has purged is waited for no longer.

        Raises:
            ValidationError: `grace_seconds` is no number of seconds from 0 to a year.
        """
        validate_wait(grace_seconds, "grace_seconds")
        self.locks.require_writable()
        left = [run for run in self.find_abandoned() if self._has_lost_its_lease(run, grace_seconds)]
        recovered = (self._recover(run) for run in left)
        return tuple(plan for plan in recovered if plan)

    def close(self) -> None:
        """Close the lock service that it works with."""
        self.locks.close()

    def _turn(
        self, plan_id: str, operation: Operation, wait_seconds: float = 0, ttl_seconds: float = TRANSITION_TTL_SECS
    ) -> AbstractContextManager[Turn]:
        terms = Terms(owner_id=new_owner(self._worker), ttl_seconds=ttl_seconds, wait_seconds=wait_seconds)
        return take_turn(self.locks, self._store, validate_name("plan_id", plan_id), operation, terms)

    def _end(self, plan_id: str, operation: Operation, reason: str | None, wait_seconds: float) -> Plan:
        with self._turn(plan_id, operation, wait_seconds) as turn:
            return turn.end(operation, reason)

    def _has_lost_its_lease(self, run: PlanRun, at_least_seconds_ago: float = 0) -> bool:
        lock = self.locks.get("plan", run.plan_id)
        if lock is None or (lock.id, lock.owner_id) != (run.fence, run.owner_id):
            return True
        return lock.remaining(self.locks.now()) <= -at_least_seconds_ago

    def _recover(self, run: PlanRun) -> Plan | None:
        reason = f"abandoned: {clean(run.owner_id)} (fence {run.fence}) was gone before its {run.phase} had ended"
        try:
            with self._turn(run.plan_id, Operation.FAIL) as turn:
                if self._store.runs(run.plan_id)[-1:] != (run,):
                    return None
                return turn.end(Operation.FAIL, reason, RunOutcome.ABANDONED)
        except (LockConflictError, PlanTransitionError, PlanNotFoundError):
            return None  # somebody else was first

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _new(plan_id: str, project_id: str, name: str, now: datetime) -> Plan:
    return Plan(
        id=plan_id,
        project_id=project_id,
        name=name,
        phase=Phase.ACTION,
        state=PlanState.QUEUED,
        error=None,
        created_at=now,
        updated_at=now,
    )


def _insert_new(plan: Plan, now: datetime, connection: Connection) -> Plan:
    with suppress(PlanNotFoundError):
        raise PlanExistsError(find_in(connection, plan.id))
    insert(connection, plan, now)
    return plan


def _end_for(turn: Turn, error: BaseException) -> None:
    """End the turn for what its work raised. That this failed, too, is noted on it, and hides it from nobody."""
    is_constrained = isinstance(error, PlanConstrainedError)
    words = f"{error}" if is_constrained else f"{type(error).__name__}: {error}"
    reason = as_reason(words.strip(": ") or type(error).__name__)
    try:
        turn.end(Operation.CONSTRAIN if is_constrained else Operation.FAIL, reason)
    except LockwatchError as refused:
        error.add_note(f"lockwatch could not write that the run ended so: {refused}")
