"""A worker process: takes locks of a few resources again and again, and writes down what it believes.

`python -m tests.faults.worker URL FOLDER NAME` works until it is told to stop by the file `stop` in the folder.
"""

from __future__ import annotations

import logging
import os
import random
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import sqlalchemy as sa

import lockwatch
from lockwatch import Lease, LockService
from lockwatch.core.monotonic import elapsed
from lockwatch.database import Database
from tests.faults.journal import Journal

TTL_SECS: Final = lockwatch.MIN_LOCK_TTL_SECS
RESOURCES: Final = 5
LONGEST_WAIT_SECS: Final = 2.0
STEP_SECS: Final = (0.01, 0.15)
PAUSE_SECS: Final = 0.05
"""How long a worker waits after an error, so that a database that is down is not asked all the time."""
WRITES: Final = "CREATE TABLE fault_writes (id {number}, resource VARCHAR(50) NOT NULL, fence BIGINT NOT NULL)"
WRITE: Final = sa.text("INSERT INTO fault_writes (resource, fence) VALUES (:resource, :fence)")

_dice: Final = random.SystemRandom()


class _Told(logging.Handler):
    """What the heartbeat meets is no caller's to see, so it is logged: a trace among it is written down as a crash."""

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self._journal.crashed(self.format(record))


class Worker:
    """Works on one database under one name."""

    def __init__(self, url: str, folder: Path, name: str) -> None:
        self._journal = Journal(folder, f"{name}-{os.getpid()}")
        logging.getLogger("lockwatch").addHandler(_Told(self._journal))
        self._stop = folder / "stop"
        self._owner = f"{name}:{os.getpid()}"
        self._engine = Database.from_url(url).transactional_engine()
        self._url = url

    def run(self) -> None:
        """Work until told to stop."""
        with lockwatch.connect(self._url) as service:
            while not self._stop.exists():
                work = _dice.choice((self._hold, self._hold, self._by_hand, self._clean_up))
                begun = elapsed()
                try:
                    work(service, f"p{_dice.randrange(RESOURCES)}")
                except lockwatch.LockConflictError:
                    self._journal.answered("conflict", elapsed() - begun)
                except lockwatch.LockwatchError as error:
                    self._journal.answered(type(error).__name__, elapsed() - begun, str(error))
                    time.sleep(PAUSE_SECS)
                except Exception:  # noqa: BLE001 that is what the journal is for
                    self._journal.crashed(traceback.format_exc())

    def _hold(self, service: LockService, name: str) -> None:
        """Hold it, look at the lease between steps, and write under its guard now and then."""
        wait = _dice.choice((0, LONGEST_WAIT_SECS))
        with service.hold("plan", name, ttl_seconds=TTL_SECS, wait_seconds=wait) as lease:
            until = lease.deadline
            self._journal.granted(lease.lock.resource, lease.fence, lease.lock.owner_id, until - TTL_SECS, until)
            with self._ending(lease.lock):
                steps = _dice.choice((1, 2, 5, 10, 60))
                while steps and not self._stop.exists():
                    steps -= 1
                    time.sleep(_dice.uniform(*STEP_SECS))
                    lease.check()
                    if lease.deadline > until:
                        until = lease.deadline
                        self._journal.renewed(lease.lock.resource, lease.fence, until)
                    if _dice.random() < 0.1:
                        self._write(lease)

    def _write(self, lease: Lease) -> None:
        try:
            with self._engine.begin() as connection:
                lease.guard(connection)
                connection.execute(WRITE, {"resource": lease.lock.resource, "fence": lease.fence})
        except (sa.exc.DBAPIError, lockwatch.DatabaseError) as error:  # the worker's own connection met the fault
            self._journal.answered(f"write: {type(error).__name__}", 0.0, str(error))

    def _by_hand(self, service: LockService, name: str) -> None:
        sent = elapsed()
        lock = service.acquire("plan", name, self._owner, TTL_SECS)
        self._journal.granted(lock.resource, lock.id, self._owner, sent, sent + TTL_SECS)
        with self._ending(lock):
            for _ in range(_dice.randrange(3)):
                time.sleep(_dice.uniform(*STEP_SECS))
                sent = elapsed()
                renewed = service.renew("plan", name, self._owner, TTL_SECS)
                self._journal.renewed(renewed.resource, renewed.id, sent + TTL_SECS)
        service.release("plan", name, self._owner)

    def _clean_up(self, service: LockService, _name: str) -> None:
        service.cleanup_expired()
        service.snapshot()
        service.count_stale_locks()

    @contextmanager
    def _ending(self, lock: lockwatch.Lock) -> Iterator[None]:
        try:
            yield
        finally:
            self._journal.ended(lock.resource, lock.id)


def main(url: str, folder: str, name: str) -> None:
    """One worker."""
    with suppress(KeyboardInterrupt):
        Worker(url, Path(folder), name).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
