"""Worker processes: started, killed, stopped and continued."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.faults.checker import Findings, check
from tests.support import ROOT

CALM_SECS: Final = 40.0
"""How long a worker may take to end once it is told to: a call that waits for an answer gives up before that."""

Worker = subprocess.Popen[bytes]


class Crew:
    """Worker processes that write their journals into one folder; in a `with`, at whose end none is left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workers: list[Worker] = []
        self._numbers = count(1)
        folder.mkdir()

    def hire(self, url: str) -> Worker:
        """One more worker."""
        command = [sys.executable, "-m", "tests.faults.worker", url, str(self.folder), f"w{next(self._numbers)}"]
        environment = {**os.environ, "TZ": "Europe/Berlin"}
        worker = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
        self.workers.append(worker)
        return worker

    def kill(self, worker: Worker) -> None:
        """End a worker in the midst of whatever it does."""
        worker.kill()
        worker.wait()
        self.workers.remove(worker)

    def wait_for_grants(self, number: int) -> None:
        """Return when the workers have been granted so many locks in all."""
        give_up_at = time.monotonic() + CALM_SECS
        while self.check().grants < number:
            assert time.monotonic() < give_up_at, f"no more than {self.check().grants} grants"
            time.sleep(0.05)

    def finish(self) -> list[int]:
        """Have all workers end what they do: their exit codes."""
        (self.folder / "stop").touch()
        give_up_at = time.monotonic() + CALM_SECS
        codes = []
        for worker in self.workers:
            worker.send_signal(signal.SIGCONT)
            codes.append(worker.wait(max(give_up_at - time.monotonic(), 0.1)))
        self.workers = []
        return codes

    def check(self, longest_call_seconds: float = 60.0) -> Findings:
        """What the workers wrote down, judged."""
        return check(self.folder, longest_call_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self.workers:
            with suppress(ProcessLookupError):
                worker.kill()
            worker.wait()
