"""The pictures of the README, made from the real dashboard over the demo's workers: `python -m tests.pictures`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from textual.pilot import Pilot

from lockwatch.core.service import LockService
from lockwatch.demo.crew import Crew
from lockwatch.demo.scene import cast
from lockwatch.plans import PlanLifecycleService
from lockwatch.sqlite_file import SqliteFile
from lockwatch.tui.app import Dashboard
from lockwatch.tui.freshness import Link
from lockwatch.tui.look import Look
from lockwatch.tui.themes import DARK
from lockwatch.tui.wish import Standing

DOCS: Final = Path(__file__).parents[1] / "docs"
PATIENCE_SECS: Final = 120.0
SIZE: Final = (112, 32)
NARROW: Final = (40, 18)
_OTHERS_FONTS: Final = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # a picture that is looked at fetches nothing


async def take(service: LockService, plans: PlanLifecycleService, database: SqliteFile) -> None:
    """Wait until much is on the screen, and draw the table, a dialog, a filter, and what no database looks like."""
    dashboard = _dashboard(service, plans)
    async with dashboard.run_test(size=SIZE) as pilot:
        await _until(pilot, lambda: _shows(dashboard, Standing.HELD, Standing.STALE, Standing.LATE))
        await pilot.pause(1.5)  # the plan under the cursor is read, and each row tells how it stands by now
        _draw(dashboard, "dashboard")
        await pilot.press("r")
        await pilot.pause(0.6)
        _draw(dashboard, "dialog")
        await pilot.press("escape", "g", "space", "space", "slash", *"build")
        _draw(dashboard, "filter")
        await pilot.press("escape", "u")
        away = database.path.with_name("away.db")
        database.path.rename(away)
        await _until(pilot, lambda: dashboard.scene.link() is Link.DISCONNECTED and dashboard.scene.age() > 2)
        _draw(dashboard, "disconnected")
        away.rename(database.path)


async def take_narrow(service: LockService, plans: PlanLifecycleService) -> None:
    """Draw the table in a pane of 40 columns."""
    dashboard = _dashboard(service, plans)
    async with dashboard.run_test(size=NARROW) as pilot:
        await _until(pilot, lambda: _shows(dashboard, Standing.HELD, Standing.STALE))
        await pilot.press("g")
        await pilot.pause(1.5)
        _draw(dashboard, "narrow")


def main() -> None:
    """Play the demo off screen and draw it."""
    DOCS.mkdir(exist_ok=True)
    with TemporaryDirectory(prefix="lockwatch-demo-") as folder:
        database = SqliteFile(Path(folder) / "locks.db")
        database.upgrade()
        with (
            LockService(database.engine(), identity=database.identity) as service,
            Crew(database.path, service, cast(8)),
        ):
            plans = PlanLifecycleService(service, database.transactional_engine())
            asyncio.run(take_narrow(service, plans))
            asyncio.run(take(service, plans, database))


def _dashboard(service: LockService, plans: PlanLifecycleService) -> Dashboard:
    look = Look(name="locks.db", label="DEMO", colour="blue", interval=0.5, theme=DARK)
    return Dashboard(service, look, find_plan=plans.get)


def _shows(dashboard: Dashboard, *wanted: Standing) -> bool:
    board, now = dashboard.scene.board, dashboard.scene.now()
    if now is None:
        return False
    live = [lock for lock in board.rows if board.ghost(lock) is None]
    states = {board.standing(lock, now) for lock in live}
    return states >= {*wanted} and len(live) == len(board.rows) >= 8


async def _until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECS):
        while not holds():
            await pilot.press("end")  # away from ghosts, which stay under the cursor
            await pilot.pause(0.1)


def _draw(dashboard: Dashboard, name: str) -> None:
    picture = _OTHERS_FONTS.sub("", dashboard.export_screenshot(title="lockwatch"))
    (DOCS / f"{name}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
