from __future__ import annotations

from lockwatch.tui.seen import Seen


def test_lines_that_were_jumped_over_were_not_seen() -> None:
    seen = Seen()
    seen.note(9, 20, range(4))
    seen.note(9, 20, range(6, 10))
    assert not seen.is_enough
    seen.note(9, 20, range(2, 6))
    seen.note(9, 20, range(6, 10))
    assert seen.is_enough


def test_a_text_that_is_wrapped_anew_must_be_seen_anew() -> None:
    seen = Seen()
    seen.note(4, 60, range(4))
    assert seen.is_enough
    seen.note(9, 20, range(4))
    assert not seen.is_enough
    seen.note(9, 20, range(4, 9))
    assert seen.is_enough


def test_nothing_was_seen_before_anything_was_shown() -> None:
    assert not Seen().is_enough
