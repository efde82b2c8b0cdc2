from __future__ import annotations

import pytest

from lockwatch.cells import width
from lockwatch.tui.rows import CURSOR, GHOST, GLYPHS, MARK
from lockwatch.tui.substitutes import ERRORS
from tests.support import insert_row
from tests.tui.terminal import terminal


def in_latin(text: str) -> str:
    return text.encode("latin-1", ERRORS).decode("latin-1")


@pytest.mark.parametrize("text", ["● live", "plan/日本語", "é", "e\u0301", "━━╾───", "😀", "\ufffd"])
def test_a_line_is_as_wide_as_before(text: str) -> None:
    assert width(in_latin(text)) == width(text)


def test_what_the_encoding_has_is_written_as_it_is() -> None:
    assert in_latin("réindexation · \x1b[1m") == "réindexation · \x1b[1m"


def test_each_state_has_a_glyph_of_its_own() -> None:
    signs = [in_latin(glyph) for glyph in (*GLYPHS.values(), CURSOR, GHOST, MARK)]
    assert len(set(signs)) == len(signs)
    assert "".join(signs).isascii()


def test_a_terminal_of_another_encoding_shows_the_table(url: str) -> None:
    insert_row(url, "plan/日本", "A@b:1", expires_at="2999-01-01T00:00:00Z")
    latin = {"PYTHONIOENCODING": "latin-1:backslashreplace", "PYTHONUTF8": "0"}
    with terminal(url, environment=latin) as opened:
        opened.until(lambda: "> * plan/????" in opened.screen() and "* live" in opened.screen())
        assert "\\u" not in opened.screen()
        opened.type("\x03")
        assert opened.end() == 0
