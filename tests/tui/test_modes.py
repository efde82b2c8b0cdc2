"""Pause, read-only, what is listed in which order, the palette, the pace, and what is copied."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lockwatch
from lockwatch import LockService
from lockwatch.tui.commands import KeyCommands
from lockwatch.tui.keys import COMMANDS
from lockwatch.tui.look import Look
from lockwatch.tui.orders import Verb
from tests.support import age, dump, insert_row
from tests.tui.running import dashboard


async def test_a_paused_screen_stands_still_and_says_so(url: str, service: LockService) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    async with dashboard(service, interval=0.1) as running:
        await running.press("z")
        await running.until_shown(" PAUSED ")
        below = running.screen().splitlines()[2:]
        insert_row(url, "plan/new")
        age(url, "plan/a")
        await running.until(lambda: running.app.scene.age() > 2)
        await running.until_shown("PAUSED  data 2s old")
        assert running.screen().splitlines()[2:] == below
        for verb in "rnp":
            await running.press(verb)
            assert running.dialog is None
        assert "release: refused while PAUSED" in running.notices
        await running.press("z")
        await running.until_shown("plan/new")
        assert "PAUSED" not in running.line("orders.db")


async def test_a_paused_screen_looks_once_when_it_is_told(url: str, service: LockService) -> None:
    async with dashboard(service, interval=0.1) as running:
        await running.press("z")
        insert_row(url, "plan/new")
        await running.press("ctrl+r")
        await running.until_shown("plan/new")
        insert_row(url, "plan/newer")
        await running.until(lambda: running.app.scene.age() > 0.5)
        assert "PAUSED" in running.screen()
        assert "plan/newer" not in running.screen()


async def test_under_read_only_no_order_is_carried_out_and_that_is_said(url: str) -> None:
    for name in ("stale", "dead"):
        insert_row(url, f"plan/{name}")
    insert_row(url, "plan/held", expires_at="2999-01-01T00:00:00.000000Z")
    before = dump(url)
    with lockwatch.connect(url, read_only="opened with --read-only") as service:
        async with dashboard(service) as running:
            await running.until_shown("read-only: opened with --read-only")
            for verb in Verb:
                running.app.action_order(verb)
            await running.until(lambda: f"{Verb.RELEASE}: refused: read-only" in running.notices)
    assert dump(url) == before


async def test_a_text_and_a_state_narrow_together_and_both_are_shown(url: str, service: LockService) -> None:
    insert_row(url, "plan/a-stale")
    insert_row(url, "plan/b-stale")
    service.acquire("plan", "a-held", "A", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press("slash", *"/a-", "enter", "t", "t", "t")
        await running.until_shown("1 of 3 shown")
        assert running.line("1 of 3 shown").startswith(" / /a-   only stale")
        assert "plan/a-stale" in running.screen()
        assert "plan/a-held" not in running.screen()
        await running.press("escape")
        await running.until_shown("3 locks")


async def test_a_lease_under_the_cursor_that_comes_to_stand_otherwise_stays(url: str, service: LockService) -> None:
    for name in "ab":
        service.acquire("plan", name, "A", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press("t")
        await running.until_shown("only held")
        cursor = running.app.scene.board.cursor
        age(url, "plan/a")
        await running.poll()
        assert running.app.scene.board.cursor == cursor
        await running.until_shown("▸ ✗ plan/a")
        await running.press("j")
        await running.poll()
        assert "plan/a" not in "".join(line for line in running.screen().splitlines() if "✗" in line)


async def test_s_sorts_by_the_next_column_and_capital_s_turns_it_round(service: LockService) -> None:
    for name, ttl in (("b", 60), ("a", 600), ("c", 300)):
        service.acquire("plan", name, "A", ttl_seconds=ttl)
    async with dashboard(service) as running:
        listed = running.app.scene.board.listed
        assert [lock.resource_id for lock in listed()] == ["b", "c", "a"]
        await running.press("s")
        await running.until_shown("by resource ▲")
        assert "RESOURCE▲" in running.screen()
        assert [lock.resource_id for lock in listed()] == ["a", "b", "c"]
        await running.press("S")
        await running.until_shown("by resource ▼")
        assert [lock.resource_id for lock in listed()] == ["c", "b", "a"]
        await running.poll()
        assert [lock.resource_id for lock in listed()] == ["c", "b", "a"]


async def test_o_lists_one_owner_and_then_all_again(service: LockService) -> None:
    for name, owner in (("a", "ana"), ("b", "bob"), ("c", "ana")):
        service.acquire("plan", name, owner, ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press("o")
        await running.until_shown("owner ana")
        await running.until_shown("2 of 3 shown")
        await running.press("o")
        await running.until_shown("3 locks")


async def test_a_dashboard_begins_with_what_it_was_asked_for(service: LockService) -> None:
    for name, owner in (("a", "ana"), ("b", "bob"), ("c", "ana")):
        service.acquire("plan", name, owner, ttl_seconds=60)
    look = Look(name="orders@db1", label="PROD", colour="red", text="plan/c", owner="ana", resource_type="plan")
    async with dashboard(service, look=look) as running:
        await running.until_shown("1 of 3 shown")
        assert running.screen().splitlines()[0].startswith("  PROD  orders@db1")
        assert running.line("1 of 3").startswith(" / plan/c   owner ana   type plan")
        await running.press("r")
        await running.until_shown("on  PROD  orders@db1")


async def test_the_pace_goes_in_steps_and_is_shown(service: LockService) -> None:
    async with dashboard(service, interval=1.0) as running:
        await running.press("plus")
        await running.until_shown("every 2s")
        await running.press("minus", "minus")
        await running.until_shown("every 0.5s")


@pytest.mark.parametrize("marks", [0, 2])
async def test_what_is_copied_names_the_leases(
    service: LockService, monkeypatch: pytest.MonkeyPatch, marks: int
) -> None:
    for name in ("a", "b[/]\x9b2J"):
        service.acquire("plan", name.replace("\x9b", ""), "A", ttl_seconds=60)
    copied: list[str] = []
    async with dashboard(service) as running:
        monkeypatch.setattr(running.app, "copy_to_clipboard", copied.append)
        await running.press(*["space"] * marks, "c")
        await running.until(lambda: "copied" in running.notices)
    lines = copied[0].splitlines()
    assert len(lines) == max(1, marks)
    assert re.fullmatch(r"plan/a  A  fence 1  (59s|1m) left  as of \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", lines[0])


async def test_the_palette_has_the_actions_of_the_keys_and_does_no_more_than_they(
    url: str, service: LockService
) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press("colon")
        await running.until(lambda: running.app.screen is not running.app.watch_screen)
        await running.press(*"release")
        await running.until_shown("release the marked leases")
        await running.press("enter")
        await running.until(lambda: running.dialog is not None)
        await running.press("enter", "space")
        assert running.dialog is not None
        await running.press("escape")
    assert "plan" in "".join(dump(url))


async def test_the_palette_does_not_open_over_a_dialog(service: LockService) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press("r")
        await running.press("ctrl+p", "colon")
        assert running.app.screen is running.dialog


def test_every_key_is_told_in_the_help_and_every_name_in_the_palette_has_a_key() -> None:
    keys = [key for command in COMMANDS for key in command.keys]
    assert len(keys) == len(set(keys))
    assert all(command.what and command.shown for command in COMMANDS)
    assert KeyCommands.__doc__


def test_the_readme_tells_the_keys_that_the_dashboard_has() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    section = readme.partition("## Keys")[2].partition("\n## ")[0]
    missing = [command.shown for command in COMMANDS for key in command.shown.split() if f"`{key}`" not in section]
    assert not missing
