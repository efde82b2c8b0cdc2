"""The demo's worker processes: started, killed now and then, replaced, and all stopped in the end."""

from __future__ import annotations

import os
import subprocess  # nosec B404
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeAlias

from lockwatch.core.errors import DatabaseError, LockwatchError
from lockwatch.core.service import LockService
from lockwatch.demo.scene import Part, Role, worker_of

TICK_SECS: Final = 0.25
KILL_EVERY_SECS: Final = 25.0
"""How long the demo waits after it killed a worker before it kills the next."""
KILL_AFTER_SECS: Final = 1.0
"""How long a worker that is to die has held its lock by then."""
GRACE_SECS: Final = 3.0
"""How long workers may take to end when they are asked to."""

Process: TypeAlias = "subprocess.Popen[bytes]"


@dataclass(slots=True, kw_only=True)
class Seat:
    """A part and the process that plays it now, or played it until it ended."""

    part: Part
    process: Process
    ended_at: float | None = None

    @property
    def worker(self) -> str:
        """What the process is called in the owners of its locks."""
        return self.part.worker(self.process.pid)


class Crew:
    """While entered, one process plays each part; afterwards none of them is left.

    The processes share a pipe as standard input whose other end is only here: should this process be killed,
    it ends, and they with it. They are in sessions of their own, so that ctrl+c in the terminal is not for them.
    """

    def __init__(self, database: Path, service: LockService, parts: Sequence[Part]) -> None:
        self._database = database
        self._service = service
        self._parts = parts
        self._seats: list[Seat] = []
        self._kill_at = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._mind, name="lockwatch-demo-crew", daemon=True)

    def __enter__(self) -> Self:
        self._worker_end, self._our_end = os.pipe()
        self._log = (self._database.parent / "workers.log").open("ab")
        try:
            for part in self._parts:
                self._seats.append(Seat(part=part, process=self._start(part)))
            self._thread.start()
        except (OSError, RuntimeError) as error:
            self._stop()
            raise LockwatchError(f"the workers cannot be started ({error})") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._stop()

    def _start(self, part: Part) -> Process:
        command = [sys.executable, "-P", "-m", "lockwatch.demo.worker", str(self._database), str(part.number)]
        # This very Python finds lockwatch where this process found it; -P keeps the user's folder out of it.
        return subprocess.Popen(  # noqa: S603  # nosec B603
            command,
            stdin=self._worker_end,
            stdout=self._log,
            stderr=self._log,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
            start_new_session=True,
        )

    def _mind(self) -> None:
        while not self._ended.wait(TICK_SECS):
            for seat in self._seats:
                self._replace_if_due(seat)
            # The workers and the dashboard live without the database too, and go on when it is back.
            with suppress(DatabaseError):
                self._kill_if_due()

    def _replace_if_due(self, seat: Seat) -> None:
        if seat.process.poll() is None:
            return
        now = time.monotonic()
        if seat.ended_at is None:
            seat.ended_at = now
        if now < seat.ended_at + seat.part.replaced_after_seconds:
            return
        try:
            seat.process = self._start(seat.part)
            seat.ended_at = None
        except OSError:
            seat.ended_at = now  # too many processes, say: later there may be room

    def _kill_if_due(self) -> None:
        if time.monotonic() < self._kill_at:
            return
        doomed = {seat.worker: seat for seat in self._seats if seat.part.role is Role.DOOMED}
        for worker in self._long_enough_holding() & doomed.keys():
            doomed[worker].process.kill()
            self._kill_at = time.monotonic() + KILL_EVERY_SECS

    def _long_enough_holding(self) -> set[str]:
        snapshot = self._service.snapshot()
        return {
            worker_of(lock.owner_id)
            for lock in snapshot.locks
            if lock.acquired_at is not None
            and not lock.is_expired(snapshot.taken_at)
            and (snapshot.taken_at - lock.acquired_at).total_seconds() >= KILL_AFTER_SECS
        }

    def _stop(self) -> None:
        os.close(self._our_end)
        os.close(self._worker_end)
        self._log.close()
        for seat in self._seats:
            seat.process.terminate()
        deadline = time.monotonic() + GRACE_SECS
        for seat in self._seats:
            _wait_or_kill(seat.process, deadline)


def _wait_or_kill(process: Process, deadline: float) -> None:
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
