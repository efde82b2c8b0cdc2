"""What became of an operator's wish, in words: the same in the dashboard and at the command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from lockwatch.core.errors import describe_holder
from lockwatch.core.model import Outcome, OutcomeKind
from lockwatch.core.text import clean, duration

_ALSO: Final = {
    OutcomeKind.RENEWED_SINCE: "renewed since, left alone",
    OutcomeKind.TAKEN_OVER: "taken over since, left alone",
    OutcomeKind.GONE: "already gone",
    OutcomeKind.EXPIRED: "expired, nothing to renew",
    OutcomeKind.NOT_EXPIRED: "not expired, left alone",
    OutcomeKind.CHANGED: "changed since, left alone",
    OutcomeKind.UNREADABLE: "unreadable, left alone",
}


def count_outcomes(done: str, outcomes: Iterable[Outcome]) -> str:
    """A batch in one line: `2 released · 1 renewed since, left alone · 1 already gone`. `done` is a participle."""
    counts = Counter(outcome.kind for outcome in outcomes)
    words = {OutcomeKind.DONE: done, **_ALSO}
    return " · ".join(f"{counts[kind]} {words[kind]}" for kind in words if counts[kind]) or f"nothing {done}"


def tell_outcome(done: str, outcome: Outcome) -> str:
    """One lease in one sentence, with what is true now. Safe on a terminal."""
    seen, current, at = outcome.seen, outcome.now, outcome.at
    lease = f"{clean(seen.resource)} of {clean(seen.owner_id)} (fence {seen.id})"
    if outcome.is_done:
        until = f", {duration(current.remaining(at))} left" if current else ""
        return f"{done} {lease}{until}"
    if current is None:
        return f"{lease} is already gone; nothing was changed"
    match outcome.kind:
        case OutcomeKind.RENEWED_SINCE:
            return f"{lease} was renewed since, its holder is alive: {describe_holder(current, at)}; left alone"
        case OutcomeKind.TAKEN_OVER:
            return f"{lease} was taken over since: now held by {describe_holder(current, at)}; left alone"
        case OutcomeKind.EXPIRED:
            return f"{lease} expired {duration(-current.remaining(at))} ago: there is nothing to renew"
        case OutcomeKind.NOT_EXPIRED:
            return f"{lease} is not expired: {duration(current.remaining(at))} left; left alone"
        case OutcomeKind.UNREADABLE:
            return f"{lease}: its expiry {clean(current.expires_text)!r} cannot be read; left alone"
        case _:
            return f"{lease} was changed since: {describe_holder(current, at)}; left alone"
