"""What is copied of leases: what one would write into a ticket, or give to the command line."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from lockwatch.core.model import Lock
from lockwatch.core.text import clean
from lockwatch.tui.board import Board
from lockwatch.tui.wish import Standing
from lockwatch.tui.words import how_it_went, time_left

MOST: Final = 1000
"""So many leases are copied at once; terminals take no more than some hundred kilobytes."""


def lines(board: Board, now: datetime) -> list[str]:
    """One line for each marked lease, or for the one under the cursor."""
    marked = [lock for lease in board.marks if (lock := board.find(lease)) is not None]
    locks = marked or ([board.selected] if board.selected else [])
    return [_line(board, lock, now) for lock in locks[:MOST]]


def _line(board: Board, lock: Lock, now: datetime) -> str:
    who = f"{clean(lock.resource)}  {clean(lock.owner_id)}  fence {lock.id}"
    return f"{who}  {_how_it_stands(board, lock, now)}  as of {now:%Y-%m-%d %H:%M:%SZ}"


def _how_it_stands(board: Board, lock: Lock, now: datetime) -> str:
    ghost = board.ghost(lock)
    if ghost is not None:
        return how_it_went(ghost, now)
    late = ", its holder is late" if board.standing(lock, now) is Standing.LATE else ""
    return f"{time_left(lock, now)}{late}"
