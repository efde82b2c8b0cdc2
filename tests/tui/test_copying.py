from __future__ import annotations

from lockwatch.core.model import Outcome, OutcomeKind
from lockwatch.tui import copying
from tests.tui.making import at, board, lock, see, snapshot


def test_what_is_copied_of_a_lease_that_went_says_so() -> None:
    shown = board(lock(1, 60))
    shown.note("released", [Outcome(kind=OutcomeKind.DONE, seen=lock(1, 60), now=None, at=at(1))])
    see(shown, snapshot([], 2))
    (line,) = copying.lines(shown, at(3))
    assert "released by you 1s ago, 58s before its expiry" in line
    assert "left" not in line


def test_what_is_copied_of_a_late_holder_says_so() -> None:
    shown = board(lock(1, 30))
    for second in (10, 20, 30):
        see(shown, snapshot([lock(1, 30 + second)], second))
    see(shown, snapshot([lock(1, 60)], 50))
    (line,) = copying.lines(shown, at(50))
    assert "fence 1  10s left, its holder is late  as of" in line
