"""The demo's play, as data: who works on which plans of which projects, and for how long.

Five parts make the scene (one is stuck, one waits for it, one gets killed now and then, two contend); the others
are at steady work. TTLs differ so that every state and pace of a countdown is on the screen.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from lockwatch.core.errors import ValidationError
from lockwatch.core.model import Key
from lockwatch.plans.model import Phase

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
    """Work that comes again and again: each time it is one phase of a new plan. Its other phases take no time.

    Work in the phase apply changes the project, and so needs the project's lock beside the plan's.
    """

    name: str
    slug: str
    project_id: str
    ttl_seconds: float
    work_seconds: float
    phase: Phase = Phase.EXECUTE

    def plan_id(self, number: int) -> str:
        """The id of its plan of that number, from 1."""
        return f"{self.slug}-{number}"

    def keys(self, plan_id: str) -> tuple[Key, ...]:
        """What must be free before it can be begun on that plan."""
        plan, project = Key("plan", plan_id), Key("project", self.project_id)
        return (plan, project) if self.phase is Phase.APPLY else (plan,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one worker does: its tasks in turn, with a rest after each. If it ends, another soon takes its place."""

    number: int
    host: str
    role: Role
    tasks: tuple[Task, ...]
    rest_seconds: float = 2.0
    replaced_after_seconds: float = 3.0

    def worker(self, pid: int) -> str:
        """What the process `pid` in this part is called; a colon and something random after it make an owner id."""
        return f"worker-{self.number}@{self.host}:{pid}"


def worker_of(owner_id: str) -> str:
    """What the worker is called that made this owner id."""
    return owner_id.rpartition(":")[0]


def _task(slug: str, name: str, project: str, *, ttl: float, work: float, phase: Phase = Phase.EXECUTE) -> Task:
    return Task(slug=slug, name=name, project_id=project, ttl_seconds=ttl, work_seconds=work, phase=phase)


def _apply(slug: str, name: str, project: Key, *, ttl: float, work: float) -> Task:
    return _task(slug, name, project.resource_id, ttl=ttl, work=work, phase=Phase.APPLY)


_PARTS: Final = (
    # Of many tasks: each of its deaths leaves one behind, and what is stale is left alone for others to see.
    Part(
        number=1,
        host="build-2",
        role=Role.DOOMED,
        tasks=(
            _task("import-customers", "Import the customers", "shop", ttl=5, work=60),
            _task("2026-11/thumbnails", "Thumbnails of November", "media", ttl=20, work=60),
            _task("import-orders", "Import the orders", "shop", ttl=5, work=60),
            _task("2026-12/thumbnails", "Thumbnails of December", "media", ttl=20, work=60),
        ),
    ),
    Part(
        number=2,
        host="build-1",
        role=Role.STUCK,
        tasks=(_apply("reindex-catalogue", "Index the catalogue anew", STUCK_ON, ttl=3600, work=3600),),
        replaced_after_seconds=20,
    ),
    Part(
        number=3,
        host="build-3",
        role=Role.WAITING,
        tasks=(_apply("reindex-prices", "Index the prices anew", STUCK_ON, ttl=40, work=10),),
    ),
    Part(
        number=4,
        host="build-1",
        role=Role.STEADY,
        tasks=(_apply("report-north", "Report for the North", CONTENDED, ttl=30, work=12),),
        rest_seconds=3,
    ),
    Part(
        number=5,
        host="build-3",
        role=Role.STEADY,
        tasks=(_apply("report-south", "Report for the South", CONTENDED, ttl=30, work=12),),
        rest_seconds=3,
    ),
    Part(
        number=6,
        host="cron-a",
        role=Role.STEADY,
        tasks=(
            _task("mail-digest", "Mail the digest", "mail", ttl=12, work=24),
            _task("2026-11/invoices", "Invoices of November", "accounts", ttl=20, work=18),
        ),
    ),
    Part(
        number=7,
        host="cron-b",
        role=Role.STEADY,
        tasks=(
            _task("sync-inventory", "Synchronise the inventory", "stock", ttl=60, work=75),
            _task("search-index/products", "Index the products", "search", ttl=45, work=40),
        ),
    ),
    Part(
        number=8,
        host="build-2",
        role=Role.STEADY,
        tasks=(
            _task("nightly-backup", "Back the database up", "platform", ttl=300, work=170),
            _task("vacuum", "Vacuum the tables", "platform", ttl=90, work=25),
        ),
    ),
)


def part(number: int) -> Part:
    """The part of the `number`th worker, from 1. Beyond the written ones, each makes its own month's pictures."""
    if number <= len(_PARTS):
        return _PARTS[number - 1]
    extra = number - len(_PARTS) - 1
    month = f"{2025 - extra // 12}-{extra % 12 + 1:02}"
    ttl = 15 + 7 * (extra % 9)
    return Part(
        number=number,
        host=f"build-{extra % 3 + 1}",
        role=Role.STEADY,
        tasks=(
            _task(f"{month}/thumbnails", f"Thumbnails of {month}", "media", ttl=ttl, work=1.4 * ttl),
            _task(f"{month}/previews", f"Previews of {month}", "media", ttl=ttl, work=10),
        ),
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
