from __future__ import annotations

import pytest

from lockwatch.core.model import Lock, Outcome, OutcomeKind
from lockwatch.tui.board import Board
from lockwatch.tui.diff import Changes
from lockwatch.tui.orders import Verb
from lockwatch.tui.pins import Hidden, Pinned, pin
from lockwatch.tui.victims import Body, Victims, answers, title
from tests.tui.making import at, board, lock, see, snapshot, text


def says(pinned: Pinned, seconds: float, cells: int = 69) -> str:
    return text(*Body(Victims(pinned), at(seconds), cells))


def pinned_and_board(verb: Verb, *locks: Lock, hidden: int = 0) -> tuple[Pinned, Board]:
    shown = board(*locks)
    return pin(verb, shown.rows, shown, hidden=Hidden(left_out=hidden)), shown


def look_again(pinned: Pinned, shown: Board, *locks: Lock, seconds: float) -> Pinned:
    """What a dialog makes of a poll that saw these."""
    changes = see(shown, snapshot(locks, seconds))
    return pinned.recheck(shown, changes).pass_time(at(seconds))


def test_a_dialog_tells_owner_age_time_left_and_fence() -> None:
    pinned, _ = pinned_and_board(Verb.RELEASE, lock(7, 28, name="report [EU]", owner="cron@b:991", held=24))
    said = says(pinned, 0)
    assert "plan/report [EU]   28s left   fence 7" in said
    assert "held by cron@b:991 for 24s" in said
    assert title(pinned) == "Release this lock"
    assert answers(pinned) == ("release it", "leave it")


def test_names_of_any_length_are_told_in_full() -> None:
    pinned, _ = pinned_and_board(Verb.RELEASE, lock(7, 28, name="r" * 255, owner="o" * 255))
    said = says(pinned, 0).replace("\n", "").replace(" ", "")
    assert "r" * 255 in said
    assert "o" * 255 in said


def test_a_renewed_lease_is_pinned_anew_and_says_that_its_holder_is_alive() -> None:
    pinned, shown = pinned_and_board(Verb.RELEASE, lock(1, 6))
    pinned = look_again(pinned, shown, lock(1, 36), seconds=6)
    assert pinned.order().locks == (lock(1, 36),)
    assert "renewed 2s ago: its holder is alive" in says(pinned, 8)


def test_a_dialog_opens_with_the_last_renewal_that_was_seen() -> None:
    shown = board(lock(1, 6))
    see(shown, snapshot([lock(1, 36)], 6))
    pinned = pin(Verb.RELEASE, shown.rows, shown)
    assert "renewed 2s ago: its holder is alive" in says(pinned, 8)
    assert "last renewed 34s ago" in says(pinned, 40)


def test_a_holder_that_is_late_is_not_said_to_be_alive() -> None:
    shown = board(lock(1, 30))
    for second in (10, 20, 30):
        see(shown, snapshot([lock(1, 30 + second)], second))
    pinned = pin(Verb.RELEASE, shown.rows, shown)
    assert "renewed 10s ago: its holder is alive" in says(pinned, 40)
    assert "renewed 25s ago: its holder is alive" in says(pinned, 55), "nobody looked since"
    pinned = look_again(pinned, shown, lock(1, 60), seconds=50)
    assert "last renewed 25s ago: its holder is late" in says(pinned, 55)
    pinned = look_again(pinned, shown, lock(1, 86), seconds=56)
    assert "renewed 2s ago: its holder is alive" in says(pinned, 58)


def test_a_renewal_that_is_long_past_is_no_sign_of_life_though_nobody_knows_the_holders_habit() -> None:
    shown = board(lock(1, 6))
    see(shown, snapshot([lock(1, 106)], 6))
    pinned = look_again(pin(Verb.RELEASE, shown.rows, shown), shown, lock(1, 106), seconds=50)
    assert "renewed 44s ago: its holder is alive" in says(pinned, 50)
    pinned = look_again(pinned, shown, lock(1, 106), seconds=60)
    assert "last renewed 54s ago" in says(pinned, 60)
    assert "alive" not in says(pinned, 60).partition("A holder that is alive")[0]


def test_an_operators_renewal_is_not_told_as_a_sign_of_life() -> None:
    pinned, shown = pinned_and_board(Verb.RELEASE, lock(1, 6))
    shown.note("renewed", [Outcome(kind=OutcomeKind.DONE, seen=lock(1, 6), now=lock(1, 305), at=at(5))])
    pinned = look_again(pinned, shown, lock(1, 305), seconds=6)
    said = says(pinned, 8)
    assert "renewed by you 2s ago" in said
    assert "alive:" not in said


def test_a_lease_that_was_taken_over_drops_out_and_says_by_whom() -> None:
    pinned, shown = pinned_and_board(Verb.RELEASE, lock(1, 6, name="p"))
    pinned = look_again(pinned, shown, lock(2, 60, name="p", owner="B"), seconds=7)
    assert pinned.order().locks == ()
    assert "left out: taken over by B (fence 2), 3s ago" in says(pinned, 10)
    assert "Nothing is left to release." in says(pinned, 10)
    assert answers(pinned) == ("", "close")


def test_a_lease_that_is_gone_drops_out() -> None:
    pinned, shown = pinned_and_board(Verb.PURGE, lock(1, -6), lock(2, -7))
    pinned = look_again(pinned, shown, lock(2, -7), seconds=1)
    assert pinned.order().locks == (lock(2, -7),)
    assert "plan/p1  left out: gone, 1s ago" in says(pinned, 2)
    assert title(pinned) == "Purge 1 stale lock"
    assert look_again(pinned, shown, lock(2, -7), seconds=3).dropped == pinned.dropped


def test_what_this_dashboard_removed_meanwhile_is_said_to_be_its_doing() -> None:
    pinned, shown = pinned_and_board(Verb.PURGE, lock(1, -6))
    shown.note("released", [Outcome(kind=OutcomeKind.DONE, seen=lock(1, -6), now=None, at=at(1))])
    pinned = look_again(pinned, shown, seconds=1)
    assert "released by you" in says(pinned, 2)


def test_an_expired_lease_is_still_one_to_release() -> None:
    pinned, _shown = pinned_and_board(Verb.RELEASE, lock(1, 6))
    pinned = pinned.pass_time(at(10))
    assert pinned.order().locks == (lock(1, 6),)
    assert "stale for 4s" in says(pinned, 10)
    assert "was held by" in says(pinned, 10)


def test_an_expired_lease_is_none_to_renew() -> None:
    pinned, _shown = pinned_and_board(Verb.RENEW, lock(1, 6))
    assert pinned.pass_time(at(5)).order().locks == (lock(1, 6),)
    pinned = pinned.pass_time(at(6))
    assert pinned.order().locks == ()
    assert "expired: there is nothing to renew" in says(pinned, 8)


def test_a_stale_lease_that_was_renewed_is_none_to_purge() -> None:
    pinned, shown = pinned_and_board(Verb.PURGE, lock(1, -6))
    pinned = look_again(pinned, shown, lock(1, 60), seconds=1)
    assert pinned.order().locks == ()
    assert "not stale any more, its holder is alive" in says(pinned, 1)


def test_no_lease_ever_joins() -> None:
    pinned, shown = pinned_and_board(Verb.PURGE, lock(1, -6))
    pinned = look_again(pinned, shown, lock(1, -6), lock(2, -9), seconds=1)
    assert pinned.order().locks == (lock(1, -6),)


def test_an_expiry_that_was_set_back_is_told() -> None:
    pinned, shown = pinned_and_board(Verb.RELEASE, lock(1, 60))
    pinned = look_again(pinned, shown, lock(1, 30), seconds=1)
    assert "its expiry was changed 1s ago" in says(pinned, 2)


def test_the_list_of_a_purge_is_exactly_its_order() -> None:
    locks = [lock(number, -number) for number in range(1, 40)]
    pinned, _ = pinned_and_board(Verb.PURGE, *locks, hidden=2)
    lines = [text(line) for line in Body(Victims(pinned), at(0), 80)]
    assert [line.split()[0] for line in lines if "stale" in line and "fence" in line] == [
        one.resource for one in pinned.order().locks
    ]
    assert "2 more stale locks do not match the filter: not purged." in says(pinned, 0)
    assert answers(pinned)[0] == "purge these 39"


def test_the_list_of_a_release_begins_with_how_many_are_held_and_with_these() -> None:
    pinned, _ = pinned_and_board(Verb.RELEASE, *(lock(number, -number) for number in range(1, 9)), lock(9), lock(10))
    body = Body(Victims(pinned), at(0), 69)
    least = text(*body[: body.least_seen])
    assert "2 of them are held: their holders may be at work." in least
    assert "plan/p10" in least
    assert [one.id for one in pinned.order().locks] == [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]
    assert "held: " not in says(pinned, 70), "their time is up meanwhile"


def test_a_list_tells_signs_of_life_in_words_that_fit() -> None:
    shown = board(*(lock(n, 30) for n in range(1, 6)))
    for second in (10, 20, 30):
        see(shown, snapshot([lock(n, 30 + second) for n in range(1, 6)], second))
    pinned = pin(Verb.RELEASE, shown.rows, shown)
    assert says(pinned, 40).count("20s left   alive: renewed 10s ago  ") == 5
    see(shown, snapshot(shown.rows, 50))
    assert says(pin(Verb.RELEASE, shown.rows, shown), 52).count("8s left   late: renewed 22s ago  ") == 5


def test_a_refusal_for_renewed_since_keeps_the_new_facts_though_the_last_poll_is_older() -> None:
    pinned, shown = pinned_and_board(Verb.RELEASE, lock(1, 6))
    since = Outcome(kind=OutcomeKind.RENEWED_SINCE, seen=lock(1, 6), now=lock(1, 36), at=at(6))
    pinned = pinned.after([since]).recheck(shown, Changes()).pass_time(at(6.1))
    assert pinned.order().locks == (lock(1, 36),)
    assert "its holder is alive" in says(pinned, 7)


@pytest.mark.parametrize("kind", [kind for kind in OutcomeKind if kind is not OutcomeKind.RENEWED_SINCE])
def test_any_other_answer_leaves_nothing_to_decide(kind: OutcomeKind) -> None:
    pinned, _ = pinned_and_board(Verb.RELEASE, lock(1, 6))
    assert pinned.after([Outcome(kind=kind, seen=lock(1, 6), now=None, at=at(6))]).locks == {}


def test_a_purge_that_meets_a_renewal_leaves_it_alone() -> None:
    pinned, _ = pinned_and_board(Verb.PURGE, lock(1, -6))
    after = pinned.after([Outcome(kind=OutcomeKind.RENEWED_SINCE, seen=lock(1, -6), now=lock(1, 36), at=at(6))])
    assert after.locks == {}
    assert "not stale any more" in says(after, 7)


def test_a_renewal_says_how_long_it_gives() -> None:
    pinned, _ = pinned_and_board(Verb.RENEW, lock(1, 6, held=54))
    assert title(pinned) == "Renew this lock for 60s"
    assert "It then lasts 60s from now." in says(pinned, 0)
    longer, _ = pinned_and_board(Verb.RENEW, lock(1, 600.5))
    assert "nothing would change" in says(longer, 0)


def test_an_unreadable_lease_can_be_released_and_says_why_it_stands() -> None:
    pinned, _shown = pinned_and_board(Verb.RELEASE, lock(1, None))
    said = says(pinned, 0)
    assert "expiry unreadable: 'tomorrow'" in said
    assert "nobody can take the lock" in said


def test_markup_and_escapes_in_names_are_only_text() -> None:
    pinned, _ = pinned_and_board(Verb.RELEASE, lock(1, 6, name="a[/]b", owner="[red]\x1b[2J\u202e"))
    said = says(pinned, 0)
    assert "a[/]b" in said
    assert "[red]␛[2J·" in said
    assert "\x1b" not in said


def test_a_body_can_be_sliced() -> None:
    pinned, _ = pinned_and_board(Verb.PURGE, lock(1, -6), lock(2, -7))
    body = Body(Victims(pinned), at(0), 60)
    assert body[0:2] == [body[0], body[1]]
    assert body[-1] == body[len(body) - 1]


def test_a_list_on_a_narrow_screen_takes_two_lines_for_each_lease() -> None:
    pinned, shown = pinned_and_board(Verb.PURGE, *(lock(n, -n, name=f"import-customers-{n}") for n in (1, 2, 3)))
    left = [lock(n, -n, name=f"import-customers-{n}") for n in (2, 3)]
    pinned = look_again(pinned, shown, *left, seconds=1)
    lines = [text(line) for line in Body(Victims(pinned), at(1), 38)]
    assert lines[:6] == [
        "plan/import-customers-3       4s stale",
        "  worker@host:1  fence 3",
        "plan/import-customers-2       3s stale",
        "  worker@host:1  fence 2",
        "plan/import-customers-1",
        "  left out: gone, 0s ago",
    ]


@pytest.mark.parametrize("cells", [40, 56, 69])
def test_in_a_list_an_owner_gives_way_and_a_fence_is_told_in_full(cells: int) -> None:
    pinned, _ = pinned_and_board(
        Verb.PURGE, lock(4377, -6, name="import-customers-1", owner="worker-1@build-2:9610:d489a003")
    )
    (line,) = [line for line in says(pinned, 0, cells).splitlines() if "worker" in line]
    assert line.endswith("  fence 4377")
    assert "a003  fence" in line


def test_beside_news_a_list_tells_the_owner_before_the_fence() -> None:
    shown = board(*(lock(n, 6, name="import-customers", owner="worker-1@build-2:9610:d489a003") for n in range(7)))
    renewed = [lock(n, 36, name="import-customers", owner="worker-1@build-2:9610:d489a003") for n in range(7)]
    see(shown, snapshot(renewed, 6))
    said = says(pin(Verb.RELEASE, shown.rows, shown), 8).splitlines()
    (line,) = {line for line in said if "alive: renewed" in line}
    assert line.endswith("  work…a003")
