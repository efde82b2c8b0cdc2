"""Notices tell, and hide as little as may be: a dialog never."""

from __future__ import annotations

import pytest

import lockwatch
from lockwatch import LockService
from lockwatch.tui.app import Dashboard
from lockwatch.tui.look import Look
from lockwatch.tui.messages import JournalFailed
from tests.support import insert_row
from tests.tui.running import Running, dashboard


def told(running: Running) -> list[str]:
    return [notice.message for notice in running.app._notifications]


async def test_a_key_that_is_held_down_and_refused_is_told_once(url: str) -> None:
    insert_row(url, "plan/a")
    with lockwatch.connect(url, read_only="asked for") as service:
        async with dashboard(service) as running:
            await running.press(*"rrrrrrrr")
            assert told(running) == ["release: refused: read-only: asked for"]


async def test_of_many_notices_the_last_three_stand(service: LockService) -> None:
    for name in "abcde":
        service.acquire("plan", name, "A", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press(*"cjcjcjcjc")
        assert [words.split()[1] for words in told(running)] == ["plan/c", "plan/d", "plan/e"]


async def test_a_notice_of_the_longest_names_leaves_most_of_the_screen(url: str, service: LockService) -> None:
    insert_row(url, "plan/" + "n" * 10_000, "o" * 10_000)
    async with dashboard(service, size=(80, 24)) as running:
        await running.press("c", "r")
        await running.until(lambda: running.dialog is not None)
        await running.press(*["pagedown"] * 10)
        await running.until_shown("y release it")
        await running.press("y")
        await running.until(lambda: any(words.startswith("released plan/nnn") for words in told(running)))
        assert max(map(len, told(running))) <= 400
        assert "(fence 1)" in running.notices


@pytest.mark.parametrize("size", [(80, 24), (40, 14)])
async def test_no_notice_covers_a_dialog_and_what_was_told_meanwhile_is_seen_afterwards(
    service: LockService, size: tuple[int, int]
) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    app = Dashboard(service, Look(name="orders.db", interval=60.0), quiet_secs=0.0)
    async with app.run_test(size=size, notifications=True) as pilot:
        running = Running(app, pilot)
        await running.until_shown("plan/a")
        await running.press("c")
        await running.until_shown("copied: plan/a")
        await running.press("r")
        await running.until_shown("held by A for 0s")
        assert "copied" not in running.screen()
        app.post_message(JournalFailed("the disk is full"))
        await running.until(lambda: "log: the disk is full" in told(running))
        await pilot.pause()
        assert "disk" not in running.screen()
        await running.press("escape")
        await running.until_shown("log: the disk is full")
        assert [notice.timeout for notice in app._notifications] == [8]


@pytest.mark.parametrize(("size", "reason"), [((40, 20), "x" * 14), ((80, 24), "x" * 52)])
async def test_no_word_of_a_notice_is_cut_off(service: LockService, size: tuple[int, int], reason: str) -> None:
    app = Dashboard(service, Look(name="orders.db", interval=60.0))
    async with app.run_test(size=size, notifications=True) as pilot:
        running = Running(app, pilot)
        await running.until_shown("No locks.")
        app.post_message(JournalFailed(f"{reason} no room on disk"))
        await running.until_shown(reason)
        assert running.line("disk")
