"""Until when a row of the table stays as it is while nothing but time passes, so that nobody looks at it before."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from lockwatch.core.model import Lock
from lockwatch.core.state import EXPIRING_SECS, EXPIRING_SHARE
from lockwatch.tui.board import Board
from lockwatch.tui.clock import later
from lockwatch.tui.columns import Columns

_UNITS: Final = (86_400, 3_600, 60, 1)
"""Of `core.text.duration`, in seconds."""
_INSTANT: Final = timedelta(microseconds=1)
_SOON: Final = timedelta(seconds=0.25)
"""For what the next look at the table decides."""


def good_until(board: Board, lock: Lock, now: datetime, columns: Columns) -> datetime:
    """The first moment after `now` at which `rows.row` may give another line: never too late, at times too early."""
    ghost = board.ghost(lock)
    if ghost is not None:
        return _next_age(ghost.gone_at, now)
    ends = [_next_age(lock.acquired_at, now)] if columns.held and lock.acquired_at is not None else []
    if lock.expires_at is not None:
        ends += _steps(board, lock, lock.expires_at, now, columns)
    return min(ends, default=now + timedelta(days=1))


def _steps(board: Board, lock: Lock, expires_at: datetime, now: datetime, columns: Columns) -> list[datetime]:
    """When the time left, the state and the bar change."""
    left = (expires_at - now).total_seconds()
    if left <= 0:
        return [_next_age(expires_at, now)]
    ends = [expires_at, expires_at - timedelta(seconds=_floor(left)) + _INSTANT]
    ttl = board.lives.ttl_seconds(lock)
    warning = expires_at - timedelta(seconds=EXPIRING_SECS if ttl is None else ttl * EXPIRING_SHARE)
    if warning > now:
        ends.append(warning)
    if columns.bar:
        ends.append(expires_at - timedelta(seconds=_least_for_bar(board.lives.share_left(lock, now), left, columns)))
    late_at = board.lives.late_at(lock)
    if late_at is not None and late_at > board.taken_at:
        ends.append(max(late_at, now + _SOON))
    return ends


def _least_for_bar(share: float, left: float, columns: Columns) -> float:
    """How many seconds must at least be left for the bar to be as long as it is."""
    halves = (columns.bar - 1) * 2
    shown = round(share * halves)
    return left * (shown - 0.5) / halves / share if shown > 1 else 0.0


def _next_age(since: datetime, now: datetime) -> datetime:
    """When the time since a moment is told in another number."""
    age = max(0.0, (now - since).total_seconds())
    unit = next((unit for unit in _UNITS if age >= unit), 1)
    return later(since, (age // unit + 1) * unit)


def _floor(seconds: float) -> float:
    """The least number of seconds that is told as so many are."""
    unit = next((unit for unit in _UNITS if seconds >= unit), 1)
    return seconds // unit * unit
