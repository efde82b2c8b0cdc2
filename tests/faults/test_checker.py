"""The checker finds what it is there to find."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockwatch.core.monotonic import elapsed
from tests.faults.checker import Belief, check, inversions, overlaps
from tests.faults.journal import Journal


def _lease(fence: int, since: float, until: float, *, owner: str = "a", sent: float | None = None) -> Belief:
    asked = since - 0.1 if sent is None else sent
    return Belief(resource="plan/p1", fence=fence, owner=owner, sent=asked, since=since, until=until)


@pytest.mark.parametrize(
    ("first", "second", "is_overlap"),
    [((0, 5), (5, 9), False), ((0, 5), (4.9, 9), True), ((0, 9), (3, 4), True), ((0, 5), (6, 9), False)],
)
def test_two_leases_at_once_are_found(
    first: tuple[float, float], second: tuple[float, float], is_overlap: bool
) -> None:
    assert bool(list(overlaps([_lease(2, *second), _lease(1, *first)]))) is is_overlap


def test_a_lease_that_spans_others_overlaps_each_of_them() -> None:
    assert len(list(overlaps([_lease(1, 0, 10), _lease(2, 1, 2), _lease(3, 3, 4)]))) == 2


def test_a_later_grant_with_a_smaller_fence_is_found() -> None:
    assert list(inversions([_lease(1, 1, 2), _lease(2, 3, 4)])) == []
    assert len(list(inversions([_lease(2, 1, 2), _lease(1, 3, 4)]))) == 1
    assert list(inversions([_lease(2, 1, 2, sent=0), _lease(1, 1.5, 2, sent=0.5)])) == [], "asked for at once"


def test_what_workers_wrote_down_is_judged(tmp_path: Path) -> None:
    now = elapsed()
    one, two = Journal(tmp_path, "one"), Journal(tmp_path, "two")
    one.granted("plan/p1", 1, "a", now, now + 5)
    one.renewed("plan/p1", 1, now + 60)
    two.granted("plan/p1", 2, "b", elapsed(), now + 10)
    two.granted("plan/p2", 1, "b", elapsed(), now + 10)
    two.answered("conflict", 0.1)
    two.answered("DatabaseError", 9.0, "gone")
    two.crashed("Traceback")
    found = check(tmp_path, longest_call_seconds=5)
    assert (found.grants, found.conflicts, dict(found.errors)) == (3, 1, {"DatabaseError": 1})
    kinds = ["two leases at once", "took 9.0 s", "Traceback"]
    assert len(found.violations) == len(kinds)
    assert all(kind in violation for kind, violation in zip(kinds, found.violations, strict=True))


def test_a_lease_that_was_given_back_overlaps_nothing(tmp_path: Path) -> None:
    now = elapsed()
    one, two = Journal(tmp_path, "one"), Journal(tmp_path, "two")
    one.granted("plan/p1", 1, "a", now, now + 60)
    one.ended("plan/p1", 1)
    two.granted("plan/p1", 2, "b", elapsed(), now + 60)
    assert check(tmp_path, longest_call_seconds=5).violations == []


def test_one_fence_for_two_owners_is_found(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "one")
    for owner in ("a", "a", "b"):
        journal.granted("plan/p1", 1, owner, elapsed(), elapsed() + 1)
    (violation,) = check(tmp_path, longest_call_seconds=5).violations
    assert "granted to a and another" in violation
