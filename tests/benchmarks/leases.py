"""What `hold` costs over a plain acquire and release, and what a thousand leases cost their process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import lockwatch
from lockwatch.core.lease import Lease
from lockwatch.core.monotonic import Monotonic, elapsed
from lockwatch.sqlite_file import SqliteFile
from tests.benchmarks.measuring import Figure, median_ratio

CALLS = 300
ROUNDS = 25
MANY = 1000
TTL_SECS = 300.0
SPEED = 20.0
"""How much faster than in reality time passes where it is seen that many leases are renewed in time."""
WATCHED_SECS = 6.0
BEATS = 2
"""Over how many heartbeats of each the many leases are watched."""


def figures() -> Iterator[Figure]:
    """Every figure of leases, one after the other."""
    with TemporaryDirectory() as folder:
        database = SqliteFile(Path(folder) / "locks.db")
        database.upgrade()
        with lockwatch.connect(f"sqlite:///{database.path}") as service:
            yield _hold(service)
        yield _in_time(database)
        yield _share_of_a_core(database)


def _hold(service: lockwatch.LockService) -> Figure:
    def plain() -> None:
        for _ in range(CALLS):
            service.acquire("plan", "p1", "w")
            service.release("plan", "p1", "w")

    def by_hold() -> None:
        for _ in range(CALLS):
            with service.hold("plan", "p1", "w"):
                pass

    ratio = median_ratio(by_hold, plain, ROUNDS)
    return Figure(name="hold, time over acquire+release's", ratio=ratio, relation="<=", bar=1.3)


def _in_time(database: SqliteFile) -> Figure:
    began = elapsed()
    hurried = _service(database, lambda: began + (elapsed() - began) * SPEED)
    with hurried as service, ExitStack() as holds:
        leases = _hold_many(service, holds)
        give_up_at = time.perf_counter() + BEATS * TTL_SECS / 3 / SPEED
        least = TTL_SECS
        while time.perf_counter() < give_up_at:
            time.sleep(0.1)
            least = min(least, *(lease.remaining() for lease in leases))
    return Figure(name="1000 leases, least time left of the TTL", ratio=least / TTL_SECS, relation=">=", bar=0.5)


def _share_of_a_core(database: SqliteFile) -> Figure:
    """Heartbeats are spread over their interval, as they are after a while: each then wakes its thread alone."""
    with _service(database, elapsed) as service, ExitStack() as holds:
        _hold_many(service, holds)
        for number, kept in enumerate(service._keeper._all_kept()):
            kept.due = elapsed() + number * kept.interval / MANY
        cpu = -time.process_time()
        time.sleep(WATCHED_SECS)
        cpu += time.process_time()
    return Figure(name="1000 leases, percent of a core", ratio=100 * cpu / WATCHED_SECS, relation="<=", bar=3)


def _service(database: SqliteFile, monotonic: Monotonic) -> lockwatch.LockService:
    return lockwatch.LockService(database.engine(), identity=database.identity, monotonic=monotonic)


def _hold_many(service: lockwatch.LockService, holds: ExitStack) -> list[Lease]:
    return [holds.enter_context(service.hold("plan", f"p{n}", ttl_seconds=TTL_SECS)) for n in range(MANY)]
