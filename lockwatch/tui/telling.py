"""What became of an order, in the words of a notice."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from lockwatch.core.model import Outcome
from lockwatch.tui.messages import Settled
from lockwatch.tui.orders import Verb
from lockwatch.tui.words import number
from lockwatch.wording import count_outcomes, tell_outcome

Severity: TypeAlias = Literal["information", "warning", "error"]


class Notice(NamedTuple):
    """What is said, and how loudly. The words are clean."""

    words: str
    severity: Severity


def tell(answer: Settled) -> list[Notice]:
    """What was done, where it was stopped, and why it failed."""
    verb, outcomes = answer.order.verb, answer.outcomes
    notices = []
    if outcomes:
        rest = len(answer.order.locks) - len(outcomes)
        stopped = f" · stopped before {number(rest)} more" if answer.is_cancelled else ""
        is_done = not stopped and all(outcome.is_done for outcome in outcomes)
        notices.append(Notice(_words(verb, outcomes) + stopped, "information" if is_done else "warning"))
    elif answer.is_cancelled:
        notices.append(Notice(f"{verb}: stopped before anything was done", "warning"))
    if answer.failure is not None:
        notices.append(Notice(f"{verb} failed: {answer.failure}", "error"))
    return notices


def _words(verb: Verb, outcomes: list[Outcome]) -> str:
    """One lease in a sentence, several in counts."""
    return tell_outcome(verb.done, outcomes[0]) if len(outcomes) == 1 else count_outcomes(verb.done, outcomes)
