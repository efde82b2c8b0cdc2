"""An operator at a table that never rests: a few thousand random steps, set beside what stood on the screen.

Rows come, go, are renewed and taken over, time passes, polls fail, the terminal is resized, and keys are pressed.
Nothing is written but to the leases that a dialog showed when `y` was pressed, and the cursor goes nowhere by itself.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import pytest
from textual import events
from textual.geometry import Size

import lockwatch
from lockwatch import LockService
from lockwatch.core.model import Lock
from lockwatch.core.text import clean
from lockwatch.tui.clock import Steady
from lockwatch.tui.diff import Lease, lease_of
from tests.support import Clock, execute, rows
from tests.tui.running import Running, dashboard

STEPS: Final = int(os.environ.get("LOCKWATCH_TEST_STEPS", "2000"))
NAMES: Final = [*(f"p{number}" for number in range(14)), "[red]x[/]", "a[/]b", "esc\x1b[2Jape", "wide界界"]
OWNERS: Final = ("ana@a:1", "bob@b:2", "[@click=app.quit]q[/]", "o\u202ewner")
SIZES: Final = (*((120, 40),) * 6, (80, 24), (60, 20), (40, 12), (20, 6), (1, 1))
KEYS: Final = (
    *("j", "k", "down", "up", "g", "G", "pagedown", "pageup", "space", "v", "asterisk", "u", "s", "S", "t", "o"),
    *("slash", "p", "1", "backspace", "enter", "escape", "l", "L", "question_mark", "c", "plus", "minus", "ctrl+l"),
    *("r", "r", "r", "r", "n", "n", "p", "p", "y", "q", "z", "z", "escape", "escape", "escape"),
)
MOVES: Final = frozenset(KEYS) - {"ctrl+l", "c", "plus", "minus", "l", "L", "question_mark", "y", "r", "n", "p"}
"""Keys after which the cursor may be on another lease."""


@dataclass
class Writes:
    """What the dashboard asked the service to do, and whether it was shown."""

    shown: dict[Lease, str] = field(default_factory=dict)
    verb: str = ""
    count: int = 0

    def check(self, verb: str, locks: Iterable[Lock]) -> None:
        for lock in locks:
            self.count += 1
            assert verb == self.verb, f"{verb} was never confirmed"
            assert self.shown.get(lease_of(lock)) == lock.expires_text, f"{lock} was not what the dialog showed"


@dataclass
class World:
    """The table, as other programs change it."""

    url: str
    clock: Clock
    chance: random.Random

    def grant(self) -> None:
        name, owner = self.chance.choice(NAMES), self.chance.choice(OWNERS)
        execute(self.url, "DELETE FROM locks WHERE resource_id = ?", (name,))
        values = (owner, "plan", name, self.clock.text(), self.clock.text(self.chance.choice((-9, 5, 30, 60, 600))))
        execute(
            self.url,
            "INSERT INTO locks (owner_id, resource_type, resource_id, acquired_at, expires_at) VALUES (?, ?, ?, ?, ?)",
            values,
        )

    def renew(self) -> None:
        until = self.clock.text(self.chance.choice((20, 60, 61.5)))
        execute(self.url, "UPDATE locks SET expires_at = ? WHERE id % 3 = ?", (until, self.chance.randrange(3)))

    def spoil(self) -> None:
        execute(self.url, "UPDATE locks SET expires_at = 'soon' WHERE id % 7 = ?", (self.chance.randrange(7),))

    def lose(self) -> None:
        execute(self.url, "DELETE FROM locks WHERE id % 5 = ?", (self.chance.randrange(5),))


def watch_writes(service: LockService, writes: Writes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every write of the service checked before it is done."""
    for name, verb in (("release_all_exact", "release"), ("renew_all_exact", "renew"), ("purge_exact", "purge")):
        done: Callable[..., list[lockwatch.Outcome]] = getattr(service, name)

        def checked(
            locks: tuple[Lock, ...],
            *more: float,
            done: Callable[..., list[lockwatch.Outcome]] = done,
            verb: str = verb,
        ) -> list[lockwatch.Outcome]:
            writes.check(verb, locks)
            return done(locks, *more)

        monkeypatch.setattr(service, name, checked)
    for name in (
        "acquire",
        "renew",
        "release",
        "release_exact",
        "renew_exact",
        "cleanup_expired",
        "release_all_for_owner",
    ):
        monkeypatch.setattr(service, name, None)  # no key leads there


class Operator:
    """Presses keys, and remembers what stood on the screen when it did."""

    def __init__(self, running: Running, writes: Writes, world: World, steady: list[float]) -> None:
        self.running = running
        self.writes = writes
        self.world = world
        self.steady = steady
        self._answered = asyncio.Event()
        self._arm = running.app._poller.arm
        running.app._poller.arm = self._count  # type: ignore[method-assign] # each answer is taken in before this

    def _count(self) -> None:
        self._answered.set()
        self._arm()

    async def settle(self) -> None:
        """Wait until app and screen have taken in what was posted; a pilot's pause would cost 30 ms each time."""
        app = self.running.app
        for pump in (app, app.screen) * 3:
            reached = asyncio.Event()
            if pump.is_running and pump.call_later(reached.set):
                await asyncio.wait_for(reached.wait(), timeout=5)

    async def press(self) -> None:
        app = self.running.app
        dialog = self.running.dialog
        key = (
            self.world.chance.choice(("y", "y", "y", "escape", "j", "r", "enter", "p"))
            if dialog
            else self.world.chance.choice(KEYS)
        )
        cursor, types = app.scene.board.cursor, app.watch_screen.filter.is_typing
        if key == "q" and dialog is None and app.screen is app.watch_screen and not types:
            return  # it would be over
        if key == "y" and dialog is not None and dialog._ordered is None:
            await self.running.pilot.pause()  # it is drawn by then; a person has no 0.3 s to be faster
            self.note(dialog.pinned.verb, dialog.pinned.locks)
        character = key if len(key) == 1 else {"slash": "/", "asterisk": "*", "space": " "}.get(key)
        app.post_message(events.Key(key, character))
        await self.settle()
        if key not in MOVES and not types:
            assert cursor in (None, app.scene.board.cursor), f"{key} moved the cursor"

    def note(self, verb: str, locks: Mapping[Lease, Lock]) -> None:
        """What is about to be confirmed is what can be read."""
        said = self.running.screen()
        if self.running.app.size.width >= 60 and len(locks) <= 2:
            for lock in locks.values():
                assert clean(lock.resource_id) in said
                assert f"fence {lock.id}" in said
        self.writes.verb = str(verb)
        self.writes.shown = {lease: lock.expires_text for lease, lock in locks.items()}

    async def by_itself(self, step: Callable[[], object]) -> None:
        """What is no key leaves the cursor on its lease."""
        board = self.running.app.scene.board
        before = board.cursor
        step()
        await self.settle()
        assert before is None or board.cursor == before, "the cursor moved by itself"

    async def poll(self) -> None:
        app = self.running.app
        board, before = app.scene.board, app.scene.board.cursor
        self._answered.clear()
        app.action_poll_now()
        await asyncio.wait_for(self._answered.wait(), timeout=10)
        await self.settle()
        assert before is None or board.cursor == before, "the cursor moved with a poll"

    def pass_time(self, seconds: float) -> None:
        self.world.clock.advance(seconds)
        self.steady[0] += seconds
        self.running.app._tick()

    def resize(self) -> None:
        size = Size(*self.world.chance.choice(SIZES))
        self.running.app.post_message(events.Resize(size, size))


def fake_steady(now: list[float]) -> Steady:
    return lambda: now[0]


@pytest.mark.parametrize("seed", range(2))
async def test_nothing_is_written_but_what_was_shown_and_confirmed(
    seed: int, url: str, service: LockService, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)  # noqa: S311 no secret
    writes, world, steady = Writes(), World(url, clock, chance), [0.0]
    watch_writes(service, writes, monkeypatch)
    for _ in range(10):
        world.grant()
    async with dashboard(service, interval=3600.0, clock=fake_steady(steady)) as running:
        operator = Operator(running, writes, world, steady)
        for number in range(STEPS):
            match chance.choices(("key", "world", "poll", "time", "resize", "break"), (60, 16, 12, 8, 2, 2))[0]:
                case "key":
                    await operator.press()
                case "world":
                    chance.choice((world.grant, world.grant, world.renew, world.lose, world.spoil))()
                case "poll":
                    await operator.poll()
                case "time":
                    await operator.by_itself(lambda: operator.pass_time(chance.choice((0.5, 1, 3, 11))))
                case "resize":
                    await operator.by_itself(operator.resize)
                case "break":
                    execute(url, "ALTER TABLE locks RENAME TO away")
                    await operator.poll()
                    await operator.press()
                    execute(url, "ALTER TABLE away RENAME TO locks")
            assert running.app.failure is None, f"step {number}: {running.app.failure!r}"
    assert writes.count >= STEPS / 500
    assert rows(url) is not None
