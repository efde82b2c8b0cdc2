"""What became of an operator's wish, in words."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lockwatch import Lock, Outcome, OutcomeKind
from lockwatch.wording import count_outcomes, tell_outcome
from tests.core.test_model import LOCK
from tests.support import START

AT = START + timedelta(seconds=20)
LATER = replace(LOCK, expires_at=START + timedelta(seconds=140), expires_text="later")
TAKEN = replace(LATER, id=9, owner_id="b", acquired_at=START + timedelta(seconds=10))
STALE = replace(LOCK, expires_at=START + timedelta(seconds=8))
ODD = replace(LOCK, expires_at=None, expires_text="soon\x1b[2J")


def _outcome(kind: OutcomeKind, now: Lock | None = None, seen: Lock = LOCK) -> Outcome:
    return Outcome(kind=kind, seen=seen, now=now, at=AT)


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (_outcome(OutcomeKind.DONE), "settled plan/p1 of a (fence 7)"),
        (_outcome(OutcomeKind.DONE, LATER), "settled plan/p1 of a (fence 7), 2m left"),
        (_outcome(OutcomeKind.GONE), "plan/p1 of a (fence 7) is already gone; nothing was changed"),
        (
            _outcome(OutcomeKind.RENEWED_SINCE, LATER),
            (
                "plan/p1 of a (fence 7) was renewed since, its holder is alive: "
                "a since 2020-02-29 12:00:00Z, for another 2m (fence 7); left alone"
            ),
        ),
        (
            _outcome(OutcomeKind.TAKEN_OVER, TAKEN),
            (
                "plan/p1 of a (fence 7) was taken over since: now held by "
                "b since 2020-02-29 12:00:10Z, for another 2m (fence 9); left alone"
            ),
        ),
        (_outcome(OutcomeKind.EXPIRED, STALE), "plan/p1 of a (fence 7) expired 12s ago: there is nothing to renew"),
        (_outcome(OutcomeKind.NOT_EXPIRED, LOCK), "plan/p1 of a (fence 7) is not expired: 40s left; left alone"),
        (
            _outcome(OutcomeKind.UNREADABLE, ODD),
            "plan/p1 of a (fence 7): its expiry 'soon␛[2J' cannot be read; left alone",
        ),
        (
            _outcome(OutcomeKind.CHANGED, STALE),
            (
                "plan/p1 of a (fence 7) was changed since: "
                "a since 2020-02-29 12:00:00Z, stale for 12s (fence 7); left alone"
            ),
        ),
    ],
)
def test_each_outcome_has_its_sentence(outcome: Outcome, words: str) -> None:
    assert tell_outcome("settled", outcome) == words


@pytest.mark.parametrize("kind", list(OutcomeKind))
def test_no_sentence_holds_a_raw_control_character(kind: OutcomeKind) -> None:
    nasty = replace(LOCK, owner_id="\x1b[2J\u202e", resource_id="\udcff\n", resource_type="\x00", expires_text="\x07")
    for now in (None, nasty, replace(nasty, expires_at=None), replace(nasty, expires_at=START)):
        assert tell_outcome("released", _outcome(kind, now, seen=nasty)).isprintable()


def test_a_batch_is_told_in_one_line() -> None:
    kinds = [OutcomeKind.GONE, OutcomeKind.DONE, OutcomeKind.RENEWED_SINCE, OutcomeKind.DONE]
    told = count_outcomes("released", (_outcome(kind) for kind in kinds))
    assert told == "2 released · 1 renewed since, left alone · 1 already gone"


@pytest.mark.parametrize("kind", list(OutcomeKind))
def test_every_outcome_is_counted(kind: OutcomeKind) -> None:
    assert count_outcomes("released", [_outcome(kind)] * 3).startswith("3 ")


def test_an_empty_batch_is_told_too() -> None:
    assert count_outcomes("released", []) == "nothing released"
