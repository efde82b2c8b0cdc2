"""A storm: workers take plans through all their phases while some are killed and others are paused past their TTL.

`python -m tests.storm` runs it at full size. Work proves by guarded rows of its own, and by a lock of the operating
system, that no plan ran a phase twice at once and that nothing was written without a live lease.
"""

from __future__ import annotations

import fcntl
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final

import sqlalchemy as sa

import lockwatch
from lockwatch import plans as planning
from lockwatch.core.timestamps import to_text, utc_now
from lockwatch.database import Database
from lockwatch.plans import Phase, PlanLease, PlanLifecycleService, PlanState
from tests.support import ROOT, execute

TTL_SECS: Final = 5.0
PAUSE_SECS: Final = TTL_SECS + 1.5
STEPS: Final = 5
STEP_SECS: Final = 0.05
CALM_SECS: Final = 90.0
"""How long after the last blow all must be finished."""

EVIDENCE: Final = """CREATE TABLE evidence
 (id INTEGER PRIMARY KEY AUTOINCREMENT, plan_id TEXT, phase TEXT, fence INTEGER, written_at TEXT, expires_at TEXT)"""
WRITE: Final = sa.text(
    "INSERT INTO evidence (plan_id, phase, fence, written_at, expires_at) VALUES (:plan, :phase, :fence, :now,"
    " (SELECT expires_at FROM locks WHERE id = :fence AND resource_type = 'plan' AND resource_id = :plan))"
)

Worker = subprocess.Popen[bytes]


@dataclass(kw_only=True)
class Storm:
    """One storm over a new database in `folder`, and what became of it."""

    folder: Path
    workers: int
    plans: int
    seconds: float
    killed: int = 0
    paused: set[int] = field(default_factory=set)

    @property
    def url(self) -> str:
        """The database."""
        return f"sqlite:///{self.folder}/storm.db"

    def run(self) -> None:
        """Let it blow, and wait until all is calm."""
        lockwatch.upgrade(self.url)
        execute(self.url, EVIDENCE)
        with planning.connect(self.url) as service:
            for number in range(self.plans):
                service.create(f"plan {number}", f"project{number % 10}", f"p{number}")
        crew = [self._worker() for _ in range(self.workers)]
        try:
            self._blow(crew)
            self._wait()
        finally:
            (self.folder / "stop").touch()
            for worker in crew:
                worker.send_signal(signal.SIGCONT)
                try:
                    worker.wait(30)
                except subprocess.TimeoutExpired:
                    worker.kill()
                    worker.wait()

    def _worker(self) -> Worker:
        return subprocess.Popen([sys.executable, "-m", "tests.storm", self.url, str(self.folder)], cwd=ROOT)

    def _blow(self, crew: list[Worker]) -> None:
        begun, paused, resume_at = time.monotonic(), None, 0.0
        while paused or time.monotonic() < begun + self.seconds:
            now = time.monotonic()
            if paused and now >= resume_at:
                paused.send_signal(signal.SIGCONT)
                paused = None
            elif not paused:
                paused = self._pause(crew)
                resume_at = time.monotonic() + PAUSE_SECS
            if begun + self.killed <= now < begun + self.seconds:
                self._kill(crew)
            time.sleep(0.05)

    def _pause(self, crew: list[Worker]) -> Worker:
        while True:
            worker = self._one_at_work(crew)
            worker.send_signal(signal.SIGSTOP)
            os.waitpid(worker.pid, os.WUNTRACED)
            if self._is_at_work(worker):
                self.paused.add(worker.pid)
                return worker
            worker.send_signal(signal.SIGCONT)

    def _kill(self, crew: list[Worker]) -> None:
        victim = self._one_at_work(crew)
        victim.kill()
        victim.wait()
        crew[crew.index(victim)] = self._worker()
        self.killed += 1

    def _one_at_work(self, crew: list[Worker]) -> Worker:
        give_up_at = time.monotonic() + CALM_SECS
        while time.monotonic() < give_up_at:
            for worker in random.sample(crew, len(crew)):
                if self._is_at_work(worker) and not self._is_late(worker):
                    return worker
            time.sleep(0.005)
        raise AssertionError("nobody works any more: too few plans for so long a storm")

    def _is_at_work(self, worker: Worker) -> bool:
        return (self.folder / f"working-{worker.pid}").exists()

    def _is_late(self, worker: Worker) -> bool:
        """Whether it was paused and has not found out yet."""
        return worker.pid in self.paused and not (self.folder / f"refused-{worker.pid}").exists()

    def _wait(self) -> None:
        give_up_at = time.monotonic() + CALM_SECS
        while left := execute(self.url, "SELECT id, phase, state, error FROM plans WHERE state <> 'applied'"):
            assert time.monotonic() < give_up_at, f"not finished: {left}"
            time.sleep(0.1)

    def check(self) -> dict[str, object]:
        """Hold what happened against what must be; a summary for people."""
        unfinished = execute(
            self.url, "SELECT id, phase, state FROM plans WHERE (phase, state) <> ('apply', 'applied')"
        )
        assert unfinished == []
        self._check_runs()
        self._check_evidence()
        overlaps = [line for path in self.folder.glob("overlap-*") for line in path.read_text().split()]
        assert {int(pid) for pid in overlaps} <= self.paused, "two that were awake worked on one plan at once"
        refused = sum(len(path.read_text()) for path in self.folder.glob("refused-*"))
        assert refused >= len(self.paused), "one that was paused past its TTL went on as if nothing had happened"
        outcomes = Counter(outcome for (outcome,) in execute(self.url, "SELECT outcome FROM plan_runs"))
        return {"killed": self.killed, "paused": len(self.paused), "refused": refused, **outcomes}

    def _check_runs(self) -> None:
        runs = "SELECT plan_id, phase, started_at, ended_at, outcome FROM plan_runs ORDER BY plan_id, id"
        found = execute(self.url, runs)
        done = Counter((plan_id, phase) for plan_id, phase, *_, outcome in found if outcome in ("complete", "applied"))
        assert set(done.values()) == {1}
        assert len(done) == 3 * self.plans
        for before, after in pairwise(found):
            assert before[0] != after[0] or before[3] <= after[2], f"two runs at once: {before}, {after}"

    def _check_evidence(self) -> None:
        found = execute(self.url, "SELECT plan_id, fence, written_at, expires_at FROM evidence ORDER BY id")
        greatest: Counter[str] = Counter()
        for plan_id, fence, written_at, expires_at in found:
            assert expires_at is not None, f"{plan_id} written under fence {fence} without a lock"
            assert written_at < expires_at, f"{plan_id} written under fence {fence} after its expiry"
            assert fence >= greatest[plan_id], f"{plan_id} written by an old holder"
            greatest[plan_id] = fence


def work_on_plans(url: str, folder: Path) -> None:
    """One worker: take any plan a step further, until told to stop."""
    engine = Database.from_url(url).transactional_engine()
    with planning.connect(url) as service:
        while not (folder / "stop").exists():
            try:
                service.recover_abandoned()
                _take_one_further(service, engine, folder)
            except lockwatch.LockExpiredError:
                _note(folder, "refused", ".")
            except (lockwatch.LockwatchError, sa.exc.OperationalError):  # others have it, were first, or write
                time.sleep(0.01)


def _take_one_further(service: PlanLifecycleService, engine: sa.Engine, folder: Path) -> None:
    steps: dict[PlanState, Callable[[str], object]] = {
        PlanState.COMPLETE: service.advance,
        PlanState.ERRORED: service.retry,
    }
    ready = [plan for plan in service.list() if plan.state in (PlanState.QUEUED, *steps)][:8]
    if not ready:
        time.sleep(0.05)
        return
    plan = random.choice(ready)  # noqa: S311 any will do
    if plan.phase is Phase.ACTION:
        service.advance(plan.id)
    elif plan.state in steps:
        steps[plan.state](plan.id)
    else:
        service.run_phase(plan.id, partial(_work, engine, folder, plan.id, plan.phase), ttl_seconds=TTL_SECS)


def _work(engine: sa.Engine, folder: Path, plan_id: str, phase: Phase, lease: PlanLease) -> None:
    with _marked(folder), _alone(folder, plan_id):
        for _ in range(STEPS):
            time.sleep(STEP_SECS)
            with engine.begin() as connection:
                now = to_text(utc_now())
                lease.guard(connection)
                connection.execute(WRITE, {"plan": plan_id, "phase": phase, "fence": lease.fence, "now": now})


@contextmanager
def _marked(folder: Path) -> Iterator[None]:
    mark = folder / f"working-{os.getpid()}"
    mark.touch()
    try:
        yield
    finally:
        mark.unlink()


@contextmanager
def _alone(folder: Path, plan_id: str) -> Iterator[None]:
    """Hold the operating system's lock for a plan; note who has it already, if somebody has."""
    with (folder / f"alone-{plan_id}").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
        except BlockingIOError:
            file.seek(0)
            _note(folder, "overlap", f"{file.read()} ")
        yield


def _note(folder: Path, kind: str, text: str) -> None:
    with (folder / f"{kind}-{os.getpid()}").open("a") as file:
        file.write(text)


def main(arguments: list[str]) -> None:
    """A storm of full size; or, told a database and a folder, one worker of it."""
    if arguments:
        with suppress(KeyboardInterrupt):
            work_on_plans(arguments[0], Path(arguments[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        storm = Storm(folder=Path(folder), workers=6, plans=200, seconds=30)
        begun = time.monotonic()
        storm.run()
        summary = " ".join(f"{name}={count}" for name, count in storm.check().items())
        sys.stdout.write(f"calm after {time.monotonic() - begun:.0f} s: {summary}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
