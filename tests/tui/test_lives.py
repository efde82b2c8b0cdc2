"""What is told of a lease's life: its TTL, who renewed it, and that its holder is late."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockwatch.core.model import Lock, Outcome, OutcomeKind
from lockwatch.tui.board import Board
from lockwatch.tui.orders import renewal_ttl
from lockwatch.tui.ttl import Ttl, ttl_text
from lockwatch.tui.wish import Standing
from tests.tui.making import at, board, lock, see, snapshot


def renew(shown: Board, *seconds: float, ttl: float = 60) -> Lock:
    """Have the holder renew at these times, each seen at once: the lock after the last."""
    for moment in seconds:
        see(shown, snapshot([lock(1, moment + ttl)], moment))
    return lock(1, seconds[-1] + ttl)


def renew_here(shown: Board, seen: Lock, seconds: float, ttl: float = 60, *, answer_first: bool = True) -> Lock:
    """Have an operator renew from this dashboard, and a look show it: the lock after that."""
    renewed = lock(1, seconds + ttl)
    outcome = Outcome(kind=OutcomeKind.DONE, seen=seen, now=renewed, at=at(seconds))
    if answer_first:
        shown.note("renewed", [outcome])
    see(shown, snapshot([renewed], seconds))
    if not answer_first:
        shown.note("renewed", [outcome])
    return renewed


def usual_seconds(shown: Board, one: Lock) -> float | None:
    """After how many seconds a holder usually renews, by the renewals that were seen."""
    renewal = shown.lives.last(one)
    return renewal.usual_seconds if renewal else None


def stands(shown: Board, one: Lock, seconds: float) -> Standing:
    """How a lock stands once a look has found it unchanged."""
    see(shown, snapshot([one], seconds))
    counts = shown.counts(at(seconds))
    standing = shown.standing(one, at(seconds))
    assert {state: getattr(counts, state) for state in Standing} == {state: state is standing for state in Standing}
    return standing


def test_a_holder_that_stops_is_late_when_it_is_overdue_by_half_of_what_it_usually_takes_and_not_before() -> None:
    shown = board(lock(1, 60))
    last = renew(shown, 20, 40, 60)
    assert usual_seconds(shown, last) == 20
    assert stands(shown, last, 89.9) is Standing.HELD
    assert stands(shown, last, 90) is Standing.LATE
    assert stands(shown, last, 119.9) is Standing.LATE
    assert stands(shown, last, 120) is Standing.STALE


def test_a_holder_that_renews_again_is_not_late_any_more() -> None:
    shown = board(lock(1, 60))
    last = renew(shown, 20, 40)
    assert stands(shown, last, 75) is Standing.LATE
    assert stands(shown, renew(shown, 76), 77) is Standing.HELD


def test_nobody_is_late_before_two_renewals_were_seen() -> None:
    shown = board(lock(1, 60))
    last = renew(shown, 20)
    assert shown.lives.late_at(last) is None
    assert stands(shown, last, 64) is Standing.HELD
    last = renew(shown, 65)
    assert shown.lives.late_at(last) == at(65 + 1.5 * (20 + 45) / 2)


def test_a_changing_rhythm_is_judged_by_its_median() -> None:
    shown = board(lock(1, 60))
    last = renew(shown, 10, 20, 30, 75, 85)
    assert usual_seconds(shown, last) == 10
    assert stands(shown, last, 99.9) is Standing.HELD
    assert stands(shown, last, 100) is Standing.LATE


def test_a_rhythm_that_changed_for_good_is_the_new_one_after_a_few_renewals() -> None:
    shown = board(lock(1, 60))
    last = renew(shown, 10, 20, 30, 60, 90, 120, 150)
    assert usual_seconds(shown, last) == 30


def test_how_often_the_table_is_looked_at_does_not_change_the_rhythm() -> None:
    shown = board(lock(1, 60))
    for renewed, seen in ((20, 24.9), (40, 44.9), (60, 60.1)):
        see(shown, snapshot([lock(1, renewed + 60)], seen))
    assert usual_seconds(shown, lock(1, 120)) == 20


def test_looks_that_failed_make_nobody_late() -> None:
    shown = board(lock(1, 60))
    last = renew(shown, 20, 40)
    assert shown.standing(last, at(95)) is Standing.EXPIRING, "nobody has looked since 40"
    assert shown.counts(at(95)).late == 0
    see(shown, snapshot([lock(1, 152)], 95))
    assert shown.standing(lock(1, 152), at(95)) is Standing.HELD


def test_the_first_look_after_some_that_failed_tells_who_was_late_meanwhile() -> None:
    shown = board(lock(1, 60))
    last = renew(shown, 20, 40)
    assert stands(shown, last, 95) is Standing.LATE


def test_an_expiry_that_was_set_back_is_no_renewal() -> None:
    shown = board(lock(1, 60))
    see(shown, snapshot([lock(1, 30)], 1))
    assert shown.lives.last(lock(1, 30)) is None


def test_what_was_known_of_a_lease_goes_with_it() -> None:
    shown = board(lock(1, 60))
    renew(shown, 20, 40)
    see(shown, snapshot([], 41))
    assert shown.lives.last(lock(1, 100)) is None


@pytest.mark.parametrize("answer_first", [True, False])
def test_an_operators_renewals_do_not_make_a_habit(answer_first: bool) -> None:
    shown = board(lock(1, 60))
    last = lock(1, 60)
    for seconds in (10, 20, 30):
        last = renew_here(shown, last, seconds, answer_first=answer_first)
        assert shown.lives.is_ours(last)
    last = renew(shown, 31)
    assert not shown.lives.is_ours(last)
    assert shown.lives.late_at(last) is None


@pytest.mark.parametrize("times", [1, 7])
@pytest.mark.parametrize("started", [55, 65, 75])
def test_an_operators_renewals_do_not_hide_that_the_holder_is_late(started: float, times: int) -> None:
    shown = board(lock(1, 60))
    last = renew(shown, 20, 40)
    for number in range(times):
        last = renew_here(shown, last, started + number / 2)
    if started < 70:
        assert stands(shown, last, 69.9) is Standing.HELD
    assert stands(shown, last, 80) is Standing.LATE


def test_the_holders_next_renewal_after_an_operators_is_a_sign_of_life() -> None:
    shown = board(lock(1, 60))
    last = renew_here(shown, renew(shown, 20, 40), 50)
    last = renew(shown, 60)
    assert usual_seconds(shown, last) == 20
    assert stands(shown, last, 89.9) is Standing.HELD
    assert stands(shown, last, 90) is Standing.LATE


def test_an_answer_that_comes_after_the_look_is_heeded_with_the_next_renewal_and_no_count_goes_wrong() -> None:
    shown = board(lock(1, 60))
    last = renew_here(shown, renew(shown, 20, 40), 47, answer_first=False)
    assert stands(shown, last, 48) is Standing.HELD
    last = renew(shown, 60)
    assert usual_seconds(shown, last) == 20
    assert stands(shown, last, 90) is Standing.LATE
    see(shown, snapshot([], 91))
    assert shown.counts(at(91)).late == 0


def test_a_holder_whose_renewals_leave_no_trace_is_not_late() -> None:
    """Somebody gave the lease 300 s by another way: until 60 s are left, the holder's renewals change nothing."""
    shown = board(lock(1, 60))
    renew(shown, 20, 40)
    last = renew(shown, 45, ttl=300)
    assert stands(shown, last, 200) is Standing.HELD
    assert stands(shown, last, 314.9) is Standing.EXPIRING
    assert stands(shown, last, 315) is Standing.LATE


def test_whoever_was_late_before_a_long_renewal_stays_late() -> None:
    shown = board(lock(1, 60))
    last = renew(shown, 20, 40)
    assert stands(shown, last, 75) is Standing.LATE
    last = renew_here(shown, last, 76, ttl=300)
    assert stands(shown, last, 77) is Standing.LATE


def test_a_lease_that_is_then_made_to_last_for_ever_is_no_error() -> None:
    """As far as the calendar goes: what is reckoned from that is beyond its end."""
    shown = board(lock(1, 60))
    renew(shown, 20)
    last = renew(shown, 40, ttl=(datetime.max.replace(tzinfo=UTC) - at(41)).total_seconds())
    assert stands(shown, last, 100) is Standing.HELD


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["holder", "here, then seen", "seen, then here", "set back", "look"]), st.integers(1, 30)
        ),
        max_size=25,
    )
)
def test_the_count_of_the_late_is_always_that_of_the_rows(steps: list[tuple[str, int]]) -> None:
    shown, current, seconds = board(lock(1, 60)), lock(1, 60), 0.0
    for what, pause in steps:
        seconds += pause
        match what:
            case "holder":
                current = renew(shown, seconds)
            case "here, then seen" | "seen, then here":
                current = renew_here(shown, current, seconds, 90, answer_first=what.startswith("here"))
            case "set back":
                current = lock(1, seconds + 5)
        stands(shown, current, seconds)


def test_the_ttl_of_a_lease_that_was_never_renewed_is_exact() -> None:
    assert str(board(lock(1, 60)).lives.ttl(lock(1, 60))) == "60s"


def test_the_ttl_of_a_lease_that_was_renewed_before_is_unknown() -> None:
    assert board(lock(1, 60.25)).lives.ttl(lock(1, 60.25)) is None


def test_a_renewal_that_was_seen_gives_an_estimate() -> None:
    shown = board(lock(1, 60))
    renewed = lock(1, 80.6)
    see(shown, snapshot([lock(1, 60)], 20))
    see(shown, snapshot([renewed], 21))
    assert str(shown.lives.ttl(renewed)) == "~60s"
    assert shown.standing(renewed, at(66)) is Standing.EXPIRING
    assert shown.standing(renewed, at(65)) is Standing.HELD


def test_a_ttl_that_was_known_stays_although_nobody_looked_for_long() -> None:
    shown = board(lock(1, 60))
    renewed = lock(1, 700)
    see(shown, snapshot([renewed], 650))
    assert str(shown.lives.ttl(renewed)) == "~60s"
    again = lock(1, 1400)
    see(shown, snapshot([again], 1350))
    assert str(shown.lives.ttl(again)) == "~60s"


def test_a_renewal_from_here_that_changed_nothing_is_still_the_holders() -> None:
    shown = board(lock(1, 60))
    renewed = renew(shown, 20)
    shown.note("renewed", [Outcome(kind=OutcomeKind.DONE, seen=renewed, now=renewed, at=at(21))])
    assert not shown.lives.is_ours(renewed)


@given(
    ttl=st.sampled_from([5, 10, 30, 60, 90, 300, 600, 3600]),
    gap=st.floats(0.1, 0.99),
    share=st.floats(0, 1),
)
def test_looks_a_second_apart_find_a_round_ttl(ttl: int, gap: float, share: float) -> None:
    shown = board(lock(1, ttl + 0.5))
    renewed = lock(1, round(10 - gap * share, 6) + ttl + 1)
    see(shown, snapshot([lock(1, ttl + 0.5)], 11 - gap))
    see(shown, snapshot([renewed], 11))
    assert shown.lives.ttl(renewed) == Ttl(seconds=ttl, is_exact=False)


def test_the_bar_of_an_unknown_ttl_is_scaled_to_the_longest_time_left_that_was_seen() -> None:
    shown = board(lock(1, 40.5))
    assert shown.lives.share_left(lock(1, 40.5), at(0)) == 1
    assert shown.lives.share_left(lock(1, 40.5), at(20.25)) == pytest.approx(0.5)
    assert shown.lives.share_left(lock(1, 40.5), at(50)) == 0


def test_the_bar_of_a_known_ttl_is_scaled_to_it() -> None:
    shown = board(lock(1, 40, held=20))
    assert shown.lives.share_left(lock(1, 40, held=20), at(10)) == pytest.approx(0.5)


def test_the_bar_of_an_unreadable_expiry_is_empty() -> None:
    assert board(lock(1, None)).lives.share_left(lock(1, None), at(0)) == 0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (5, "5s"),
        (60, "60s"),
        (90, "90s"),
        (120, "2m"),
        (300, "5m"),
        (450, "450s"),
        (3600, "1h"),
        (900 * 86_400, "900d"),
        (998 * 365.25 * 86_400, "998y"),
    ],
)
def test_a_ttl_reads_as_people_say_it(seconds: float, words: str) -> None:
    assert ttl_text(seconds) == words


def test_a_renewal_gives_the_leases_own_ttl_within_the_limits_or_else_the_default() -> None:
    assert [renewal_ttl(seconds) for seconds in (60, 2, 90_000, None)] == [60, 5, 3600, 300]
