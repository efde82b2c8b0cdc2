"""Marks, and what is done to all that are marked: in portions, to those that were shown, and told by outcome."""

from __future__ import annotations

import threading

import pytest

import lockwatch
from lockwatch import LockService
from tests.support import age, insert_row, row, rows
from tests.tui.running import dashboard


def ids(url: str) -> list[bytes]:
    return sorted(cells[3] for cells in rows(url))


async def test_marked_leases_are_released_together_and_no_other(url: str, service: LockService) -> None:
    for name in "abcd":
        service.acquire("plan", name, f"owner-{name}", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press("space", "j", "space")
        await running.until_shown("4 locks · 2 marked")
        assert running.screen().count("✓") == 2
        await running.press("r")
        await running.until_shown("Release 2 locks")
        said = running.screen()
        assert "held by owner-a" in said
        assert "held by owner-c" in said
        assert "y release both" in said
        await running.press("y")
        await running.until(lambda: "2 released" in running.notices)
        assert ids(url) == [b"b", b"d"]
        await running.poll()
        assert len(running.app.scene.board.marks) == 0


async def test_marks_that_the_filter_hides_are_listed_and_counted(url: str, service: LockService) -> None:
    for name in ("alpha", "beta", "gamma"):
        service.acquire("plan", name, "A", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press("asterisk", "slash", *"beta", "enter")
        await running.until_shown("1 of 3 shown · 3 marked")
        await running.press("r")
        await running.until_shown("2 of them are hidden by the filter.")
        said = running.screen()
        assert all(f"plan/{name}" in said for name in ("alpha", "beta", "gamma"))
        assert said.count("hidden by the filter") == 3
        await running.press("escape")
        assert ids(url) == [b"alpha", b"beta", b"gamma"]


async def test_a_range_goes_from_the_last_mark_to_the_cursor(service: LockService) -> None:
    for name in "abcdef":
        service.acquire("plan", name, "A", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press("j", "space", "j", "v")
        board = running.app.scene.board
        assert [lease.resource_id for lease in board.marks] == ["b", "c", "d"]
        await running.press("u")
        assert len(board.marks) == 0


async def test_a_star_marks_all_that_are_shown_and_a_second_one_none(service: LockService) -> None:
    for name in ("a1", "a2", "b1"):
        service.acquire("plan", name, "A", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press("slash", *"/a", "enter", "asterisk")
        assert {lease.resource_id for lease in running.app.scene.board.marks} == {"a1", "a2"}
        await running.press("asterisk")
        assert len(running.app.scene.board.marks) == 0


async def test_the_mark_of_a_lease_that_went_does_not_pass_to_the_next_holder(url: str, service: LockService) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    service.acquire("plan", "b", "A", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press("asterisk")
        age(url, "plan/a")
        service.acquire("plan", "a", "B", ttl_seconds=60)
        await running.poll()
        assert [lease.resource_id for lease in running.app.scene.board.marks] == ["b"]
        await running.press("r", "y")
        await running.until(lambda: row(url, "plan/b") is None)
        assert (row(url, "plan/a") or ())[1] == b"B"


async def test_a_batch_is_answered_by_outcome(url: str, service: LockService) -> None:
    for name in "abc":
        service.acquire("plan", name, name.upper(), ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press("asterisk", "r")
        age(url, "plan/b")
        service.acquire("plan", "b", "X", ttl_seconds=60)
        service.release("plan", "c", "C")
        await running.press("y")
        await running.until(lambda: "1 released · 1 taken over since, left alone · 1 already gone" in running.notices)
        assert ids(url) == [b"b"]


async def test_only_what_was_renewed_since_is_asked_about_again(url: str, service: LockService) -> None:
    for name in "ab":
        service.acquire("plan", name, name.upper(), ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press("asterisk", "r")
        service.renew("plan", "b", "B", ttl_seconds=600)
        await running.press("y")
        await running.until_shown("Release this lock")
        assert ids(url) == [b"b"]
        assert "its holder is alive" in running.screen()


async def test_a_renewal_of_several_gives_each_its_own_ttl(service: LockService) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    service.acquire("plan", "b", "B", ttl_seconds=600)
    async with dashboard(service) as running:
        await running.press("asterisk", "n")
        await running.until_shown("Renew 2 locks, each for its own TTL")
        await running.press("y")
        await running.until(lambda: "2 renewed" in running.notices)


async def test_purge_takes_the_stale_ones_of_the_marked_and_says_how_many_are_left_alone(
    url: str, service: LockService
) -> None:
    insert_row(url, "plan/dead")
    insert_row(url, "plan/dead-too")
    service.acquire("plan", "alive", "A", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press("space", "G", "space", "p")
        await running.until_shown("Purge 1 stale lock")
        assert "1 more is marked, to which this cannot be done: left alone." in running.screen()
        await running.press("y")
        await running.until(lambda: ids(url) == [b"alive", b"dead-too"])


async def test_what_fits_none_of_the_marked_is_refused_with_the_reason(service: LockService) -> None:
    service.acquire("plan", "alive", "A", ttl_seconds=60)
    async with dashboard(service) as running:
        await running.press("space", "p")
        assert running.dialog is None
        assert "purge: none of the marked leases: it is not stale" in running.notices


async def test_a_long_batch_shows_how_far_it_is_and_stops_when_it_is_told(
    url: str, service: LockService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lockwatch.tui.orders.CHUNK_SIZE", 2)
    monkeypatch.setattr("lockwatch.tui.screens.confirm._LONG_SECS", 0.0)
    for number in range(6):
        insert_row(url, f"plan/p{number}")
    purge, turns = service.purge_exact, threading.Semaphore(0)

    def in_turns(locks: tuple[lockwatch.Lock, ...]) -> list[lockwatch.Outcome]:
        assert turns.acquire(timeout=10)
        return purge(locks)

    monkeypatch.setattr(service, "purge_exact", in_turns)
    async with dashboard(service) as running:
        await running.press("p", "y")
        turns.release()
        await running.until_shown("purging  2 of 6")
        await running.press("y", "n", "escape")
        await running.until_shown("stopping after this portion")
        turns.release()
        await running.until(lambda: "4 purged · stopped before 2 more" in running.notices)
        assert len(ids(url)) == 2
        assert running.dialog is None
