"""Text in a terminal's cells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockwatch.cells import fit, pad, width
from lockwatch.core.text import clean

TEXTS = st.text(st.sampled_from("abc …数据😀e\u0301ñ·␛👩🏽한\u1100ก\u0e33🇩🇪") | st.characters()).map(clean)


@given(TEXTS, st.integers(0, 30))
def test_a_padded_text_takes_exactly_its_cells(text: str, cells: int) -> None:
    for right in (False, True):
        assert width(pad(text, cells, right=right)) == cells


@given(TEXTS, st.integers(0, 30))
def test_a_fitted_text_takes_at_most_its_cells(text: str, cells: int) -> None:
    fitted = fit(text, cells)
    assert width(fitted) <= cells
    if width(text) <= cells:
        assert fitted == text
    elif cells:
        assert "…" in fitted


@pytest.mark.parametrize(
    ("text", "cells", "fitted"),
    [
        ("import-customers", 16, "import-customers"),
        ("import-customers", 9, "impo…mers"),
        ("import-customers", 8, "imp…mers"),
        ("import-customers", 2, "…s"),
        ("import-customers", 1, "…"),
        ("import-customers", 0, ""),
        ("数据数据数据", 5, "数…据"),
        ("数据数据数据", 4, "…据"),
        ("😀😀😀", 3, "…"),
        ("", 0, ""),
    ],
)
def test_a_text_is_cut_in_the_middle(text: str, cells: int, fitted: str) -> None:
    assert fit(text, cells) == fitted


def test_padding_is_on_the_other_side() -> None:
    assert pad("ab", 5) == "ab   "
    assert pad("ab", 5, right=True) == "   ab"
    assert pad("数", 3, right=True) == " 数"


def test_wide_and_combining_characters_are_counted_in_cells() -> None:
    assert [width(text) for text in ("a", "数", "😀", "e\u0301", "", "␛")] == [1, 2, 2, 1, 0, 1]
