"""Something in the dashboard's place that watches a demo and does what an operator would."""

from __future__ import annotations

import os
import sys
import time
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import lockwatch
from lockwatch import Lock, LockService, LockSnapshot, Outcome
from lockwatch import demo as played
from lockwatch.demo.scene import STUCK_ON, Task, cast, worker_of
from lockwatch.tui.look import Look
from tests.demo.playing import is_running, until

DOOMED, SUCCESSOR = cast(5)[0].tasks[:2]
"""What the first worker does until it is killed, and what the one in its place does then."""
STUCK, WAITING = cast(5)[1].tasks[0], cast(5)[2].tasks[0]


@dataclass(slots=True)
class Watched:
    """What an observer in the dashboard's place saw of one whole demo, and what was left of it."""

    folder: Path
    look: Look | None = None
    sessions: set[int] = field(default_factory=set)
    stuck: list[Lock] = field(default_factory=list)
    doomed: list[Lock] = field(default_factory=list)
    dead_at: list[LockSnapshot] = field(default_factory=list)
    stale_at: list[LockSnapshot] = field(default_factory=list)
    successor: list[Lock] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    taken: list[Lock] = field(default_factory=list)
    waited_secs: float = 0
    stuck_moved_on: bool = False

    def watch(self, service: LockService, look: Look, *, find_plan: Callable[[str], object]) -> None:
        """Stands in for `lockwatch.tui.run`."""
        self.look = look
        with pytest.raises(lockwatch.PlanNotFoundError):
            find_plan("nobody's")
        assert until(lambda: self._see(service, self.stuck, "worker-2@", STUCK, STUCK_ON))
        assert until(lambda: self._see(service, self.doomed, "worker-1@", DOOMED))
        pid = pid_of(self.doomed[0])
        self.sessions = {os.getsid(pid_of(lock)) for lock in service.snapshot().locks}
        assert until(lambda: not is_running(pid))
        self.doomed = [lock for lock in service.snapshot().locks if lock.id == self.doomed[0].id]
        assert until(lambda: self._goes_stale(service))
        assert until(lambda: self._see(service, self.successor, "worker-1@", SUCCESSOR))
        self.outcomes = service.purge_exact(self.stale_at[-1].stale)
        self._free(service)

    def _goes_stale(self, service: LockService) -> bool:
        snapshot = service.snapshot()
        (self.stale_at if snapshot.stale else self.dead_at).append(snapshot)
        return bool(snapshot.stale)

    def _free(self, service: LockService) -> None:
        assert service.release_exact(self.stuck[0]).is_done
        released_at = time.monotonic()
        assert until(lambda: self._see(service, self.taken, "worker-3@", WAITING, STUCK_ON))
        self.waited_secs = time.monotonic() - released_at
        self.stuck_moved_on = until(lambda: not is_running(pid_of(self.stuck[0])))

    def _see(
        self, service: LockService, seen: list[Lock], worker: str, task: Task, key: tuple[str, str] | None = None
    ) -> bool:
        """See the lock under which a worker does a task: what it takes to move a plan on lasts longer."""
        snapshot = service.snapshot()
        seen += [
            lock
            for lock in snapshot.locks
            if lock.owner_id.startswith(worker)
            and lock.key == (key or ("plan", task.plan_id(1)))
            and 0 < lock.remaining(snapshot.taken_at) <= task.ttl_seconds
        ]
        return bool(seen)


def pid_of(lock: Lock) -> int:
    return int(worker_of(lock.owner_id).rpartition(":")[2])


def stand_in(patch: pytest.MonkeyPatch, folder: Path, run: object) -> None:
    """Something else in place of the dashboard, as if on a terminal."""
    dashboard = types.ModuleType("lockwatch.tui")
    dashboard.run = run  # type: ignore[attr-defined]
    patch.setitem(sys.modules, "lockwatch.tui", dashboard)
    patch.setattr(played, "can_draw", lambda: True)
    patch.setattr("tempfile.tempdir", str(folder))
