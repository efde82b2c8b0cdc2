"""Locks and snapshots made up for tests of the model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from lockwatch.core.model import Lock, LockSnapshot
from lockwatch.core.timestamps import to_text
from lockwatch.core.watcher import Watched
from lockwatch.tui.board import Board
from lockwatch.tui.catalogue import Catalogue, select
from lockwatch.tui.diff import Changes
from lockwatch.tui.lives import Lives
from lockwatch.tui.spans import Line
from lockwatch.tui.wish import Filter
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


def see(shown: Board, seen: LockSnapshot) -> Changes:
    """Have a board see what a poll gave, as the poller would arrange it: what changed."""
    earlier = shown.catalogue if shown.is_filled else Catalogue(lives=Lives(ours=shown.ours))
    known = {id(lock) for lock in earlier.locks}
    same = {lock: lock for lock in earlier.locks}
    locks = tuple(same.get(lock, lock) for lock in seen.locks)
    now = {id(lock) for lock in locks}
    watched = Watched(
        taken_at=seen.taken_at,
        locks=earlier.locks if now == known else locks,
        by_id={lock.id: lock for lock in reversed(locks)},
        came=tuple(lock for lock in locks if id(lock) not in known),
        went=tuple(lock for lock in earlier.locks if id(lock) not in now),
    )
    catalogue, changes = earlier.after(watched, shown.sort.column)
    shown.see(catalogue, changes, select(catalogue, shown.wish, seen.taken_at))
    return changes


def filter_by(shown: Board, text: str) -> None:
    """Narrow a board by a text."""
    shown.wish_for(replace(shown.wish, filter=Filter(text=text)), shown.taken_at)


def board(*locks: Lock) -> Board:
    """A board that has seen these at the start."""
    made = Board()
    see(made, snapshot(locks))
    return made


def names(shown: Board) -> list[str]:
    """The resource ids that are listed, in order."""
    return [lock.resource_id for lock in shown.rows]


def text(*lines: Line) -> str:
    """What lines say."""
    return "\n".join("".join(span.text for span in line) for line in lines)
