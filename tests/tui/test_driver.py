"""What reaches a terminal that shows no colours or few; and keys, which nobody looks for all the time."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator

import pytest
from textual import events
from textual.message import Message

from lockwatch.tui import driver as module
from lockwatch.tui.driver import SteadyDriver, without_colours
from tests.support import LONG_AGO, insert_row
from tests.tui.terminal import Terminal, terminal

LATER = "2999-01-01T00:00:00Z"
STYLES = re.compile(rb"\x1b\[([\d;]*)m")
COLOUR = re.compile(rb"(^|;)([34]\d|9[0-7]|10[0-7])(;|$)")


def shown(opened: Terminal, part: str) -> None:
    opened.until(lambda: part in opened.screen())


def look_around(opened: Terminal) -> None:
    """Move, open the help and a dialog, be refused something, and quit."""
    shown(opened, "▸")
    opened.type("j")
    opened.type("?")
    shown(opened, "Help")
    opened.type("q")
    opened.until(lambda: "Help" not in opened.screen())
    opened.type("r")
    shown(opened, "release it")
    opened.type("\x03")
    assert opened.end() == 0


@pytest.mark.parametrize("term", ["xterm-256color", "xterm"])
def test_where_no_colour_is_wanted_none_is_written(url: str, term: str) -> None:
    for number in range(60):
        insert_row(url, f"plan/p{number}", "A@b:1", expires_at=LONG_AGO if number < 3 else LATER)
    with terminal(url, environment={"NO_COLOR": "1", "TERM": term}) as opened:
        look_around(opened)
    styles = STYLES.findall(opened.written)
    assert [style for style in styles if COLOUR.search(style)] == []
    assert any(style.split(b";").count(b"7") for style in styles), "the line under the cursor is reversed"


def test_where_there_are_sixteen_colours_no_more_are_written(url: str) -> None:
    insert_row(url, "plan/p1", "A@b:1", expires_at=LONG_AGO)
    insert_row(url, "plan/p2", "A@b:1", expires_at=LATER)
    with terminal(url, environment={"TERM": "xterm", "COLORTERM": ""}) as opened:
        look_around(opened)
    styles = STYLES.findall(opened.written)
    assert any(COLOUR.search(style) for style in styles)
    assert [style for style in styles if b"38;" in style or b"48;" in style] == []


def test_escape_alone_is_a_key_however_long_nothing_came_before(url: str) -> None:
    insert_row(url, "plan/p1", "A", expires_at=LATER)
    with terminal(url) as opened:
        shown(opened, "plan/p1")
        opened.type("/nothing")
        shown(opened, "/ nothing")
        began = time.monotonic()
        opened.until(lambda: time.monotonic() - began > 1.5)
        opened.type("\x1b")
        opened.until(lambda: "/ nothing" not in opened.screen())


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("\x1b[38;2;1;2;3;48;2;4;5;6mx\x1b[0m", "x\x1b[0m"),
        ("\x1b[1;38;5;31;7mx", "\x1b[1;7mx"),
        ("\x1b[0;1;31;42mx", "\x1b[0;1mx"),
        ("\x1b[39;49mx\x1b[m", "x\x1b[m"),
        ("\x1b[97;107mx", "x"),
        ("\x1b[3;4mx\x1b[23;24m", "\x1b[3;4mx\x1b[23;24m"),
        ("\x1b[31;40Hx", "\x1b[31;40Hx"),
    ],
)
def test_a_style_loses_its_colours_and_nothing_else(written: str, left: str) -> None:
    assert without_colours(written) == left


class Reader(SteadyDriver):
    """The driver's reader of keys, on a pipe."""

    def __init__(self, keys: int) -> None:
        self.fileno = keys
        self.exit_event = threading.Event()
        self.messages: list[Message] = []
        self._debug = False
        self._pipe = os.pipe()

    def process_message(self, message: Message) -> None:
        self.messages.append(message)
        self.exit_event.set()


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_who_reads_keys_sleeps_when_none_has_come_for_a_while(
    monkeypatch: pytest.MonkeyPatch, pipe: tuple[int, int]
) -> None:
    now, waits = [0.0], []

    def wait(reading: list[int], _writing: object, _failing: object, seconds: float | None) -> tuple[list[int], ...]:
        waits.append(seconds)
        now[0] += 0.3 if seconds is not None else 60
        if seconds is None:
            os.write(pipe[1], b"j")
            return reading[:1], [], []
        return [], [], []

    monkeypatch.setattr(module, "select", wait)
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    reader = Reader(pipe[0])
    reader.run_input_thread()
    assert waits == [0.1, 0.1, 0.1, 0.1, None]
    (key,) = reader.messages
    assert isinstance(key, events.Key)
    assert key.key == "j"
    reader._close_pipe()


def test_a_terminal_that_went_away_ends_the_reading() -> None:
    empty, write = os.pipe()
    os.close(write)
    reader = Reader(empty)
    reader.run_input_thread()
    assert reader.messages == []
    reader._close_pipe()
    os.close(empty)
