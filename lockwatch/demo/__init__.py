"""Real worker processes on plans in a temporary database, and the dashboard on it: lockwatch to be seen and tried."""

from __future__ import annotations

import math
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from lockwatch import wording
from lockwatch.core.errors import ValidationError
from lockwatch.core.model import LockSnapshot
from lockwatch.core.service import LockService
from lockwatch.demo.crew import Crew
from lockwatch.demo.ending import Ending
from lockwatch.demo.scene import Part, cast
from lockwatch.plans import PlanLifecycleService
from lockwatch.sqlite_file import SqliteFile
from lockwatch.tui import can_draw
from lockwatch.tui.look import Look

PRINT_EVERY_SECS: Final = 5.0
"""How often the table is printed where there is no terminal to draw on."""
POLL_EVERY_SECS: Final = 1.0
"""How often the dashboard looks."""


def run(workers: int = 8, seconds: float = 15.0, *, interval: float = POLL_EVERY_SECS, theme: str | None = None) -> int:
    """Play the demo: the exit code.

    On a terminal the dashboard runs until it is quit. Elsewhere the table is printed for `seconds`, then the stale
    locks are purged, and the plans that dead workers left are recovered. On any way out the workers are gone, and
    the folder with the database is too.

    Raises:
        ValidationError: `workers` is not 5 to 64, or `seconds` no number above 0.
        LockwatchError: the workers cannot be started.
        DatabaseError: the temporary database cannot be made or used.
        BrokenPipeError: nobody reads what is printed.
        SystemExit: with 128 + n, after SIGTERM, SIGINT, SIGHUP or SIGQUIT.
    """
    parts = cast(workers)
    _validate_seconds(seconds)
    with Ending() as ending, _played(parts) as (database, service), ending.welcome():
        if can_draw():
            _watch(service, database, interval, theme)
        else:
            _tell(f"{workers} workers on {database.name} for {seconds:g} s")
            _settle(PlanLifecycleService(service, database.transactional_engine()), _print_for(service, seconds))
    return 0


@contextmanager
def _played(parts: Sequence[Part]) -> Iterator[tuple[SqliteFile, LockService]]:
    with TemporaryDirectory(prefix="lockwatch-demo-", ignore_cleanup_errors=True) as folder:
        database = SqliteFile(Path(folder) / "locks.db")
        database.upgrade()
        with (
            LockService(database.engine(), identity=database.identity) as service,
            Crew(database.path, service, parts),
        ):
            yield database, service


def _watch(service: LockService, database: SqliteFile, interval: float, theme: str | None) -> None:
    from lockwatch.tui import run as watch  # late: it takes its time, and without a terminal it is not needed

    plans = PlanLifecycleService(service, database.transactional_engine())
    look = Look(name=database.name, label="DEMO", colour="blue", interval=interval, theme=theme)
    watch(service, look, find_plan=plans.get)


def _print_for(service: LockService, seconds: float) -> LockSnapshot:
    """Print the table every few seconds: the one that was printed last, when the time is up."""
    ends_at = time.monotonic() + seconds
    while True:
        time.sleep(max(0.0, min(PRINT_EVERY_SECS, ends_at - time.monotonic())))
        snapshot = service.snapshot()
        _print(snapshot)
        if time.monotonic() >= ends_at:
            return snapshot


def _print(snapshot: LockSnapshot) -> None:
    from lockwatch import listing  # late: no worker needs it

    columns = shutil.get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else None
    _tell("", *listing.render(snapshot, columns))


def _settle(plans: PlanLifecycleService, snapshot: LockSnapshot) -> None:
    purged = wording.count_outcomes("purged", plans.locks.purge_exact(snapshot.stale))
    _tell("", f"Stale locks: {purged}. All others were left alone.")
    recovered = len(plans.recover_abandoned()) or "none"
    _tell(f"Abandoned plans: {recovered} recovered, to be retried. The workers are stopped now.")


def _tell(*lines: str) -> None:
    print("\n".join(lines), flush=True)  # noqa: T201 whoever reads a pipe sees each table when it is made


def _validate_seconds(seconds: float) -> None:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
        raise ValidationError("seconds", seconds, "must be a number of seconds above 0")
