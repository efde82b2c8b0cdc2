"""How a lock stands at one moment."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lockwatch.core.state import LockState, state_of, ttl_of
from tests.core.test_model import LOCK
from tests.support import START


@pytest.mark.parametrize(
    ("elapsed", "ttl", "state"),
    [
        (0, 60, LockState.HELD),
        (44.9, 60, LockState.HELD),
        (45, 60, LockState.EXPIRING),
        (59.9, 60, LockState.EXPIRING),
        (60, 60, LockState.STALE),
        (99, 60, LockState.STALE),
        (49.9, None, LockState.HELD),
        (50, None, LockState.EXPIRING),
        (60, None, LockState.STALE),
    ],
)
def test_a_lock_is_expiring_in_its_last_quarter_or_last_ten_seconds(
    elapsed: float, ttl: float | None, state: LockState
) -> None:
    assert state_of(LOCK, START + timedelta(seconds=elapsed), ttl) is state


def test_an_unreadable_lock_has_a_state_of_its_own() -> None:
    odd = replace(LOCK, expires_at=None, expires_text="soon")
    assert state_of(odd, START, None) is LockState.UNREADABLE
    assert ttl_of(odd) is None


def test_a_ttl_is_told_by_whole_seconds_between_the_times() -> None:
    assert ttl_of(LOCK) == 60.0
    assert ttl_of(replace(LOCK, expires_at=START + timedelta(seconds=60.25))) is None
    assert ttl_of(replace(LOCK, acquired_at=None)) is None
    assert ttl_of(replace(LOCK, expires_at=START)) is None
    assert ttl_of(replace(LOCK, expires_at=START - timedelta(seconds=5))) is None
