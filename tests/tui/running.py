"""A dashboard under a pilot: what stands on its screen, and waiting for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from textual.pilot import Pilot

from lockwatch.core.service import LockService
from lockwatch.tui.app import Dashboard
from lockwatch.tui.clock import Steady, steady
from lockwatch.tui.look import Look
from lockwatch.tui.plan_reader import FindPlan
from lockwatch.tui.screens.confirm import ConfirmScreen

PATIENCE_SECS = 10.0


@dataclass(slots=True)
class Running:
    """A dashboard and the pilot that presses its keys."""

    app: Dashboard
    pilot: Pilot[None]

    def screen(self) -> str:
        """What stands on the uppermost screen."""
        return "\n".join(strip.text for strip in self.app.screen._compositor.render_strips())

    def line(self, part: str) -> str:
        """The first line of the screen that holds a text."""
        return next((line for line in self.screen().splitlines() if part in line), "")

    @property
    def dialog(self) -> ConfirmScreen | None:
        """The dialog, if one is open."""
        return self.app.screen if isinstance(self.app.screen, ConfirmScreen) else None

    @property
    def notices(self) -> str:
        """What the notices say that are on the screen."""
        return "\n".join(notice.message for notice in self.app._notifications)

    async def press(self, *keys: str) -> None:
        """Press keys, and let the app take them in. Who presses `y` in a dialog has seen it."""
        for key in keys:
            if key == "y":
                await self.pilot.pause()  # it is drawn by then
            await self.pilot.press(key)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds."""
        deadline = time.monotonic() + PATIENCE_SECS
        while not holds():
            assert time.monotonic() < deadline, f"it never held; the screen:\n{self.screen()}\n{self.notices}"
            await asyncio.sleep(0.01)
            await self.pilot.pause()

    async def until_shown(self, part: str) -> None:
        """Wait until a text stands on the screen."""
        await self.until(lambda: part in self.screen())

    async def poll(self) -> None:
        """Have the table read again."""
        polled = self.app.scene.freshness.polled
        self.app.action_poll_now()
        await self.until(lambda: self.app.scene.freshness.polled != polled)


@asynccontextmanager
async def dashboard(
    service: LockService,
    *,
    size: tuple[int, int] = (120, 30),
    quiet_secs: float = 0.0,
    interval: float = 60.0,
    find_plan: FindPlan | None = None,
    look: Look | None = None,
    clock: Steady = steady,
) -> AsyncIterator[Running]:
    """A dashboard that has read the table once, and reads it again when it is told."""
    look = replace(look or Look(name="orders.db"), interval=interval)
    app = Dashboard(service, look, find_plan=find_plan, quiet_secs=quiet_secs, clock=clock)
    async with app.run_test(size=size) as pilot:
        running = Running(app, pilot)
        await running.until(lambda: app.scene.board.is_filled)
        yield running
