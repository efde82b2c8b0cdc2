"""The demo's play, as data: who does what, on which resource, for how long.

Five parts make the scene (one is stuck, one waits for it, one gets killed now and then, two contend); the others
are at steady work. TTLs differ so that every state and pace of a countdown is on the screen.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from lockwatch.core.errors import ValidationError
from lockwatch.core.model import Key

MIN_WORKERS: Final = 5
"""The parts that make the scene."""
MAX_WORKERS: Final = 64
"""More would show nothing new, and be a burden on the machine."""

STUCK_ON: Final = Key("project", "réindexation")
"""What the stuck worker holds, and another waits for."""
CONTENDED: Final = Key("project", "report [EU]")
"""What two workers want all the time."""


class Role(StrEnum):
    """How a worker behaves."""

    STEADY = "steady"
    DOOMED = "doomed"
    STUCK = "stuck"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One piece of work under one lock. It renews whenever `renew_at` of the TTL has passed."""

    key: Key
    ttl_seconds: float
    work_seconds: float
    renew_at: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one worker does: its tasks in turn, with a rest after each. If it ends, another soon takes its place."""

    number: int
    host: str
    role: Role
    tasks: tuple[Task, ...]
    rest_seconds: float = 2.0
    replaced_after_seconds: float = 3.0

    def owner(self, pid: int) -> str:
        """The owner id of the process `pid` in this part."""
        return f"worker-{self.number}@{self.host}:{pid}"


def _plan(name: str, *, ttl: float, work: float, renew_at: float = 0.5) -> Task:
    return Task(key=Key("plan", name), ttl_seconds=ttl, work_seconds=work, renew_at=renew_at)


_report: Final = Task(key=CONTENDED, ttl_seconds=30, work_seconds=12)

_PARTS: Final = (
    # Of many tasks: each of its deaths makes one stale, and what is stale is left alone for others to see.
    Part(
        number=1,
        host="build-2",
        role=Role.DOOMED,
        tasks=(
            _plan("import-customers", ttl=5, work=60),
            _plan("thumbnails/2026-11", ttl=8, work=60),
            _plan("import-orders", ttl=5, work=60),
            _plan("thumbnails/2026-12", ttl=8, work=60),
        ),
    ),
    Part(
        number=2,
        host="build-1",
        role=Role.STUCK,
        tasks=(Task(key=STUCK_ON, ttl_seconds=3600, work_seconds=3600),),
        replaced_after_seconds=20,
    ),
    Part(
        number=3,
        host="build-3",
        role=Role.WAITING,
        tasks=(Task(key=STUCK_ON, ttl_seconds=40, work_seconds=10),),
    ),
    Part(number=4, host="build-1", role=Role.STEADY, tasks=(_report,), rest_seconds=3),
    Part(number=5, host="build-3", role=Role.STEADY, tasks=(_report,), rest_seconds=3),
    Part(
        number=6,
        host="cron-a",
        role=Role.STEADY,
        tasks=(
            _plan("mail-digest", ttl=12, work=24, renew_at=0.9),
            _plan("invoices/2026-11", ttl=20, work=18, renew_at=0.95),
        ),
    ),
    Part(
        number=7,
        host="cron-b",
        role=Role.STEADY,
        tasks=(_plan("sync-inventory", ttl=60, work=75), _plan("search-index/products", ttl=45, work=40)),
    ),
    Part(
        number=8,
        host="build-2",
        role=Role.STEADY,
        tasks=(_plan("nightly-backup", ttl=300, work=170), _plan("vacuum", ttl=90, work=25)),
    ),
)


def part(number: int) -> Part:
    """The part of the `number`th worker, from 1. Beyond the written ones, each makes its own month's thumbnails."""
    if number <= len(_PARTS):
        return _PARTS[number - 1]
    extra = number - len(_PARTS) - 1
    month = f"{2025 - extra // 12}-{extra % 12 + 1:02}"
    ttl = 15 + 7 * (extra % 9)
    return Part(
        number=number,
        host=f"build-{extra % 3 + 1}",
        role=Role.STEADY,
        tasks=(_plan(f"thumbnails/{month}", ttl=ttl, work=1.4 * ttl), _plan(f"previews/{month}", ttl=ttl, work=10)),
    )


def cast(workers: int) -> tuple[Part, ...]:
    """The parts for that many workers.

    Raises:
        ValidationError: they are too few for the scene (5), too many (64), or no whole number.
    """
    if isinstance(workers, bool) or not isinstance(workers, int) or not MIN_WORKERS <= workers <= MAX_WORKERS:
        rule = f"must be a whole number from {MIN_WORKERS} to {MAX_WORKERS}"
        raise ValidationError("workers", workers, rule)
    return tuple(part(number) for number in range(1, workers + 1))
