"""What is copied of leases: what one would write into a ticket, or give to the command line."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from lockwatch.core.model import Lock
from lockwatch.core.text import clean
from lockwatch.tui.board import Board
from lockwatch.tui.words import time_left

MOST: Final = 1000
"""So many leases are copied at once; terminals take no more than some hundred kilobytes."""


def lines(board: Board, now: datetime) -> list[str]:
    """One line for each marked lease, or for the one under the cursor."""
    marked = [lock for lease in board.marks if (lock := board.find(lease)) is not None]
    locks = marked or ([board.selected] if board.selected else [])
    return [_line(lock, now) for lock in locks[:MOST]]


def _line(lock: Lock, now: datetime) -> str:
    return f"{clean(lock.resource)}  {clean(lock.owner_id)}  fence {lock.id}  {time_left(lock, now)}"
