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

from lockwatch.core.errors import LockwatchError
from lockwatch.core.model import Lock
from lockwatch.core.service import LockService
from lockwatch.database import Database
from lockwatch.demo.scene import Part, Role, Task, part

POLL_SECS: Final = 0.5
"""How long a worker waits before it asks again for what it cannot have now."""
LEAVE_STALE_SECS: Final = 300.0
"""How long a dead worker's lock is left alone: it is there to be seen, and to be purged by a person."""
PATIENCE_SECS: Final = 30.0
"""How long the waiting worker lets others go first."""
GRACE_SECS: Final = 2.0
"""How long a worker may take to end, once the demo has."""

log: Final = logging.getLogger(__name__)


class Worker:
    """Does the tasks of one part under one owner id, until `ended` is set."""

    def __init__(self, service: LockService, owner: str, ended: threading.Event) -> None:
        self._service = service
        self._owner = owner
        self._ended = ended

    def play(self, part: Part) -> None:
        """Play a part to its end: that of a stuck worker is over when its lease was taken from it."""
        match part.role:
            case Role.STUCK:
                self._get_stuck(part.tasks[0])
            case Role.WAITING:
                self._wait_for(part.tasks[0])
            case Role.STEADY | Role.DOOMED:
                self._work_in_turn(part)

    def _work_in_turn(self, part: Part) -> None:
        for task in cycle(part.tasks):
            worked = self._calmly(partial(self._try, task))
            if self._ended.wait(part.rest_seconds if worked else POLL_SECS):
                return

    def _get_stuck(self, task: Task) -> None:
        self._until(lambda: self._take(task))
        self._until(lambda: not self._has(task))

    def _wait_for(self, task: Task) -> None:
        while not self._ended.is_set():
            self._until(lambda: not self._may_take(task), PATIENCE_SECS)
            self._until(lambda: self._take(task))
            self._calmly(partial(self._do, task))

    def _try(self, task: Task) -> bool:
        """Do the task if its resource is to be had now."""
        return self._take(task) and self._do(task)

    def _take(self, task: Task) -> bool:
        if not self._may_take(task):
            return False
        self._service.acquire(*task.key, self._owner, task.ttl_seconds)
        return True

    def _may_take(self, task: Task) -> bool:
        lock = self._service.get(*task.key)
        if lock is None or lock.owner_id == self._owner:
            return True
        return lock.remaining(self._service.now()) < -LEAVE_STALE_SECS

    def _has(self, task: Task) -> bool:
        lock: Lock | None = self._service.get(*task.key)
        return lock is not None and lock.owner_id == self._owner

    def _do(self, task: Task) -> bool:
        """Work, renew meanwhile, and release: whether the lock was still there to be released."""
        ends_at = time.monotonic() + task.work_seconds
        every = task.ttl_seconds * task.renew_at
        while (left := ends_at - time.monotonic()) > 0 and not self._ended.wait(min(left, every)):
            if left > every:
                self._service.renew(*task.key, self._owner, task.ttl_seconds)
        return self._service.release(*task.key, self._owner)

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
            log.warning("%s: %s", self._owner, error)
            return False


def main() -> None:
    """Play the part that the command line names."""
    path, number = sys.argv[1:]
    logging.basicConfig(format="%(asctime)s %(message)s")
    mine = part(int(number))
    ended = threading.Event()
    threading.Thread(target=end_with_parent, args=(ended,), daemon=True).start()
    database = Database(Path(path))
    with LockService(database.engine(), identity=database.identity) as service:
        Worker(service, mine.owner(os.getpid()), ended).play(mine)


def end_with_parent(ended: threading.Event) -> None:
    """Wait for the end of standard input, then set `ended`, and end the process if that does not."""
    while os.read(sys.stdin.fileno(), 1):
        continue
    ended.set()
    time.sleep(GRACE_SECS)
    os._exit(1)


if __name__ == "__main__":
    main()
