"""Locks and snapshots made up for tests of the model."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from lockwatch.core.model import Lock, LockSnapshot
from lockwatch.core.timestamps import to_text
from lockwatch.tui.board import Board
from lockwatch.tui.spans import Line
from tests.support import START


def at(seconds: float) -> datetime:
    """A moment, in seconds from the start."""
    return START + timedelta(seconds=seconds)


def lock(
    number: int, left: float | None = 60, *, name: str | None = None, owner: str = "worker@host:1", held: float = 0
) -> Lock:
    """A lock that was acquired `held` seconds before the start and has `left` seconds from there; None: unreadable."""
    expires = None if left is None else at(left)
    return Lock(
        id=number,
        owner_id=owner,
        resource_type="plan",
        resource_id=name or f"p{number}",
        acquired_at=at(-held),
        expires_at=expires,
        expires_text="tomorrow" if expires is None else to_text(expires),
    )


def snapshot(locks: Iterable[Lock], seconds: float = 0) -> LockSnapshot:
    """What a poll gives `seconds` after the start."""
    return LockSnapshot(taken_at=at(seconds), locks=tuple(locks))


def board(*locks: Lock) -> Board:
    """A board that has seen these at the start."""
    made = Board()
    made.see(snapshot(locks))
    return made


def names(shown: Board) -> list[str]:
    """The resource ids that are listed, in order."""
    return [lock.resource_id for lock in shown.rows]


def text(*lines: Line) -> str:
    """What lines say."""
    return "\n".join("".join(span.text for span in line) for line in lines)
