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
from lockwatch.core.state import LockState
from lockwatch.demo.crew import Crew
from lockwatch.demo.scene import cast
from lockwatch.plans import PlanLifecycleService
from lockwatch.sqlite_file import SqliteFile
from lockwatch.tui.app import Dashboard

DOCS: Final = Path(__file__).parents[1] / "docs"
PATIENCE_SECS: Final = 60.0
SIZE: Final = (112, 22)
_OTHERS_FONTS: Final = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # a picture that is looked at fetches nothing


async def take(service: LockService, plans: PlanLifecycleService) -> None:
    """Wait until every state is on the screen, and draw the table and a dialog over it."""
    dashboard = Dashboard(service, "locks.db", interval=0.5, find_plan=plans.get)
    async with dashboard.run_test(size=SIZE) as pilot:
        await _until(pilot, lambda: _shows_every_state(dashboard))
        await pilot.press("end")
        await pilot.pause(0.2)  # the plan under the cursor is read
        _draw(dashboard, "dashboard")
        await pilot.press("r")
        await pilot.pause(0.6)
        _draw(dashboard, "dialog")


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
            asyncio.run(take(service, PlanLifecycleService(service, database.transactional_engine())))


def _shows_every_state(dashboard: Dashboard) -> bool:
    board, now = dashboard.scene.board, dashboard.scene.now()
    if now is None:
        return False
    live = [lock for lock in board.rows if board.ghost(lock) is None]
    states = {board.state(lock, now) for lock in live}
    return states >= {LockState.HELD, LockState.EXPIRING, LockState.STALE} and len(live) == len(board.rows) >= 8


async def _until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECS):
        while not holds():
            await pilot.pause(0.1)


def _draw(dashboard: Dashboard, name: str) -> None:
    picture = _OTHERS_FONTS.sub("", dashboard.export_screenshot(title="lockwatch"))
    (DOCS / f"{name}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
