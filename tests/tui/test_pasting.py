from __future__ import annotations

import pytest
from textual.events import Paste

from lockwatch.tui.pasting import Pastes

START, END = "\x1b[200~", "\x1b[201~"


def told(*parts: str) -> list[str | tuple[str]]:
    """What is told of what comes in parts; pastes in brackets of their own."""
    pastes = Pastes()
    said = [one for part in parts for one in pastes.split(part)]
    return [(one.text,) if isinstance(one, Paste) else one for one in said]


def test_what_is_typed_before_and_after_a_paste_stays_typed() -> None:
    assert told(f"j{START}q{END}k{START}r{END}") == ["j", ("q",), "k", ("r",)]


def test_ctrl_c_gets_out_of_a_paste_that_never_ends() -> None:
    assert told(START, "j", "x\x03", "q", "\x03", "q") == ["\x03", "q"]


def test_a_paste_is_one_harmless_line() -> None:
    assert told(f"{START}a\r\nb\tc\x1b[2J\x00{END}") == [("a b c␛[2J␀",)]


@pytest.mark.parametrize("cut", range(len(START), len(f"{START}yes{END}")))
def test_the_end_of_a_paste_may_come_in_parts(cut: int) -> None:
    whole = f"{START}yes{END}"
    assert told(whole[:cut], whole[cut:], "j") == [("yes",), "j"]


def test_a_paste_without_measure_keeps_its_start_and_is_ended_by_its_end() -> None:
    pastes = Pastes()
    told_before = [*pastes.split(START), *(one for _ in range(100) for one in pastes.split("x" * 4095))]
    assert told_before == []
    [paste, typed] = [*pastes.split(END[:3]), *pastes.split(f"{END[3:]}j")]
    assert isinstance(paste, Paste)
    assert paste.text.startswith("xxx")
    assert typed == "j"
    assert list(pastes.split("k")) == ["k"]


def test_what_has_no_start_is_typed_as_it_is() -> None:
    assert told("\x1b", "[200", f"~y{END}") == ["\x1b", "[200", f"~y{END}"]
