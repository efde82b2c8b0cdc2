from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from lockwatch.core.model import Lock, Outcome, OutcomeKind
from lockwatch.tui.board import Board
from lockwatch.tui.columns import columns_for
from lockwatch.tui.diff import Lease, lease_of
from lockwatch.tui.ghosts import GHOST_SECS
from lockwatch.tui.rows import row
from lockwatch.tui.tally import Counts
from lockwatch.tui.wish import Standing
from lockwatch.tui.words import how_it_went
from tests.tui.making import at, board, filter_by, lock, names, see, snapshot, text


def test_the_shortest_time_left_comes_first_and_the_unreadable_before_it() -> None:
    assert names(board(lock(1, 30), lock(2, None), lock(3, -5), lock(4, 10))) == ["p2", "p3", "p4", "p1"]


def test_equal_times_never_swap_places() -> None:
    locks = [lock(number, 60, name=f"p{number:02}") for number in range(50)]
    order = names(board(*locks))
    for seed in range(20):
        random.Random(seed).shuffle(locks)  # noqa: S311 no secret
        assert names(board(*locks)) == order == sorted(order)


def test_ids_that_are_no_numbers_do_not_stop_the_order() -> None:
    foreign = Lock.from_row(("seven", "a", "plan", "p", "x", lock(1).expires_text))
    assert names(board(lock(1, name="p"), foreign)) == ["p", "p"]


def test_the_cursor_starts_on_the_first_row() -> None:
    assert board(lock(1, 30), lock(2, 10)).selected == lock(2, 10)


def test_the_cursor_stays_on_its_lease_when_rows_come_above_it() -> None:
    shown = board(lock(1, 60), lock(2, 50))
    shown.move(1)
    see(shown, snapshot([lock(1, 60), lock(2, 50), *(lock(number, 5) for number in range(10, 50))]))
    assert shown.selected == lock(1, 60)
    assert shown.cursor_index == 41


def test_a_renewal_keeps_the_lease_under_the_cursor() -> None:
    shown = board(lock(1, 10), lock(2, 50))
    see(shown, snapshot([lock(1, 70), lock(2, 50)], 5))
    assert shown.selected == lock(1, 70)


def test_a_lease_that_goes_stays_as_a_ghost_under_the_cursor_for_ever() -> None:
    shown = board(lock(1, 40), lock(2, 50))
    see(shown, snapshot([lock(2, 50)], 3))
    shown.pass_time(at(3000))
    assert shown.selected == lock(1, 40)
    ghost = shown.ghost(lock(1, 40))
    assert ghost is not None
    assert how_it_went(ghost, at(6)) == "gone 3s ago, 37s before its expiry"


def test_a_ghost_goes_when_the_cursor_leaves_it() -> None:
    shown = board(lock(1, 40), lock(2, 50))
    see(shown, snapshot([lock(2, 50)], 3))
    shown.move(1)
    assert shown.pass_time(at(3 + GHOST_SECS))
    assert names(shown) == ["p2"]


def test_a_ghost_elsewhere_stays_a_few_seconds() -> None:
    shown = board(lock(1, 40), lock(2, 50))
    see(shown, snapshot([lock(1, 40)], 3))
    assert not shown.pass_time(at(2.9 + GHOST_SECS))
    assert names(shown) == ["p1", "p2"]
    assert shown.pass_time(at(3 + GHOST_SECS))
    assert names(shown) == ["p1"]


def test_a_ghost_goes_although_the_databases_clock_was_set_back() -> None:
    shown = board(lock(1, 40), lock(2, 50))
    see(shown, snapshot([lock(1, 40)], 3))
    assert shown.pass_time(at(-3600))


def test_a_takeover_is_a_ghost_and_a_new_row_and_the_cursor_stays_with_the_ghost() -> None:
    old, new = lock(1, -2, name="p"), lock(2, 60, name="p", owner="other")
    shown = board(old)
    see(shown, snapshot([new], 3))
    assert shown.rows == [old, new]
    assert shown.selected == old
    ghost = shown.ghost(old)
    assert ghost is not None
    assert how_it_went(ghost, at(4)) == "taken over by other 1s ago, 5s after its expiry"


def test_an_id_that_comes_back_for_another_owner_is_another_lease() -> None:
    shown = board(lock(1, 40, owner="A"))
    see(shown, snapshot([lock(1, 40, owner="B")], 3))
    assert shown.selected == lock(1, 40, owner="A")
    assert shown.ghost(lock(1, 40, owner="A")) is not None


def test_a_lease_that_comes_back_is_no_ghost_any_more() -> None:
    shown = board(lock(1, 40))
    see(shown, snapshot([], 1))
    see(shown, snapshot([lock(1, 40)], 2))
    assert shown.ghost(lock(1, 40)) is None
    assert shown.rows == [lock(1, 40)]


def test_a_ghost_says_what_this_dashboard_did() -> None:
    for told_first in (True, False):
        shown = board(lock(1, 40))
        outcome = Outcome(kind=OutcomeKind.DONE, seen=lock(1, 40), now=None, at=at(1))
        if told_first:
            shown.note("released", [outcome])
        see(shown, snapshot([], 2))
        if not told_first:
            shown.note("released", [outcome])
        ghost = shown.ghost(lock(1, 40))
        assert ghost is not None
        assert how_it_went(ghost, at(2)) == "released by you 0s ago, 38s before its expiry"


def test_the_same_tuple_of_locks_changes_nothing() -> None:
    shown = board(lock(1), lock(2))
    rows = shown.rows
    assert not see(shown, snapshot([lock(1), lock(2)], 5))
    assert shown.rows is rows
    assert shown.taken_at == at(5)


def test_the_filter_finds_every_word_in_resource_or_owner_whatever_its_case() -> None:
    shown = board(lock(1, name="Import-Customers", owner="ana@b:1"), lock(2, name="import", owner="bob@b:2"))
    filter_by(shown, "IMPORT ana")
    assert names(shown) == ["Import-Customers"]
    filter_by(shown, "import b:")
    assert len(names(shown)) == 2
    filter_by(shown, "plan/imp bob x")
    assert names(shown) == []
    assert (shown.shown, shown.total) == (0, 2)


def test_the_filter_finds_what_is_shown_of_a_hostile_name() -> None:
    shown = board(lock(1, name="a\x1b[2Jb"), lock(2))
    filter_by(shown, "␛[2j")
    assert names(shown) == ["a\x1b[2Jb"]


def test_the_cursor_comes_back_with_its_lease_when_the_filter_goes() -> None:
    shown = board(lock(1, 10, name="alpha"), lock(2, 20, name="beta"), lock(3, 30, name="alps"))
    shown.move(1)
    filter_by(shown, "al")
    assert shown.selected == lock(3, 30, name="alps")
    filter_by(shown, "")
    assert shown.selected == lock(2, 20, name="beta")


def test_a_filter_that_matches_nothing_leaves_no_row_under_the_cursor() -> None:
    shown = board(lock(1))
    filter_by(shown, "nothing")
    assert shown.selected is None
    shown.move(1)
    shown.move_to(3)
    filter_by(shown, "")
    assert shown.selected == lock(1)


def test_stale_locks_that_the_filter_hides_are_counted_and_not_listed() -> None:
    shown = board(lock(1, -5, name="a1"), lock(2, -6, name="b1"), lock(3, 60, name="a2"), lock(4, None, name="a3"))
    filter_by(shown, "/a")
    assert shown.stale(at(0)) == ([lock(1, -5, name="a1")], 1)


def test_a_stale_ghost_is_not_listed_as_stale() -> None:
    shown = board(lock(1, -5), lock(2, -5))
    see(shown, snapshot([lock(2, -5)], 1))
    assert shown.stale(at(1)) == ([lock(2, -5)], 0)


@given(st.lists(st.one_of(st.none(), st.floats(-100, 100)), max_size=30), st.floats(-200, 200))
def test_counts_are_those_of_the_states_one_by_one(lefts: list[float | None], seconds: float) -> None:
    locks = [lock(number, left) for number, left in enumerate(lefts)]
    shown = board(*locks)
    states = [shown.standing(one, at(seconds)) for one in locks]
    counts = shown.counts(at(seconds))
    assert [states.count(state) for state in Standing] == [
        counts.held,
        counts.expiring,
        counts.stale,
        counts.late,
        counts.unreadable,
    ]
    assert counts.held + counts.expiring + counts.stale + counts.unreadable == len(locks)


class Cursor(RuleBasedStateMachine):
    """Leases come, go, are renewed and taken over: the cursor leaves its lease only when it is moved."""

    def __init__(self) -> None:
        super().__init__()
        self.board = Board()
        self.table: dict[str, Lock] = {}
        self.number = 0
        self.seconds = 0.0
        self.expected: Lease | None = None

    def poll(self) -> None:
        see(self.board, snapshot(sorted(self.table.values(), key=lambda lock: lock.id), self.seconds))
        if self.expected is None:
            self.expected = self.board.cursor

    @rule(name=st.sampled_from("abcdef"), left=st.integers(-5, 40))
    def take(self, name: str, left: int) -> None:
        self.number += 1
        self.table[name] = lock(self.number, self.seconds + left, name=name)
        self.poll()

    @rule(name=st.sampled_from("abcdef"), left=st.integers(1, 99))
    def renew(self, name: str, left: int) -> None:
        if name in self.table:
            old = self.table[name]
            self.table[name] = lock(old.id, self.seconds + left, name=name)
            self.poll()

    @rule(name=st.sampled_from("abcdef"))
    def lose(self, name: str) -> None:
        self.table.pop(name, None)
        self.poll()

    @rule(seconds=st.floats(0.1, 20))
    def wait(self, seconds: float) -> None:
        self.seconds += seconds
        self.board.pass_time(at(self.seconds))

    @precondition(lambda self: self.board.rows)
    @rule(lines=st.integers(-3, 3))
    def move(self, lines: int) -> None:
        before = self.board.cursor_index
        self.board.move(lines)
        assert self.board.cursor_index == min(max(before + lines, 0), len(self.board.rows) - 1)
        self.expected = self.board.cursor

    @invariant()
    def the_cursor_is_where_it_was_put(self) -> None:
        assert self.board.cursor == self.expected
        if self.expected is not None:
            assert self.board.selected is not None
            assert lease_of(self.board.selected) == self.expected

    @invariant()
    def every_lock_is_listed_once_in_order(self) -> None:
        listed = [lease_of(one) for one in self.board.rows]
        assert len(listed) == len(set(listed))
        assert {lease_of(one) for one in self.table.values()} <= set(listed)
        ends = [one.expires_at for one in self.board.rows if one.expires_at]
        assert ends == sorted(ends)


TestCursor = Cursor.TestCase


def test_times_at_the_ends_of_the_calendar_are_shown_like_others() -> None:
    ends = [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
    locks = [replace(lock(number), expires_at=end, acquired_at=end) for number, end in enumerate(ends)]
    locks += [replace(lock(2), expires_at=ends[1], acquired_at=ends[0])]
    shown = board(*locks)
    assert shown.counts(at(0)) == Counts(held=2, stale=1)
    for one in shown.rows:
        assert text(row(shown, one, at(0), columns_for(120), selected=False))
