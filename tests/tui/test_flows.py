"""Keys end in the database as they should, and only then."""

from __future__ import annotations

import asyncio

import pytest
from textual import events

from lockwatch import Lock, LockService
from lockwatch.tui.diff import lease_of
from tests.support import Clock, age, insert_row, row, rows
from tests.tui.running import dashboard


async def test_the_table_shows_holders_and_how_long_they_have(service: LockService) -> None:
    service.acquire("plan", "mail", "worker-1@c:17", ttl_seconds=60)
    async with dashboard(service) as running:
        assert running.line("plan/mail").split()[:5] == ["▸", "●", "plan/mail", "worker-1@c:17", "HELD"]
        await running.until_shown("1 held")
        await running.until_shown("orders.db")
        await running.until_shown("● live")


async def test_release_frees_the_lease_under_the_cursor(url: str, service: LockService) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    service.acquire("plan", "b", "B", ttl_seconds=90)
    async with dashboard(service) as running:
        await running.press("j", "r")
        assert "Release this lock" in str(running.dialog and running.dialog.query_one("#dialog").border_title)
        await running.until_shown("held by B")
        await running.press("y")
        await running.until(lambda: row(url, "plan/b") is None)
        await running.until(lambda: "released plan/b of B" in running.notices)
        await running.until(lambda: "released by you" in running.line("plan/b"))
        assert running.dialog is None
        assert row(url, "plan/a") is not None


async def test_renew_gives_the_lease_its_own_ttl(url: str, service: LockService, clock: Clock) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    clock.advance(50)
    async with dashboard(service) as running:
        await running.press("n")
        await running.until_shown("It then lasts 60s from now")
        await running.press("y")
        await running.until(lambda: "renewed plan/a of A" in running.notices)
        assert (row(url, "plan/a") or ())[5] == clock.text(60).encode()
        await running.until(lambda: "by you" in running.line("renewed "))


async def test_purge_lists_what_it_removes_and_counts_what_the_filter_hides(url: str, service: LockService) -> None:
    for name in ("a1", "a2", "b1"):
        insert_row(url, f"plan/{name}", f"dead-{name}")
    service.acquire("plan", "a3", "alive", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press("slash", "slash", "a", "enter")
        await running.until_shown("3 of 4 shown")
        await running.press("p")
        await running.until_shown("purge both")
        said = running.screen()
        assert "plan/a1" in said
        assert "plan/a2" in said
        assert "plan/b1" not in said
        assert "1 more stale lock does not match the filter" in said
        await running.press("y")
        await running.until(lambda: "2 purged" in running.notices)
        assert [cells[3] for cells in rows(url)] == [b"b1", b"a3"]


async def test_neither_the_start_key_nor_enter_confirms(service: LockService) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    async with dashboard(service) as running:
        for key in ("r", "n"):
            await running.press(key, key, "enter", "space", "Y", "escape")
            assert running.dialog is None
        await running.poll()
        assert "▸ ● plan/a" in running.line("plan/a")


@pytest.mark.parametrize("leave", ["escape", "q"])
async def test_escape_and_q_leave_a_dialog(service: LockService, leave: str) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press("r", leave)
        assert running.dialog is None
        assert running.app.is_running


async def test_a_typing_storm_and_a_paste_change_nothing(url: str, service: LockService) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    async with dashboard(service, quiet_secs=0.3) as running:
        await running.press(*"rryyyynnyyy")
        assert running.dialog is not None
        running.app.screen.post_message(events.Paste("y\ny"))
        await running.press("y")
        assert row(url, "plan/a") is not None
        await asyncio.sleep(0.35)
        running.app.post_message(events.Paste("y\ny"))
        await running.press("y")
        assert row(url, "plan/a") is not None
        await asyncio.sleep(0.35)
        await running.press("y")
        await running.until(lambda: row(url, "plan/a") is None)


@pytest.mark.parametrize("pasted", ["yes please", "y\r", "yy", "yq"])
async def test_a_paste_that_comes_as_keys_confirms_nothing(url: str, service: LockService, pasted: str) -> None:
    """As in a terminal that does not mark pastes: its first key comes after a quiet time, too."""
    service.acquire("plan", "a", "A", ttl_seconds=60)
    async with dashboard(service, quiet_secs=0.3) as running:
        await running.press("r")
        await asyncio.sleep(0.35)
        for character in pasted:
            running.app.post_message(events.Key({"\r": "enter", " ": "space"}.get(character, character), character))
        await running.until_shown("not done: y counts only if no other key comes with it")
        await asyncio.sleep(0.2)
        assert row(url, "plan/a") is not None
        await asyncio.sleep(0.2)
        await running.press("y")
        await running.until(lambda: row(url, "plan/a") is None)


async def test_a_lease_that_was_taken_over_under_an_open_dialog_is_not_released(url: str, service: LockService) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press("r")
        age(url, "plan/a")
        service.acquire("plan", "a", "B", ttl_seconds=60)
        await running.press("y")
        await running.until(lambda: "taken over since: now held by B" in running.notices)
        assert (row(url, "plan/a") or ())[1] == b"B"


async def test_a_poll_tells_an_open_dialog_of_a_takeover_although_the_databases_clock_was_set_back(
    url: str, service: LockService, clock: Clock
) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press("r")
        age(url, "plan/a")
        clock.advance(-3600)
        service.acquire("plan", "a", "B", ttl_seconds=60)
        await running.poll()
        await running.until_shown("left out: taken over by B")


async def test_rows_tell_how_locks_stand_after_the_databases_clock_was_set_back(
    service: LockService, clock: Clock
) -> None:
    for name in ("a", "b", "c"):
        service.acquire("plan", name, "A", ttl_seconds=60)
    async with dashboard(service) as running:
        service.release("plan", "c", "A")
        await running.poll()
        clock.advance(7200)
        await running.poll()
        running.app.watch_screen.redraw()
        await running.until_shown("✗ plan/b")
        clock.advance(-7200)
        await running.poll()
        await running.until_shown("● plan/b")


async def test_a_poll_tells_an_open_dialog_of_a_takeover(url: str, service: LockService) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press("r")
        age(url, "plan/a")
        service.acquire("plan", "a", "B", ttl_seconds=60)
        await running.poll()
        await running.until_shown("taken over by B")
        await running.press("y")
        await running.until_shown("not done: nothing is left to release")
        assert (row(url, "plan/a") or ())[1] == b"B"
        await running.press("escape")
        await running.until_shown("▸ ┄ plan/a")


async def test_renewed_since_keeps_the_dialog_open_with_the_new_facts(
    url: str, service: LockService, clock: Clock
) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press("r")
        clock.advance(30)
        service.renew("plan", "a", "A", ttl_seconds=60)
        await running.press("y")
        await running.until(lambda: "its holder is alive" in running.screen())
        assert running.dialog is not None
        assert row(url, "plan/a") is not None
        await running.press("y")
        await running.until(lambda: row(url, "plan/a") is None)


async def test_actions_refuse_on_a_ghost(url: str, service: LockService) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    service.acquire("plan", "b", "B", ttl_seconds=90)
    async with dashboard(service) as running:
        service.release("plan", "a", "A")
        await running.poll()
        await running.press("r")
        assert running.dialog is None
        await running.until(lambda: "this lease is gone" in running.notices)
        assert row(url, "plan/b") is not None


async def test_what_cannot_be_done_is_said_before_a_dialog_opens(url: str, service: LockService) -> None:
    async with dashboard(service) as running:
        await running.press("r")
        await running.until(lambda: "there is no lock" in running.notices)
        await running.press("p")
        await running.until(lambda: "no lock is stale" in running.notices)
        insert_row(url, "plan/a")
        await running.poll()
        await running.press("n")
        await running.until(lambda: "this lease expired" in running.notices)
        insert_row(url, "plan/b", expires_at="tomorrow")
        await running.poll()
        await running.press("g", "n")
        await running.until(lambda: "cannot be read" in running.notices)
        await running.press("slash", *"nothing", "enter", "p")
        await running.until(lambda: "1 stale lock, but none matches the filter" in running.notices)
        assert running.dialog is None


async def test_a_state_typed_into_the_filter_is_answered_with_the_key_for_states(service: LockService) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press("slash", *"Stale")
        await running.until_shown("t shows one state")
        await running.press("x")
        await running.until(lambda: "t shows one state" not in running.screen())
        assert "Nothing matches the filter" in running.screen()


async def test_keys_typed_into_the_filter_never_act(service: LockService) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press("slash", *"rnpqjy?/")
        assert running.app.is_running
        assert running.app.screen is running.app.watch_screen
        assert running.app.scene.board.filter.text == "rnpqjy?/"
        await running.until_shown("Nothing matches the filter")
        await running.until_shown("0 of 1 shown")
        await running.press("escape")
        assert running.app.scene.board.filter.text == ""
        await running.until_shown("plan/a")


async def test_enter_keeps_a_filter_and_escape_clears_it(service: LockService) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    service.acquire("plan", "b", "B", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press("slash")
        running.app.post_message(events.Paste("plan/B\n"))
        await running.press("enter")
        await running.until_shown("/ plan/B")
        await running.until_shown("1 of 2 shown")
        assert "plan/a" not in running.screen()
        await running.press("escape")
        await running.until_shown("2 locks")


async def test_rows_that_come_above_leave_the_cursor_on_its_line(url: str, service: LockService, clock: Clock) -> None:
    for number in range(60):
        service.acquire("plan", f"old-{number:02}", "A", ttl_seconds=1000 + number)
    async with dashboard(service) as running:
        await running.press("pagedown", "pagedown", "k", "k")
        table = running.app.watch_screen.table
        cursor = running.app.scene.board.selected
        assert isinstance(cursor, Lock)
        line = running.screen().splitlines().index(running.line(cursor.resource))
        for number in range(40):
            insert_row(url, f"plan/new-{number:02}", expires_at=clock.text(10))
        await running.poll()
        assert running.app.scene.board.selected == cursor
        assert running.screen().splitlines().index(running.line(f"▸ ● {cursor.resource}")) == line
        assert table.scroll_offset.y > 40
        for number in range(40):
            service.release_exact(
                next(lock for lock in service.snapshot().locks if f"new-{number:02}" in lock.resource)
            )
        await running.poll()
        clock.advance(6)
        await running.poll()
        running.app._tick()
        assert running.app.scene.board.total == 60
        assert running.screen().splitlines().index(running.line(f"▸ ● {cursor.resource}")) == line


async def test_the_line_in_view_stays_when_the_cursor_is_elsewhere(
    url: str, service: LockService, clock: Clock
) -> None:
    for number in range(60):
        service.acquire("plan", f"old-{number:02}", "A", ttl_seconds=1000 + number)
    async with dashboard(service) as running:

        def is_scrolled() -> bool:
            if "plan/old-30" in running.screen().splitlines()[3]:
                return True
            running.app.watch_screen.table.scroll_to(y=30, animate=False)  # a late layout shows the cursor again
            return False

        await running.until(is_scrolled)
        insert_row(url, "plan/new", expires_at=clock.text(10))
        await running.poll()
        assert "plan/old-30" in running.screen().splitlines()[3]
        assert running.app.scene.board.cursor_index == 1


async def test_a_click_puts_the_cursor_on_a_row(service: LockService) -> None:
    for name in "abc":
        service.acquire("plan", name, "A", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.pilot.click("#table", offset=(10, 2))
        await running.until_shown("▸ ● plan/c")
        await running.pilot.click("#table", offset=(10, 1))
        await running.until_shown("▸ ● plan/b")
        await running.pilot.click("#table", offset=(10, 9))
        await running.pilot.pause()
        assert "▸ ● plan/b" in running.screen(), "there is no row to click on"


async def test_keys_move_the_cursor(service: LockService) -> None:
    for name in "abcdef":
        service.acquire("plan", name, "A", ttl_seconds=60)
    async with dashboard(service) as running:
        for key, name in (("j", "b"), ("down", "c"), ("k", "b"), ("G", "f"), ("g", "a"), ("end", "f"), ("up", "e"),
                          ("home", "a"), ("pagedown", "f"), ("pageup", "a")):  # fmt: skip
            await running.press(key)
            await running.until_shown(f"▸ ● plan/{name}")


async def test_enter_shows_and_hides_the_detail(service: LockService) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.until_shown("acquired 12:00:00Z (0s ago)")
        await running.press("enter")
        await running.until(lambda: "acquired" not in running.screen())


async def test_the_detail_shows_long_names_in_full(service: LockService) -> None:
    service.acquire("plan", "r" * 255, "o" * 255, ttl_seconds=60)
    async with dashboard(service, size=(80, 30)) as running:
        await running.until(lambda: running.screen().count("o") >= 255)
        assert running.screen().count("r") >= 255


async def test_help_tells_the_keys_and_a_key_leaves_it(service: LockService) -> None:
    async with dashboard(service, size=(80, 20)) as running:
        await running.press("question_mark")
        await running.until_shown("purge the stale locks")
        await running.press("G")
        await running.until_shown("by the clock that judges")
        await running.press("q")
        assert running.app.screen is running.app.watch_screen


async def test_a_narrow_help_has_no_frame_and_nothing_of_it_is_cut_off(service: LockService) -> None:
    async with dashboard(service, size=(40, 60)) as running:
        await running.press("question_mark")
        await running.until_shown("release the marked leases")
        said = running.screen()
        assert not set("╭│╰") & set(said)
        assert "…" not in said
        assert "in resource" in said


async def test_q_quits(service: LockService) -> None:
    async with dashboard(service) as running:
        await running.press("q")
        await running.until(lambda: not running.app.is_running)


async def test_control_c_quits_from_anywhere(service: LockService) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press("r", "ctrl+c")
        await running.until(lambda: not running.app.is_running)


async def test_a_long_purge_can_be_scrolled_and_does_what_it_lists(url: str, service: LockService) -> None:
    for number in range(100):
        insert_row(url, f"plan/dead-{number:03}")
    async with dashboard(service, size=(80, 20)) as running:
        await running.press("p")
        await running.until_shown("plan/dead-000")
        await running.until_shown("purge these 100")
        await running.press("G")
        await running.until_shown("Only what is listed is removed")
        insert_row(url, "plan/late")
        await running.press("y")
        await running.until(lambda: "100 purged" in running.notices)
        assert [cells[3] for cells in rows(url)] == [b"late"]


async def test_nothing_is_confirmed_on_a_screen_too_small_to_show_it(url: str, service: LockService) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    async with dashboard(service, size=(15, 4)) as running:
        await running.press("r", "y")
        assert running.dialog is not None
        await running.pilot.resize_terminal(60, 20)
        await running.until_shown("held by A")
        assert row(url, "plan/a") is not None


async def test_a_dialog_of_twenty_columns_says_how_to_leave_it(service: LockService) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    async with dashboard(service, size=(20, 8)) as running:
        await running.press("r")
        await running.until_shown("y release it")
        await running.until_shown("esc leave it")


async def test_y_counts_only_when_resource_and_owner_have_been_in_view(url: str, service: LockService) -> None:
    service.acquire("plan", "import-customers", "worker-3@import-host:4242", ttl_seconds=60)
    async with dashboard(service, size=(20, 8)) as running:
        await running.press("r", "y")
        await running.until_shown("not done")
        await running.press("G", "g")
        await running.until_shown("j more")
        assert "y release it" not in running.screen()
        await running.press("y")
        assert row(url, "plan/import-customers") is not None
        for _ in range(12):
            await running.press("j")
            await running.pilot.pause()
        await running.until_shown("y release it")
        await running.press("y")
        await running.until(lambda: row(url, "plan/import-customers") is None)


async def test_what_was_in_view_is_looked_at_again_when_the_screen_gets_narrower(
    url: str, service: LockService
) -> None:
    service.acquire("plan", "import-customers", "worker-3@import-host:4242", ttl_seconds=60)
    async with dashboard(service, size=(60, 20)) as running:
        await running.press("r")
        await running.until_shown("y release it")
        await running.pilot.resize_terminal(20, 8)
        await running.until_shown("j more")
        await running.press("y")
        await running.until_shown("not done")
        assert row(url, "plan/import-customers") is not None


async def test_lease_identity_is_the_row_not_the_name(service: LockService) -> None:
    first = service.acquire("plan", "a", "A", ttl_seconds=60)
    service.release("plan", "a", "A")
    assert lease_of(first) != lease_of(service.acquire("plan", "a", "A", ttl_seconds=60))


async def test_keys_that_come_at_once_after_the_slash_are_text(service: LockService) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    async with dashboard(service) as running:
        for character in "/worrrker":
            running.app.post_message(events.Key("slash" if character == "/" else character, character))
        await running.until(lambda: running.app.scene.board.filter.text == "worrrker")
        assert running.dialog is None


async def test_two_start_keys_at_once_open_one_dialog(service: LockService) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    async with dashboard(service) as running:
        for character in "rnr?p":
            running.app.post_message(events.Key("question_mark" if character == "?" else character, character))
        await running.until(lambda: running.dialog is not None)
        await running.press("escape")
        assert running.app.screen is running.app.watch_screen


@pytest.mark.parametrize("opener", ["question_mark", "r"])
async def test_keys_that_come_at_once_after_the_one_that_leaves_are_nothing(service: LockService, opener: str) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press(opener)
        for key in ("escape", "q", "escape", "y"):
            running.app.post_message(events.Key(key, None))
        await running.until(lambda: running.app.screen is running.app.watch_screen)
        await running.poll()
        assert running.app.is_running
        assert service.get("plan", "a") is not None


async def test_a_key_that_was_on_its_way_when_the_facts_changed_does_not_count(
    service: LockService, clock: Clock
) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    async with dashboard(service, quiet_secs=0.3) as running:
        await running.press("r")
        await asyncio.sleep(0.35)
        clock.advance(30)
        service.renew("plan", "a", "A", ttl_seconds=60)
        await running.poll()
        await running.press("y")
        await running.poll()
        assert service.get("plan", "a") is not None
        await running.until_shown("its holder is alive")
