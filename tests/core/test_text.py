"""Text made harmless, shortened, and durations in words."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockwatch.core.text import INVISIBLE, LONGEST, clean, duration, shorten

# Format characters that are seen: signs over digits, and joiners of hieroglyphs.
SEEN_FORMATS = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD, *range(0x13430, 0x13440)}


def test_no_character_at_all_leaves_anything_harmful() -> None:
    harmful = [
        f"{code:x}"
        for code in range(0x110000)
        for left in clean(chr(code))
        if unicodedata.category(left) in ("Cc", "Cs", "Zl", "Zp")
        or (unicodedata.category(left) == "Cf" and ord(left) not in SEEN_FORMATS)
        or unicodedata.bidirectional(left) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    ]
    assert harmful == []


def test_printable_text_stays_as_it_is() -> None:
    for text in ("", "plan/p1", "jób", "e\u0301", "数据", "😀", "a b", "[red]x[/red]", "שלום", "\N{NO-BREAK SPACE}"):
        assert clean(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "␛[2J"),
        ("\0\t\n\r\x7f", "␀␉␊␍␡"),
        ("\x9b2J\x85", "\ufffd2J\ufffd"),
        ("a\udcffb\ud800", "a\ufffdb\ufffd"),
        ("x\u202ey\u2066z\u200b\ufeff\u200d", f"x{INVISIBLE}y{INVISIBLE}z{INVISIBLE * 3}"),
        ("\u2028\u2029", INVISIBLE * 2),
        ("\ufffe\uffff", "\ufffd\ufffd"),
        ("\x1b]52;c;AAAA", "␛]52;c;AAAA"),
        ("\U000e0041\U0001d173\ufe0f\U0001bca0\ufff0", INVISIBLE * 5),
    ],
)
def test_what_a_terminal_would_act_on_becomes_a_mark(text: str, shown: str) -> None:
    assert clean(text) == shown


@given(st.text(st.characters()))
def test_each_character_is_cleaned_to_one_and_only_once(text: str) -> None:
    assert len(clean(text)) == len(text)
    assert clean(clean(text)) == clean(text)
    assert clean(text) == "".join(map(clean, text))


def test_a_text_beyond_all_measure_loses_its_middle() -> None:
    shown = clean("a" + "\x1b" * 10**6 + "z")
    assert (len(shown), shown[:2], shown[-2:]) == (LONGEST, "a␛", "␛z")
    assert clean("\x1b" * LONGEST) == "␛" * LONGEST


@given(st.binary())
def test_any_bytes_can_be_shown(stored: bytes) -> None:
    clean(stored.decode("utf-8", "surrogateescape")).encode()


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0s"),
        (0.999, "0s"),
        (-0.999, "0s"),
        (-0.0, "0s"),
        (1, "1s"),
        (-1, "-1s"),
        (59.999, "59s"),
        (60, "1m"),
        (119.9, "1m"),
        (3599.9, "59m"),
        (3600, "1h"),
        (-3600, "-1h"),
        (86_399, "23h"),
        (86_400, "1d"),
        (1e12, "11574074d"),
        (float("nan"), "–"),
        (float("inf"), "–"),
        (float("-inf"), "–"),
    ],
)
def test_a_duration_is_one_coarse_unit_rounded_down(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@given(st.text(), st.integers(1, 40))
def test_a_shortened_text_keeps_both_ends_and_its_limit(text: str, length: int) -> None:
    short = shorten(text, length)
    assert len(short) == min(len(text), length)
    if len(text) > length:
        head, _, tail = short.partition("…") if "…" not in text else (short[: (length - 1) // 2], "", "")
        assert text.startswith(head)
        assert text.endswith(tail)
    else:
        assert short == text
