"""The leases that a dialog is about: pinned as they were seen, looked at again with every poll.

A renewed one is pinned anew, one that went or cannot be settled any more drops out, and none ever joins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from typing import Final

from lockwatch.core.model import Lock, Outcome, OutcomeKind
from lockwatch.core.text import clean
from lockwatch.tui.board import Board
from lockwatch.tui.diff import Changes, Gone, Lease, lease_of
from lockwatch.tui.orders import Order, Verb, renewal_ttl

ALIVE: Final = "its holder is alive"


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What happened to a pinned lease: since the dialog opened, or its last renewal before."""

    words: str
    at: datetime
    late_at: datetime | None = None
    """From when on a renewal is no sign of life any more: the next one is overdue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A lease that is left alone after all, and why; clean text."""

    lock: Lock
    why: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """What the filter hides: pinned leases that were marked before, and stale ones that are not pinned."""

    pinned: frozenset[Lease] = frozenset()
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """What a dialog offers to do to which leases, each as it was known last, in the order in which they are told."""

    verb: Verb
    locks: Mapping[Lease, Lock]
    news: Mapping[Lease, News]
    ttls: Mapping[Lease, float]
    dropped: tuple[Dropped, ...] = ()
    hidden: Hidden = Hidden()
    unfit: int = 0
    """How many of the marked ones this cannot be done to; they were left out from the start."""
    looked_at: datetime | None = field(default=None, compare=False)
    """When the table was looked at last: what nobody looked for is not missed."""
    answered: datetime | None = field(default=None, compare=False)
    """When an answer told what is known, if no look was taken in since: the next one may have begun before it."""

    def recheck(self, board: Board, changes: Changes) -> Pinned:
        """The same, with what a look showed; one that is older than the answer before it changes nothing."""
        if self.answered is not None:
            looked_at = replace(self, answered=None)
            return looked_at if board.taken_at < self.answered else looked_at.recheck(board, changes)
        found: dict[Lease, Lock | Dropped] = {}
        news = dict(self.news)
        for changed in changes.changed:
            lease = lease_of(changed.after)
            if lease in self.locks:
                news[lease] = _news(changed.after, board) or News(words="its expiry was changed", at=board.taken_at)
                found[lease] = changed.after
        for lease in self.locks.keys() & changes.gone.keys():
            found[lease] = _missing(changes.gone[lease], board, lease)
        return replace(self, news=news, looked_at=board.taken_at).with_found(found, board.taken_at)

    def pass_time(self, now: datetime) -> Pinned:
        """The same, without the leases whose time was up meanwhile, if that matters."""
        if self.verb is not Verb.RENEW:
            return self
        return self.with_found({lease: lock for lease, lock in self.locks.items() if lock.is_expired(now)}, now)

    def after(self, outcomes: Iterable[Outcome]) -> Pinned:
        """What is left to decide after an answer: leases that were renewed before it could be carried out."""
        again = [
            (lease_of(outcome.seen), outcome.now, outcome.at)
            for outcome in outcomes
            if outcome.kind is OutcomeKind.RENEWED_SINCE and outcome.now is not None
        ]
        if not again:
            return replace(self, locks={}, news={}, hidden=Hidden(), unfit=0)
        at = max(moment for _, _, moment in again)
        news = {lease: News(words=ALIVE, at=moment) for lease, _, moment in again}
        left = {lease: lock for lease, lock, _ in again}
        return replace(self, locks=left, news=news, answered=at, hidden=Hidden(), unfit=0).with_found(left, at)

    def order(self) -> Order:
        """What to do if it is confirmed."""
        ttls = tuple(self.ttls[lease] for lease in self.locks) if self.verb is Verb.RENEW else ()
        return Order(verb=self.verb, locks=tuple(self.locks.values()), ttls=ttls)

    @property
    def ttl_seconds(self) -> float | None:
        """The TTL of a renewal, if it is the same for all."""
        ttls = {self.ttls[lease] for lease in self.locks} if self.ttls else set()
        return ttls.pop() if len(ttls) == 1 else None

    def with_found(self, found: Mapping[Lease, Lock | Dropped], now: datetime) -> Pinned:
        """The same, with these leases as they were found now: pinned anew, or left out."""
        judged = {lease: self._judged(one, now) for lease, one in found.items()}
        if not judged:
            return self
        fresh = {lease: one for lease, one in judged.items() if isinstance(one, Lock)}
        kept = ((lease, lock) for lease, lock in self.locks.items() if lease in fresh or lease not in judged)
        locks = {lease: fresh.get(lease, lock) for lease, lock in kept}
        dropped = (one for one in judged.values() if isinstance(one, Dropped))
        return replace(self, locks=locks, dropped=tuple(chain(self.dropped, dropped)))

    def _judged(self, one: Lock | Dropped, now: datetime) -> Lock | Dropped:
        """The lease, if the order still makes sense for it."""
        if isinstance(one, Dropped):
            return one
        if self.verb is Verb.RENEW and one.is_expired(now):
            return Dropped(lock=one, why="expired: there is nothing to renew", at=one.expires_at or now)
        if self.verb is Verb.PURGE and not one.is_expired(now):
            news = self.news.get(lease_of(one))
            return Dropped(lock=one, why=f"not stale any more{f', {news.words}' if news else ''}", at=now)
        return one


def pin(verb: Verb, locks: Iterable[Lock], board: Board, *, hidden: Hidden = Hidden(), unfit: int = 0) -> Pinned:
    """Pin leases as they are on the screen; to be released, those first that may have somebody at work."""
    if verb is Verb.RELEASE:
        locks = sorted(locks, key=lambda lock: lock.is_expired(board.taken_at))
    by_lease = {lease_of(lock): lock for lock in locks}
    ttls = {}
    if verb is Verb.RENEW:
        ttls = {lease: renewal_ttl(board.lives.ttl_seconds(lock)) for lease, lock in by_lease.items()}
    news = {lease: told for lease, lock in by_lease.items() if (told := _news(lock, board))}
    return Pinned(verb=verb, locks=by_lease, news=news, ttls=ttls, hidden=hidden, unfit=unfit, looked_at=board.taken_at)


def _news(lock: Lock, board: Board) -> News | None:
    """The renewal that gave a lease the expiry it has, if it was seen."""
    renewal = board.lives.last(lock)
    if renewal is None or renewal.expires_text != lock.expires_text:
        return None
    if board.lives.is_ours(lock):
        return News(words="renewed by you", at=renewal.seen_at)
    return News(words=ALIVE, at=renewal.seen_at, late_at=renewal.late_at)


def _missing(gone: Gone, board: Board, lease: Lease) -> Dropped:
    done = board.done_by_us(lease)
    if gone.successor is not None:
        why = f"taken over by {clean(gone.successor.owner_id)} (fence {gone.successor.id})"
    else:
        why = f"{done} by you" if done else "gone"
    return Dropped(lock=gone.lock, why=why, at=board.taken_at)
