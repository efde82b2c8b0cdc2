"""From a wish to the leases that it is about: the marked ones, or the one under the cursor; or why there are none."""

from __future__ import annotations

from datetime import datetime

from lockwatch.core.model import Lock
from lockwatch.tui.board import Board
from lockwatch.tui.diff import lease_of
from lockwatch.tui.orders import Verb
from lockwatch.tui.pins import Hidden, Pinned, pin
from lockwatch.tui.scene import Scene
from lockwatch.tui.words import plural


def ask(scene: Scene, verb: Verb) -> Pinned | str:
    """What a dialog would be about; or in words why there is nothing that this can be done to."""
    refusal = scene.refusal()
    if refusal is not None:
        return f"refused: {refusal}" if scene.read_only else f"refused while {scene.link().value}"
    now = scene.now()
    if now is None:
        return "there is no lock"
    if scene.board.marks:
        return _marked(scene.board, verb, now)
    return _stale(scene.board, now) if verb is Verb.PURGE else _selected(scene, verb, now)


def _selected(scene: Scene, verb: Verb, now: datetime) -> Pinned | str:
    """The lease under the cursor."""
    lock = scene.target()
    if scene.board.selected is None:
        return "there is no lock"
    if lock is None:
        return "this lease is gone: move the cursor to another"
    unfit = _why_not(verb, lock, now)
    return unfit or pin(verb, [lock], scene.board)


def _stale(board: Board, now: datetime) -> Pinned | str:
    """The stale leases that match the filter."""
    listed, hidden = board.stale(now)
    if listed:
        return pin(Verb.PURGE, listed, board, hidden=Hidden(left_out=hidden))
    return f"{plural(hidden, 'stale lock')}, but none matches the filter" if hidden else "no lock is stale"


def _marked(board: Board, verb: Verb, now: datetime) -> Pinned | str:
    """The marked leases, those that match the filter first and in the order of the rows."""
    marked = {lease: lock for lease in board.marks if (lock := board.find(lease)) is not None}
    if len(marked) == board.shown == board.total:
        shown = board.listed()
    else:
        shown = [lock for lock in board.listed() if lease_of(lock) in marked]
    hidden = marked.keys() - set(map(lease_of, shown))
    locks = [*shown, *(lock for lease, lock in marked.items() if lease in hidden)]
    fit = [lock for lock in locks if _why_not(verb, lock, now) is None]
    if not fit:
        return f"none of the marked leases: {_why_not(verb, locks[0], now)}" if locks else "no lease is marked any more"
    return pin(verb, fit, board, hidden=Hidden(pinned=frozenset(hidden)), unfit=len(locks) - len(fit))


def _why_not(verb: Verb, lock: Lock, now: datetime) -> str | None:
    """Why this cannot be done to a lease; None if it can."""
    if verb is Verb.PURGE and not lock.is_expired(now):
        return "it is not stale: there is nothing to purge"
    if verb is Verb.RENEW and lock.is_expired(now):
        return "this lease expired: there is nothing to renew"
    if verb is Verb.RENEW and not lock.is_readable:
        return "the expiry of this lease cannot be read: it can only be released"
    return None
