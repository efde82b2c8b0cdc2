from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockwatch.core.model import Outcome, OutcomeKind
from lockwatch.core.state import LockState
from lockwatch.tui.orders import renewal_ttl
from lockwatch.tui.ttl import Ttl, ttl_text
from tests.tui.making import at, board, lock, snapshot


def test_the_ttl_of_a_lease_that_was_never_renewed_is_exact() -> None:
    assert str(board(lock(1, 60)).renewals.ttl(lock(1, 60))) == "60s"


def test_the_ttl_of_a_lease_that_was_renewed_before_is_unknown() -> None:
    assert board(lock(1, 60.25)).renewals.ttl(lock(1, 60.25)) is None


def test_a_renewal_that_was_seen_gives_an_estimate() -> None:
    shown = board(lock(1, 60))
    renewed = lock(1, 80.6)
    shown.see(snapshot([lock(1, 60)], 20))
    shown.see(snapshot([renewed], 21))
    assert str(shown.renewals.ttl(renewed)) == "~60s"
    assert shown.state(renewed, at(66)) is LockState.EXPIRING
    assert shown.state(renewed, at(65)) is LockState.HELD


@given(
    ttl=st.sampled_from([5, 10, 30, 60, 90, 300, 600, 3600]),
    gap=st.floats(0.1, 0.99),
    share=st.floats(0, 1),
)
def test_polls_a_second_apart_find_a_round_ttl(ttl: int, gap: float, share: float) -> None:
    shown = board(lock(1, ttl + 0.5))
    renewed = lock(1, round(10 - gap * share, 6) + ttl + 1)
    shown.see(snapshot([lock(1, ttl + 0.5)], 11 - gap))
    shown.see(snapshot([renewed], 11))
    assert shown.renewals.ttl(renewed) == Ttl(seconds=ttl, is_exact=False)


def test_the_bar_of_an_unknown_ttl_is_scaled_to_the_longest_time_left_that_was_seen() -> None:
    shown = board(lock(1, 40.5))
    assert shown.renewals.share_left(lock(1, 40.5), at(0)) == 1
    assert shown.renewals.share_left(lock(1, 40.5), at(20.25)) == pytest.approx(0.5)
    assert shown.renewals.share_left(lock(1, 40.5), at(50)) == 0


def test_the_bar_of_a_known_ttl_is_scaled_to_it() -> None:
    shown = board(lock(1, 40, held=20))
    assert shown.renewals.share_left(lock(1, 40, held=20), at(10)) == pytest.approx(0.5)


def test_the_bar_of_an_unreadable_expiry_is_empty() -> None:
    assert board(lock(1, None)).renewals.share_left(lock(1, None), at(0)) == 0


def test_an_operators_renewal_says_nothing_about_the_holder() -> None:
    for told_first in (True, False):
        shown = board(lock(1, 60))
        renewed = lock(1, 305)
        outcome = Outcome(kind=OutcomeKind.DONE, seen=lock(1, 60), now=renewed, at=at(5))
        if told_first:
            shown.note("renewed", [outcome])
        shown.see(snapshot([renewed], 5.2))
        if not told_first:
            shown.note("renewed", [outcome])
        assert shown.renewals.is_ours(renewed)
        shown.see(snapshot([lock(1, 400)], 50))
        assert not shown.renewals.is_ours(lock(1, 400))


def test_what_was_known_of_a_lease_goes_with_it() -> None:
    shown = board(lock(1, 60))
    shown.see(snapshot([lock(1, 80.5)], 21))
    shown.see(snapshot([], 22))
    assert shown.renewals.last(lock(1, 80.5)) is None


def test_an_expiry_that_was_set_back_is_no_renewal() -> None:
    shown = board(lock(1, 60))
    shown.see(snapshot([lock(1, 30)], 1))
    assert shown.renewals.last(lock(1, 30)) is None


@pytest.mark.parametrize(
    ("seconds", "words"), [(5, "5s"), (60, "60s"), (90, "90s"), (120, "2m"), (300, "5m"), (450, "450s"), (3600, "1h")]
)
def test_a_ttl_reads_as_people_say_it(seconds: float, words: str) -> None:
    assert ttl_text(seconds) == words


def test_a_renewal_gives_the_leases_own_ttl_within_the_limits_or_else_the_default() -> None:
    assert renewal_ttl(Ttl(seconds=60, is_exact=True)) == 60
    assert renewal_ttl(Ttl(seconds=2, is_exact=True)) == 5
    assert renewal_ttl(Ttl(seconds=90_000, is_exact=True)) == 3600
    assert renewal_ttl(None) == 300
