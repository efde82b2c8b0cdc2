"""One worker process of the demo: `python -m lockwatch.demo.worker DATABASE_PATH NUMBER`.

It plays the part of that number until its standard input ends, which it does when the demo ends, however it ends.
What goes wrong is a line in the log; the worker then carries on with other work.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Final

from lockwatch.core.errors import LockExpiredError, LockwatchError
from lockwatch.core.model import Key, Lock
from lockwatch.core.service import LockService
from lockwatch.demo.scene import Part, Role, Task, part
from lockwatch.plans import Phase, Plan, PlanLease, PlanLifecycleService, PlanState, Stage
from lockwatch.plans.service import Work
from lockwatch.runtime import LockRuntime
from lockwatch.sqlite_file import SqliteFile

POLL_SECS: Final = 0.5
"""How long a worker waits before it asks again for what it cannot have now, or looks up from its work."""
LEAVE_STALE_SECS: Final = 300.0
"""How long a dead worker's lock is left alone: it is there to be seen, and to be purged by a person."""
PATIENCE_SECS: Final = 30.0
"""How long the waiting worker lets others go first."""
GRACE_SECS: Final = 2.0
"""How long a worker may take to end, once the demo has."""

_FINAL: Final = (PlanState.APPLIED, PlanState.CANCELLED)

log: Final = logging.getLogger(__name__)


class Worker:
    """Does the tasks of one part, each time as a phase of a plan, until `ended` is set."""

    def __init__(self, plans: PlanLifecycleService, ended: threading.Event) -> None:
        self._plans = plans
        self._ended = ended

    def play(self, part: Part) -> None:
        """Play a part to its end: that of a stuck worker is over when its lease was taken from it."""
        match part.role:
            case Role.STUCK:
                self._until(partial(self._try, part.tasks[0], self._hang))
            case Role.WAITING:
                self._wait_for(part.tasks[0])
            case Role.STEADY | Role.DOOMED:
                self._work_in_turn(part)

    def _work_in_turn(self, part: Part) -> None:
        for task in cycle(part.tasks):
            worked = self._calmly(partial(self._try, task, partial(self._work, task)))
            if self._ended.wait(part.rest_seconds if worked else POLL_SECS):
                return

    def _wait_for(self, task: Task) -> None:
        while not self._ended.is_set():
            self._until(lambda: not self._is_free(Key("project", task.project_id)), PATIENCE_SECS)
            self._until(partial(self._try, task, partial(self._work, task)))

    def _try(self, task: Task, work: Work) -> bool:
        """Do the task if all that it needs is to be had now: whether that was so."""
        plan = self._prepare(task)
        if plan is None or not all(map(self._is_free, task.keys(plan.id))):
            return False
        try:
            self._plans.run_phase(plan.id, work, ttl_seconds=task.ttl_seconds)
        except LockExpiredError as lost:
            log.warning("%s", lost)
        return True

    def _prepare(self, task: Task) -> Plan | None:
        """The task's plan, queued in the phase that is its work; None if that is not to be had now."""
        plan, before = self._find(task), None
        while plan != before and self._is_free(Key("plan", plan.id)):
            if plan.stage == Stage(task.phase, PlanState.QUEUED):
                return plan
            plan, before = self._move_on(plan), plan
        return None

    def _find(self, task: Task) -> Plan:
        """The task's plan that is not done yet; a new one if all are."""
        plans = [plan for plan in self._plans.list(project_id=task.project_id) if plan.name == task.name]
        for plan in plans:
            if plan.state not in _FINAL and plan.stage != Stage(task.phase, PlanState.COMPLETE):
                return plan
        return self._plans.create(task.name, task.project_id, task.plan_id(len(plans) + 1))

    def _move_on(self, plan: Plan) -> Plan:
        match plan.state:
            case PlanState.PROCESSING:
                self._plans.recover_abandoned(grace_seconds=LEAVE_STALE_SECS)
                return self._plans.get(plan.id)
            case PlanState.ERRORED | PlanState.CONSTRAINED:
                return self._plans.retry(plan.id)
            case PlanState.QUEUED if plan.phase is not Phase.ACTION:
                return self._plans.run_phase(plan.id, lambda _lease: None)
            case _:
                return self._plans.advance(plan.id)

    def _is_free(self, key: Key) -> bool:
        lock = self._plans.locks.get(*key)
        return lock is None or lock.remaining(self._plans.locks.now()) < -LEAVE_STALE_SECS

    def _work(self, task: Task, lease: PlanLease) -> None:
        """Be at work until it is done, or the lease is lost."""
        ends_at = time.monotonic() + task.work_seconds
        while (left := ends_at - time.monotonic()) > 0 and not self._ended.wait(min(left, POLL_SECS)):
            lease.check()

    def _hang(self, lease: PlanLease) -> None:
        """Do nothing until the lease is taken away. That is looked up, since its next heartbeat is far off."""
        held = [kept.lock for kept in (lease.plan, lease.project) if kept]
        self._until(lambda: not all(map(self._is_there, held)))

    def _is_there(self, lock: Lock) -> bool:
        found = self._plans.locks.get(*lock.key)
        return found is not None and found.id == lock.id

    def _until(self, done: Callable[[], bool], seconds: float = float("inf")) -> None:
        """Ask again and again, until the answer is yes, or for as many seconds."""
        gives_up_at = time.monotonic() + seconds
        while not self._calmly(done) and time.monotonic() < gives_up_at:
            if self._ended.wait(POLL_SECS):
                return

    def _calmly(self, step: Callable[[], bool]) -> bool:
        try:
            return step()
        except LockwatchError as error:
            log.warning("%s", error)
            return False


def main() -> None:
    """Play the part that the command line names."""
    path, number = sys.argv[1:]
    logging.basicConfig(format="%(asctime)s %(message)s")
    mine = part(int(number))
    ended = threading.Event()
    threading.Thread(target=end_with_parent, args=(ended,), daemon=True).start()
    database, worker = SqliteFile(Path(path)), mine.worker(os.getpid())
    locks = LockService(database.engine(), identity=database.identity)
    with LockRuntime(locks, owner_id=worker, grace_seconds=GRACE_SECS, clears_up=False):
        Worker(PlanLifecycleService(locks, database.transactional_engine(), worker=worker), ended).play(mine)


def end_with_parent(ended: threading.Event) -> None:
    """Wait for the end of standard input, then set `ended`, and end the process if that does not."""
    while os.read(sys.stdin.fileno(), 1):
        continue
    ended.set()
    time.sleep(GRACE_SECS)
    os._exit(1)


if __name__ == "__main__":
    main()
