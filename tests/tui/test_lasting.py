from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockwatch.tui.columns import columns_for
from lockwatch.tui.lasting import good_until
from lockwatch.tui.rows import row
from tests.tui.making import at, board, lock

COLUMNS = columns_for(119)
ENDS = (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
SECONDS = st.one_of(st.floats(-4000, 4000), st.floats(-100_000, 100_000), st.integers(-70, 70).map(float))


def before_it_is_due(now: datetime, until: datetime, share: float) -> datetime:
    """A moment from now on, before `until`."""
    return now + timedelta(microseconds=int(((until - now) // timedelta(microseconds=1)) * share))


@given(left=SECONDS, held=st.floats(0, 100_000), passed=SECONDS, share=st.floats(0, 0.999))
def test_a_row_stays_as_it_is_until_it_is_due(left: float, held: float, passed: float, share: float) -> None:
    one = lock(1, left, held=held)
    shown, now = board(one), at(passed)
    until = good_until(shown, one, now, COLUMNS)
    assert until > now
    later = before_it_is_due(now, until, share)
    before, after = (row(shown, one, moment, COLUMNS, selected=False) for moment in (now, later))
    assert before == after


@given(left=SECONDS, ttl=st.integers(5, 3600), passed=st.floats(-10, 4000), share=st.floats(0, 0.999))
def test_so_it_does_where_the_ttl_is_known(left: float, ttl: int, passed: float, share: float) -> None:
    one = lock(1, left, held=ttl - left)
    shown, now = board(one), at(passed)
    until = good_until(shown, one, now, COLUMNS)
    later = before_it_is_due(now, until, share)
    before, after = (row(shown, one, moment, COLUMNS, selected=True) for moment in (now, later))
    assert before == after


def test_the_row_of_a_long_lease_is_seldom_due() -> None:
    one = lock(1, 3000, held=600)
    until = good_until(board(one), one, at(0.5), COLUMNS)
    assert until >= at(30)


def test_seconds_are_due_each_second() -> None:
    one = lock(1, 40.25, held=600.5)
    assert good_until(board(one), one, at(0), COLUMNS) == at(0.25) + timedelta(microseconds=1)


def test_a_stale_lock_is_due_when_its_age_is_told_in_another_number() -> None:
    one = lock(1, -61, held=600)
    assert good_until(board(one), one, at(0), columns_for(40)) == at(59)


def test_an_unreadable_expiry_is_due_for_the_time_it_is_held() -> None:
    one = lock(1, None, held=61)
    assert good_until(board(one), one, at(0), COLUMNS) == at(59)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("begin", ENDS)
def test_a_row_with_times_at_the_ends_of_the_calendar_is_due_some_time(begin: datetime, end: datetime) -> None:
    one = replace(lock(1), acquired_at=begin, expires_at=end)
    for moment in (at(0), ENDS[1] - timedelta(days=1)):
        assert good_until(board(one), one, moment, COLUMNS) > moment
