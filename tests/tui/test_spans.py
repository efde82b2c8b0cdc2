from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockwatch.cells import pad, width
from lockwatch.core.model import Lock
from lockwatch.tui.board import Board
from lockwatch.tui.columns import columns_for
from lockwatch.tui.editor import LONGEST, Editor
from lockwatch.tui.quiet import Quiet
from lockwatch.tui.ranking import Sort
from lockwatch.tui.rows import GLYPHS, bar, heading, row
from lockwatch.tui.spans import Line, Role, Span, apart, blanks, crop, differences, flow, width_of, wrap
from lockwatch.tui.wish import Standing
from lockwatch.tui.words import brief
from tests.tui.making import at, board, lock, see, snapshot, text

WIDTHS = (1, 2, 5, 13, 14, 25, 29, 30, 40, 49, 50, 60, 69, 70, 80, 99, 100, 120, 200, 400)


def drawn(shown: Board, one: Lock, cells: int, *, selected: bool = False) -> str:
    return text(row(shown, one, at(0), columns_for(cells), selected=selected))


@pytest.mark.parametrize("cells", WIDTHS)
def test_a_row_and_its_heading_fit_any_width(cells: int) -> None:
    one = lock(123456, 41, name="計画" * 40, owner="日本" * 40 + "@host:1", held=19)
    shown = board(one)
    assert width(drawn(shown, one, cells)) <= cells
    assert width(text(heading(columns_for(cells), Sort()))) <= cells


@given(st.text(max_size=300), st.text(max_size=300), st.sampled_from(WIDTHS))
def test_no_text_breaks_a_row(name: str, owner: str, cells: int) -> None:
    one = lock(1, 41, name=name or "p", owner=owner)
    said = drawn(board(one), one, cells)
    assert width(said) <= cells
    assert "\x1b" not in said
    assert "\n" not in said


def test_a_wide_row_shows_all() -> None:
    one = lock(4402, 41, name="mail-digest", owner="worker-1@c:17", held=19)
    assert drawn(board(one), one, 120).split() == [
        "●", "plan/mail-digest", "worker-1@c:17", "HELD", "41s", "━━━━━╾──", "19s", "60s", "4402",
    ]  # fmt: skip


def test_eighty_columns_drop_fence_and_ttl() -> None:
    one = lock(4402, 41, name="mail-digest", owner="worker-1@c:17", held=19)
    assert drawn(board(one), one, 80).split() == [
        "●", "plan/mail-digest", "worker-1@c:17", "HELD", "41s", "━━━━──", "19s",
    ]  # fmt: skip


def test_sixty_columns_drop_the_age() -> None:
    one = lock(4402, 41, name="mail-digest", owner="worker-1@c:17", held=19)
    assert drawn(board(one), one, 60).split() == ["●", "plan/mail-digest", "worker-1@c:17", "HELD", "41s"]


def test_forty_columns_keep_name_state_and_time_left() -> None:
    one = lock(4402, 41, name="import-customers", owner="worker-1@c:17", held=19)
    assert drawn(board(one), one, 40, selected=True).split() == ["▸●", "plan/import…stomers", "held", "41s"]


def test_fewer_columns_keep_one_legible_line() -> None:
    one = lock(4402, 41, name="mail", owner="worker-1@c:17", held=19)
    assert drawn(board(one), one, 20).split() == ["●", "plan/mail", "41s"]
    assert drawn(board(one), one, 12).split() == ["●plan/mail"]


@pytest.mark.parametrize(("left", "state"), [(60, "HELD"), (15, "EXPIRING"), (0, "STALE"), (None, "UNREADABLE")])
def test_a_state_is_a_word_and_a_glyph_and_not_a_colour_alone(left: float | None, state: str) -> None:
    one = lock(1, left, held=0 if left is None else 60 - left)
    said = drawn(board(one), one, 100)
    assert state in said
    assert GLYPHS[Standing(state.lower())] in said


def test_a_ghost_is_told_in_the_row() -> None:
    shown = board(lock(1, 40), lock(2, 50))
    see(shown, snapshot([lock(2, 50)], -3))
    assert drawn(shown, lock(1, 40), 80) == "  ┄ plan/p1   gone 3s ago, 43s before its expiry"


def test_a_ghost_is_told_briefly_where_there_is_no_room() -> None:
    shown = board(lock(1, 40), lock(2, 50))
    see(shown, snapshot([lock(2, 50)], -3))
    assert drawn(shown, lock(1, 40), 40) == " ┄ plan/p1 gone 3s ago"


def test_a_time_left_of_more_than_a_minute_is_coarse() -> None:
    one = lock(1, 119)
    assert "1m" in drawn(board(one), one, 80)


@given(st.floats(0, 1), st.integers(1, 20))
def test_a_bar_takes_its_cells_and_shows_that_something_is_left(share: float, cells: int) -> None:
    said = text(bar(share, cells, Role.HELD))
    assert width(said) == cells
    assert (said[0] in "━╾") == (share > 0)


def test_crop_cuts_the_span_that_does_not_fit_in_its_middle() -> None:
    assert text(crop((Span("ab"), Span("cdefgh"), Span("x")), 6)) == "abc…gh"
    assert crop((Span("ab"),), 0) == ()


def test_the_left_line_gives_way_to_the_right_one() -> None:
    assert text(apart((Span("a long name"),), (Span("right"),), 12)) == "a…ame  right"
    assert text(apart((Span("left"),), (), 6)) == "left  "


def test_groups_flow_over_lines() -> None:
    groups = [(Span("aaa"),), (Span("bbb"),), (Span("cccccccccccc"),)]
    assert [text(line) for line in flow(groups, 9)] == ["aaa   bbb", "cccc…cccc"]


@given(st.text(alphabet="ab 計", max_size=60), st.integers(2, 20))
def test_wrapped_lines_fit_and_lose_nothing(words: str, cells: int) -> None:
    lines = wrap(words, cells)
    assert all(width(line) <= cells for line in lines)
    assert "".join(lines).replace(" ", "") == words.replace(" ", "")


@given(st.lists(st.sampled_from(["a", "b", " ", "left", "right", "home", "end", "backspace", "delete", "ctrl+u",
                                 "ctrl+w", "ctrl+k", "f5"])))  # fmt: skip
def test_the_caret_stays_in_the_text(keys: list[str]) -> None:
    editor = Editor()
    for key in keys:
        editor = editor.insert(key) if len(key) == 1 else editor.press(key)
        assert 0 <= editor.caret <= len(editor.text)


def test_editing() -> None:
    editor = Editor().insert("one two")
    assert editor.press("ctrl+w").text == "one "
    assert editor.press("home").press("delete").text == "ne two"
    assert editor.press("left").press("backspace").text == "one to"
    assert editor.press("left").press("ctrl+k").text == "one tw"
    assert editor.press("left").press("ctrl+u").text == "o"
    assert editor.press("f5") == editor


def test_a_paste_is_one_clean_line() -> None:
    assert Editor().insert("plan/a\r\nb\tc\x1b[2J").text == "plan/a b c␛[2J"
    assert len(Editor().insert("x" * 10_000).text) == LONGEST


def test_a_key_counts_only_after_a_quiet_time() -> None:
    quiet = Quiet(since=0.0, seconds=0.3)
    assert not quiet.passes(0.2)
    assert not quiet.passes(0.45)
    assert quiet.passes(0.75)
    assert not quiet.passes(0.9)
    assert quiet.is_quiet(1.25)
    quiet.disturb(1.25)
    assert not quiet.passes(1.5)


def test_a_key_that_was_pressed_before_the_dialog_could_be_seen_does_not_count() -> None:
    assert not Quiet(since=10.0, seconds=0.3).passes(5.0)


def test_widths_are_those_of_cells() -> None:
    assert width_of((Span("計画"), Span("a"))) == 5


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (59, "59s"),
        (-61, "-1m"),
        (-999 * 86_400, "-999d"),
        (-9_465 * 86_400, "-25y"),
        (9_999 * 86_400, "27y"),
        (float("nan"), "–"),
    ],
)
def test_a_time_fits_its_column_however_long_it_is(seconds: float, words: str) -> None:
    assert brief(seconds) == words


PIECES = st.lists(st.sampled_from(["a", "b", "cc", "cd", "計", " ", "same words", "same wards"]), max_size=6)


@given(PIECES, PIECES, st.sampled_from(list(Role)))
def test_lines_are_alike_outside_of_what_is_said_to_differ(before: list[str], after: list[str], role: Role) -> None:
    cells = 24
    old, new = (crop(tuple(map(Span, texts)), cells) for texts in (before, after))
    new = tuple(span._replace(role=role) if span.text == "b" else span for span in new)
    places = differences(old, new, cells)
    assert all(left < right for left, right in places)
    assert all(left - before >= 5 for (_, before), (left, _) in pairwise(places))
    assert all(left >= 0 and right <= cells for left, right in places)
    shown: list[tuple[object, object]] = list(zip(cells_seen(old, cells), cells_seen(new, cells), strict=True))
    for left, right in places:
        shown[left:right] = [("", "")] * (right - left)
    assert all(one == other for one, other in shown)


def test_one_digit_that_changes_is_one_cell() -> None:
    name, state = Span("plan/nightly  "), Span("HELD", Role.HELD)
    before, after = (
        (name, state, Span(left), blanks(2), Span(held)) for left, held in (("  41s", "19s"), ("  40s", "20s"))
    )
    assert differences(before, before, 80) == []
    assert differences(before, (name, state, Span("  41s"), blanks(2), Span("19s")), 80) == []
    assert differences((name, state, Span("  41s")), (name, state, Span("  40s")), 80) == [(21, 22)]
    assert differences(before, after, 80) == [(21, 27)]


def test_a_longer_text_changes_all_that_comes_after_it() -> None:
    assert differences((Span("ab"), Span("c")), (Span("abd"), Span("c")), 10) == [(0, 10)]
    assert differences((Span("ab"),), (Span("ab"), Span("c")), 10) == [(2, 10)]


def cells_seen(line: Line, cells: int) -> list[tuple[str, Role]]:
    """What stands in each cell, and as what; as what does not matter to a blank beyond the line's end."""
    shown = [(cell, span.role) for span in line for cell in cells_of(span.text, width(span.text))]
    return shown + [(" ", Role.TEXT)] * (cells - len(shown))


def cells_of(said: str, cells: int) -> list[str]:
    """One entry for each cell; a wide character has two."""
    return [piece for character in pad(said, cells) for piece in (character, "+")[: width(character)]]
