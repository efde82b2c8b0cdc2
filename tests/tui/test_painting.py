"""Only the cells that changed are written, and the terminal shows the same as if all had been."""

from __future__ import annotations

import io
import random
from typing import Any

import pyte
import pytest
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate
from textual.strip import Strip

from lockwatch.tui.painting import SparingUpdate, transition
from tests.tui.terminal import Terminal, terminal

STYLES = [
    Style(color="#c8ccd4", bgcolor="#0f1216"),
    Style(color="#c8ccd4", bgcolor="#0f1216", bold=True),
    Style(color="#f2686d", bgcolor="#0f1216"),
    Style(color="#0f1216", bgcolor="#f2686d", bold=True),
    Style(color="red", bgcolor="default"),
    Style(bgcolor="#1e2a3a", italic=True),
    Style(reverse=True),
    Style(dim=True, color="green"),
    Style(),
]
WIDTH, HEIGHT, CUT = 40, 6, 31


def console() -> Console:
    return Console(file=io.StringIO(), color_system="truecolor", force_terminal=True)


def screen(*written: str) -> pyte.Screen:
    made = pyte.Screen(WIDTH, HEIGHT)
    stream = pyte.Stream(made)
    for data in written:
        stream.feed(data)
    return made


def cells(shown: pyte.Screen) -> list[list[Any]]:
    return [[shown.buffer[y][x] for x in range(WIDTH)] for y in range(HEIGHT)]


def strip(chance: random.Random, length: int) -> Strip:
    segments, room = [], length
    while room > 0:
        text = chance.choice(["a", "bcd", "数", " ", "    ", "━╾", "long text"])
        segment = Segment(text, chance.choice(STYLES))
        if segment.cell_length <= room:
            segments.append(segment)
            room -= segment.cell_length
    return Strip(segments, length)


def lines(chance: random.Random) -> list[dict[int, Strip | None]]:
    return [{0: strip(chance, CUT), CUT: strip(chance, WIDTH - CUT)} for _ in range(HEIGHT)]


def whole(chops: list[dict[int, Strip | None]]) -> list[tuple[int, int, int]]:
    return [(y, 0, WIDTH) for y in range(len(chops))]


def painted(kind: type[ChopsUpdate], chops: list[dict[int, Strip | None]], spans: list[tuple[int, int, int]]) -> str:
    return kind(chops, spans, [[CUT, WIDTH]] * HEIGHT).render_segments(console())


def test_the_terminal_shows_what_it_would_show_if_whole_lines_were_written() -> None:
    chance = random.Random(3)  # noqa: S311 no secret: the same lines in every run
    for _ in range(60):
        before, after = lines(chance), lines(chance)
        first = painted(ChopsUpdate, before, whole(before))
        assert cells(screen(first, painted(SparingUpdate, after, whole(after)))) == cells(
            screen(first, painted(ChopsUpdate, after, whole(after)))
        )


def test_nothing_is_written_outside_of_the_cells_that_are_asked_for() -> None:
    chance = random.Random(5)  # noqa: S311 no secret: the same lines in every run
    for _ in range(60):
        before, after = lines(chance), lines(chance)
        left = chance.randrange(WIDTH - 1)
        right = chance.randrange(left + 1, WIDTH + 1)
        drawn = screen(
            painted(ChopsUpdate, before, whole(before)), painted(SparingUpdate, after, [(2, left, right), (4, 0, 3)])
        )
        old, new = (cells(screen(painted(ChopsUpdate, chops, whole(chops)))) for chops in (before, after))
        shown = cells(drawn)
        for y, x in ((y, x) for y in range(HEIGHT) for x in range(WIDTH)):
            is_asked_for = (y == 2 and left < x < right - 1) or (y == 4 and x < 2)
            is_beside = (y == 2 and left - 1 <= x <= right) or (y == 4 and x <= 3)  # halves of wide characters
            if is_asked_for and new[y][x].data.isascii():
                assert shown[y][x] == new[y][x]
            elif not is_beside:
                assert shown[y][x] == old[y][x]


def test_a_digit_that_changes_costs_a_jump_a_style_and_a_digit() -> None:
    line = Strip([Segment("plan/p1   ", STYLES[0]), Segment("41s", STYLES[2])], 13)
    chops: list[dict[int, Strip | None]] = [{0: line}] * HEIGHT
    written = SparingUpdate(chops, [(1, 11, 12), (2, 11, 12), (3, 11, 12)], [[13]] * HEIGHT).render_segments(console())
    style = "\x1b[38;2;242;104;109;48;2;15;18;22m"
    assert written == f"\x1b[2;12H{style}1\x1b[3;12H1\x1b[4;12H1\x1b[39;49m"


def test_a_style_is_left_for_any_other_as_a_terminal_needs_it() -> None:
    for before in STYLES:
        for after in STYLES:
            said = transition(Style(), before, ColorSystem.TRUECOLOR) + "x" + transition(
                before, after, ColorSystem.TRUECOLOR
            ) + "y"  # fmt: skip
            alone = transition(Style(), after, ColorSystem.TRUECOLOR) + "y"
            assert screen(said).buffer[0][1] == screen(alone).buffer[0][0]


PROGRAM = "import runpy; runpy.run_module('tests.tui.painting_program', run_name='__main__')"


def shown_on(opened: Terminal) -> list[list[Any]]:
    """What is seen in all cells, once nothing comes any more: of a blank its ground alone."""
    while opened.read(0.3):
        pass
    cells = [[opened._screen.buffer[y][x] for x in range(100)] for y in range(24)]
    return [[(cell.bg, cell.reverse) if cell.data == " " else cell for cell in line] for line in cells]


@pytest.mark.parametrize("keys", ["cccc", "cjjkcjjjkkcc", "chchcc", "ccncccjcc", "cmcccxcc", "cnmccxccc", "hcjmcxhcc"])
def test_what_was_painted_bit_by_bit_is_what_is_painted_in_one_go(url: str, keys: str) -> None:
    with terminal(url, program=PROGRAM) as opened:
        opened.until(lambda: "plan/" in opened.screen())
        for key in keys:
            opened.type(key)
            opened.read(0.05)
        piecemeal = shown_on(opened)
        opened.type("\x0c")
        assert shown_on(opened) == piecemeal
        opened.type("q")
        assert opened.end() == 0
