"""The leases that a dialog is about: pinned as they were seen, looked at again with every poll.

A renewed one is pinned anew, one that went or cannot be settled any more drops out, and none ever joins.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from lockwatch.core.model import DEFAULT_LOCK_TTL_SECS, Lock, Outcome, OutcomeKind
from lockwatch.core.text import clean
from lockwatch.tui.board import Board
from lockwatch.tui.diff import lease_of
from lockwatch.tui.orders import Order, Verb

ALIVE = "its holder is alive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """A lease to settle, as it was known at `as_of`; `news` is what happened to it since the dialog opened."""

    lock: Lock
    as_of: datetime
    news: str | None = None
    news_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A lease that is left alone after all, and why; clean text."""

    lock: Lock
    why: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """What a dialog offers to do. `hidden` counts the stale leases that the filter hides, which stay."""

    verb: Verb
    pins: tuple[Pin, ...]
    dropped: tuple[Dropped, ...] = ()
    hidden: int = 0
    ttl_seconds: float = DEFAULT_LOCK_TTL_SECS

    def recheck(self, board: Board, now: datetime) -> Pinned:
        """The same, with what is known now."""
        return self._with(_look_again(pin, self.verb, board, now) for pin in self.pins)

    def after(self, outcomes: Iterable[Outcome]) -> Pinned:
        """What is left to decide after an answer: leases that were renewed before it could be carried out."""
        return self._with(
            _reconsidered(outcome, self.verb)
            for outcome in outcomes
            if outcome.kind is OutcomeKind.RENEWED_SINCE and outcome.now is not None
        )

    def order(self) -> Order:
        """What to do if it is confirmed."""
        return Order(verb=self.verb, locks=tuple(pin.lock for pin in self.pins), ttl_seconds=self.ttl_seconds)

    def _with(self, found: Iterable[Pin | Dropped]) -> Pinned:
        pins: list[Pin] = []
        dropped = list(self.dropped)
        for one in found:
            if isinstance(one, Pin):
                pins.append(one)
            else:
                dropped.append(one)
        return replace(self, pins=tuple(pins), dropped=tuple(dropped))


def pin(verb: Verb, locks: Iterable[Lock], board: Board, *, hidden: int = 0, ttl_seconds: float = 300) -> Pinned:
    """Pin leases as they are on the screen."""
    pins = tuple(_pinned(lock, board) for lock in locks)
    return Pinned(verb=verb, pins=pins, hidden=hidden, ttl_seconds=ttl_seconds)


def _look_again(pin: Pin, verb: Verb, board: Board, now: datetime) -> Pin | Dropped:
    if board.taken_at >= pin.as_of:
        current = board.find(lease_of(pin.lock))
        if current is None:
            return _missing(pin, board)
        if current.expires_text != pin.lock.expires_text:
            pin = _pinned_anew(current, board)
    return _if_possible(pin, verb, now)


def _missing(pin: Pin, board: Board) -> Dropped:
    ghost = board.ghost(pin.lock)
    if ghost is None:
        return Dropped(lock=pin.lock, why="gone", at=board.taken_at)
    if ghost.successor is not None:
        why = f"taken over by {clean(ghost.successor.owner_id)} (fence {ghost.successor.id})"
    else:
        why = f"{ghost.done_by_us} by you" if ghost.done_by_us else "gone"
    return Dropped(lock=pin.lock, why=why, at=ghost.gone_at)


def _pinned(lock: Lock, board: Board) -> Pin:
    """A lease as the board has it, with the last that was seen of its holder."""
    renewal = board.renewals.last(lock)
    if renewal is None or renewal.expires_text != lock.expires_text:
        return Pin(lock=lock, as_of=board.taken_at)
    words = "renewed by you" if board.renewals.is_ours(lock) else ALIVE
    return Pin(lock=lock, as_of=board.taken_at, news=words, news_at=renewal.seen_at)


def _pinned_anew(lock: Lock, board: Board) -> Pin:
    pin = _pinned(lock, board)
    return pin if pin.news else replace(pin, news="its expiry was changed", news_at=board.taken_at)


def _if_possible(pin: Pin, verb: Verb, now: datetime) -> Pin | Dropped:
    """The pin, if the order still makes sense for it."""
    if verb is Verb.RENEW and pin.lock.is_expired(now):
        return Dropped(lock=pin.lock, why="expired: there is nothing to renew", at=pin.lock.expires_at or now)
    if verb is Verb.PURGE and not pin.lock.is_expired(now):
        why = f"not stale any more{f', {pin.news}' if pin.news else ''}"
        return Dropped(lock=pin.lock, why=why, at=pin.news_at or now)
    return pin


def _reconsidered(outcome: Outcome, verb: Verb) -> Pin | Dropped:
    current = outcome.now or outcome.seen
    return _if_possible(Pin(lock=current, as_of=outcome.at, news=ALIVE, news_at=outcome.at), verb, outcome.at)
