"""Faults that users of other dashboards met, at the level where they would show."""

from __future__ import annotations

import json
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual import events

import lockwatch
from lockwatch import LockService
from lockwatch.tui.app import Dashboard
from lockwatch.tui.keys import COMMANDS
from lockwatch.tui.look import Look
from lockwatch.tui.messages import Confirmed
from lockwatch.tui.orders import Verb
from lockwatch.tui.pins import pin
from lockwatch.tui.screens.confirm import ConfirmScreen
from tests.support import Clock, dump, execute, insert_row, path_of, row
from tests.tui.running import Running, dashboard
from tests.tui.terminal import terminal

LATER = "2999-01-01T00:00:00.000000Z"
MARKUP = (
    "a[/]b",
    "[red]x[/red]",
    "[@click=app.quit]x[/]",
    "([sys:LOCK=1…])",
    '{"a": [true]}',
    "$success\\[b]",
)
COMMAND_LINE = (
    "import sys, json; from lockwatch.cli import main;"
    "sys.argv = ['lockwatch', *json.loads(sys.argv[1])]; sys.exit(main())"
)


@asynccontextmanager
async def with_notices(service: LockService, size: tuple[int, int]) -> AsyncIterator[Running]:
    """A dashboard whose notices stand on the screen."""
    app = Dashboard(service, Look(name="orders.db", interval=60.0), quiet_secs=0.0)
    async with app.run_test(size=size, notifications=True) as pilot:
        running = Running(app, pilot)
        await running.until(lambda: app.scene.board.is_filled)
        yield running


def stored(url: str) -> tuple[bytes, list[str]]:
    """The database to the byte, and all that it says."""
    return path_of(url).read_bytes(), dump(url)


async def test_a_dialog_that_is_older_than_a_takeover_releases_nothing_and_says_by_whom(
    url: str, service: LockService, clock: Clock
) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press("r")
        execute(url, "UPDATE locks SET expires_at = ?", (clock.text(-1),))
        service.acquire("plan", "a", "B", ttl_seconds=60)
        theirs = row(url, "plan/a")
        await running.press("y")
        await running.until(lambda: "was taken over since: now held by B" in running.notices)
        assert row(url, "plan/a") == theirs


async def test_forty_rows_that_come_above_move_neither_cursor_nor_line(
    url: str, service: LockService, clock: Clock
) -> None:
    for number in range(30):
        service.acquire("plan", f"old-{number:02}", "A", ttl_seconds=1000 + number)
    async with dashboard(service, size=(100, 20)) as running:
        await running.press(*"jjjjjjjj")
        before = [line[:20] for line in running.screen().splitlines()]
        cursor = running.app.scene.board.cursor
        for number in range(40):
            insert_row(url, f"plan/new-{number:02}", expires_at=clock.text(10))
        await running.poll()
        assert running.app.scene.board.cursor == cursor
        at = next(index for index, line in enumerate(before) if line.startswith("▸"))
        assert running.screen().splitlines()[at].startswith(before[at])


@pytest.mark.parametrize("key", ["r", "n", "p"])
async def test_a_start_key_twice_and_enter_write_nothing(url: str, service: LockService, key: str) -> None:
    insert_row(url, "plan/stale")
    insert_row(url, "plan/held", expires_at=LATER)
    before = stored(url)
    async with dashboard(service) as running:
        await running.press("G", key, key, "enter", key, "enter", "space", "tab", "enter")
        assert running.dialog is not None
        await running.press("escape")
        await running.poll()
    assert stored(url) == before


async def test_read_only_forgets_no_key_no_entry_of_the_palette_and_no_dialog(url: str) -> None:
    for name in ("stale", "dead"):
        insert_row(url, f"plan/{name}")
    insert_row(url, "plan/held", expires_at=LATER)
    before = stored(url)
    with lockwatch.connect(url, read_only="asked for") as service:
        async with dashboard(service) as running:
            await press_all_keys(running)
            await choose_all_commands(running)
            await force_all_dialogs(running)
            assert running.app.is_running
    assert stored(url) == before


async def press_all_keys(running: Running) -> None:
    """Each key, on a lease that is held and on one that is stale, and what confirms after it."""
    keys = [key for command in COMMANDS for key in command.keys if command.action != "app.quit"]
    assert {"r", "n", "p", "ctrl+r", "colon"} <= set(keys)
    for start in ("g", "G"):
        for key in keys:
            post(running, start, key)
            await running.pilot.pause()
            post(running, "y", "enter", "y", "escape", "escape", "escape")
        await running.until(lambda: running.app.screen is running.app.watch_screen)


def post(running: Running, *keys: str) -> None:
    """Press keys faster than a pilot does."""
    for key in keys:
        running.app.post_message(events.Key("space" if key == " " else key, key if len(key) == 1 else None))


async def choose_all_commands(running: Running) -> None:
    """Each entry of the palette, typed and chosen."""
    app = running.app
    names = [command.name for command in COMMANDS if command.name and command.action != "app.quit"]
    assert len(names) > 15
    for name in names:
        await running.press("ctrl+p")
        await running.until(lambda: app.screen is not app.watch_screen)
        post(running, *name)
        await running.until_shown(next(command.what for command in COMMANDS if command.name == name)[:30])
        await running.press("enter")
        await running.until(lambda: app.screen.id != "--command-palette")
        post(running, "y", "escape", "escape", "escape")
        await running.until(lambda: app.screen is app.watch_screen)


async def force_all_dialogs(running: Running) -> None:
    """Each dialog, opened past what refuses it; and its order, given past the dialog."""
    app = running.app
    for verb in Verb:
        dialog = ConfirmScreen(app.scene, pin(verb, app.scene.board.catalogue.locks, app.scene.board), 0.0)
        app.push_screen(dialog)
        await running.until_shown(f"{verb} these 3")
        await running.press("y")
        await running.until_shown("not done: read-only: asked for")
        app.post_message(Confirmed(dialog.pinned.order()))
        await running.until(lambda verb=verb: f"{verb} failed: " in running.notices)  # type: ignore[misc]
        await running.press("escape")


async def test_a_database_that_breaks_is_disconnected_within_one_interval(url: str, service: LockService) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    async with dashboard(service, interval=1.0) as running:
        path_of(url).rename(path_of(url).with_suffix(".away"))
        began = time.monotonic()
        await running.until_shown(" DISCONNECTED  data ")
        assert time.monotonic() - began < 2.0
        await running.press("r")
        assert running.dialog is None
        assert "refused while DISCONNECTED" in running.notices


@pytest.mark.parametrize("text", MARKUP)
async def test_markup_in_names_is_shown_as_it_is_wherever_names_are_shown(
    url: str, service: LockService, text: str
) -> None:
    insert_row(url, f"plan/{text}", text, expires_at=LATER)
    async with with_notices(service, (150, 45)) as running:
        app = running.app
        await running.until(lambda: running.line("▸").count(text) == 2)
        await running.until_shown(f"  owner {text}   fence 1")
        await running.press("slash")
        post(running, *text)
        await running.until(lambda: running.line("1 of 1 shown").startswith(f" / {text}"))
        await running.press("enter", "c")
        await running.until_shown(f"copied: plan/{text}  {text}  fence 1")
        await running.press("r")
        await running.until_shown(f"held by {text} for ")
        assert f"│  plan/{text}   " in running.screen()
        await running.press("y")
        await running.until_shown(f"released plan/{text} of {text} (fence 1)")
        await running.until_shown(f"released   plan/{text} by you (was {text}, fence 1)")
        await running.press("L")
        await running.until(lambda: app.screen is not app.watch_screen)
        await running.until_shown(f"released   plan/{text} by you (was {text}, fence 1)")
        await running.press("question_mark")
        await running.until_shown("Help: the keys of")
        assert app.is_running


@pytest.mark.parametrize("text", MARKUP)
async def test_markup_in_an_owner_that_is_filtered_by_is_shown_as_it_is(
    url: str, service: LockService, text: str
) -> None:
    insert_row(url, "plan/a", text, expires_at=LATER)
    async with dashboard(service, size=(60, 12)) as running:
        await running.press("o")
        await running.until_shown(f" / owner {text} ")
        await running.press("enter")
        await running.until(lambda: running.app.screen is not running.app.watch_screen)
        await running.until_shown(text)


@pytest.mark.parametrize("seed", range(3))
async def test_rows_of_one_expiry_keep_their_places(url: str, service: LockService, seed: int) -> None:
    order = list(range(1, 51))
    random.Random(seed).shuffle(order)  # noqa: S311 no secret
    for number in order:
        insert_row(url, f"plan/p{number % 7}-{number}", f"w{number % 3}", expires_at=LATER, lock_id=number)
    async with dashboard(service, size=(80, 70)) as running:
        await running.until(lambda: running.screen().count("plan/p") >= 50)
        shown = running.screen().splitlines()[3:53]
        names = [line[4:].split()[0] for line in shown]
        assert names == sorted(names)
        for _ in range(5):
            execute(url, "UPDATE locks SET owner_id = owner_id WHERE id = ?", (order.pop(),))
            await running.poll()
            assert running.screen().splitlines()[3:53] == shown


@pytest.mark.parametrize("arguments", [[], ["list"], ["diagnostics"]])
@pytest.mark.parametrize("secret", ["p@ss%word", "se:cr/et#1"])
def test_a_password_is_in_nothing_that_a_terminal_gets(arguments: list[str], secret: str) -> None:
    encoded = "".join(f"%{ord(character):02X}" if not character.isalnum() else character for character in secret)
    address = f"postgresql://ana:{encoded}@127.0.0.1:1/orders"
    line = [*arguments, "--database", address] if arguments else ["--database", address]
    with terminal(json.dumps(line), program=COMMAND_LINE) as opened:
        opened.until(lambda: opened.process.poll() is not None or "DISCONNECTED" in opened.screen())
        opened.type("q")
        opened.end()
    assert b"127.0.0.1" in opened.written
    assert secret.encode() not in opened.written
    assert encoded.encode() not in opened.written
