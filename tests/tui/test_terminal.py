"""What reaches a terminal, and how it is left."""

from __future__ import annotations

import re
import signal
import time

import pytest

import lockwatch
from tests.support import insert_row, row
from tests.tui.terminal import PROGRAM, Terminal, terminal

HOSTILE = "a\x1b[2Jb\x1b[?1049l\x1b]52;c;aGk=\u202ec\x9b1md\x07[red]x[/red][@click=app.quit]y[/]([sys:LOCK=1\u2026])"
LEAVES_ALTERNATE_SCREEN = b"\x1b[?1049l"
RESTORING = (LEAVES_ALTERNATE_SCREEN, b"\x1b[?25h", b"\x1b[?2004l", b"\x1b[?1000l")
HANGS = (
    "import threading, lockwatch.core.watcher as watcher;"
    "watcher.Watcher.look = lambda self: threading.Event().wait();" + PROGRAM
)
CRASHES = (
    "import lockwatch.tui.header as header, lockwatch.tui.screens.watch as watch;"
    "watch.header = lambda secret, cells: secret.nothing[1];" + PROGRAM
)
LATER = "2999-01-01T00:00:00Z"


def shown(opened: Terminal, part: str) -> None:
    opened.until(lambda: part in opened.screen())


def restored(opened: Terminal) -> bool:
    """Whether the terminal was put back after the last frame, with nothing drawn after it."""
    after = opened.written.rpartition(LEAVES_ALTERNATE_SCREEN)[2]
    return all(code in opened.written for code in RESTORING) and b"\x1b[1;1H" not in after


def ended_by(number: signal.Signals) -> tuple[int, int]:
    """How a process may end by a signal: with its number, or by itself if a handler that was there before does that."""
    return 128 + number, -number


def test_no_control_of_the_data_reaches_the_terminal(url: str) -> None:
    for number in range(3):
        insert_row(url, f"plan/{number}{HOSTILE}", HOSTILE, expires_at=LATER if number else "2001-01-01T00:00:00Z")
    with terminal(url) as opened:
        shown(opened, "plan/0")
        opened.type("?")
        shown(opened, "Help")
        opened.type("q")
        opened.until(lambda: "Help" not in opened.screen())
        opened.type("/red\r")
        shown(opened, "3 of 3 shown")
        opened.type("r")
        shown(opened, "release it")
        time.sleep(0.4)
        opened.type("y")
        shown(opened, "released by you")
        opened.type("p")
        opened.type("q")
        opened.end()
    text = opened.written.decode()
    assert "\x1b[2J" not in text
    assert "]52;" not in text.replace("␛]52;", "")
    assert "\u202e" not in text
    assert "\x9b" not in text
    assert text.count("\x1b[?1049l") == 1
    assert "[red]x" in text
    assert "␛[2J" in text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
def test_a_signal_restores_the_screen_and_ends(url: str, number: signal.Signals) -> None:
    with terminal(url) as opened:
        shown(opened, "No locks.")
        opened.process.send_signal(number)
        assert opened.end() in ended_by(number)
    assert restored(opened)


def test_a_process_that_was_stopped_and_goes_on_takes_its_keys_and_ends_in_good_order(url: str) -> None:
    with terminal(url) as opened:
        shown(opened, "No locks.")
        for times in (2, 3):
            opened.process.send_signal(signal.SIGSTOP)
            opened.process.send_signal(signal.SIGCONT)
            opened.until(lambda times=times: opened.written.count(b"\x1b[?1049h") == times)  # type: ignore[misc]
        opened.type("?")
        shown(opened, "Help")
        opened.type("q")
        opened.until(lambda: "Help" not in opened.screen())
        opened.type("q")
        assert opened.end() == 0
        assert opened.echoes()
    assert restored(opened)


def test_an_earlier_handler_still_gets_its_signal(url: str) -> None:
    program = "import signal; signal.signal(signal.SIGTERM, lambda *_: print('cleaned up'));" + PROGRAM
    with terminal(url, program=program) as opened:
        shown(opened, "No locks.")
        opened.process.send_signal(signal.SIGTERM)
        assert opened.end() in ended_by(signal.SIGTERM)
    assert b"cleaned up" in opened.written.rpartition(LEAVES_ALTERNATE_SCREEN)[2]


@pytest.mark.parametrize("key", ["q", "\x03"])
def test_q_and_control_c_end_although_the_database_hangs(url: str, key: str) -> None:
    with terminal(url, program=HANGS) as opened:
        shown(opened, "connecting")
        began = time.monotonic()
        opened.type(key)
        assert opened.end() == 0
        assert time.monotonic() - began < 5
    assert restored(opened)


def test_a_paste_with_escape_sequences_in_it_is_text_and_no_key(url: str) -> None:
    insert_row(url, "plan/p1", "A@b:1", expires_at=LATER)
    with terminal(url) as opened:
        shown(opened, "plan/p1")
        opened.type("/")
        shown(opened, "▏")
        opened.type("\x1b[200~a\x1b[2J\x1b]52;c;aGk=\x07b\rq\ry\u202e\x1b[201~")
        shown(opened, "/ a␛[2J␛]52;c;aGk=␇b q y·▏")
        opened.type("\x1b")
        opened.until(lambda: "▏" not in opened.screen())
        opened.type("\x1b[200~q\x1bq\x1b[201~?")
        shown(opened, "Help")
        opened.type("\x03")
        assert opened.end() == 0
    assert b"\x1b]52;c" not in opened.written


def test_a_crash_restores_the_screen_and_is_one_line_without_values(url: str) -> None:
    with terminal(url, program=CRASHES) as opened:
        assert opened.end() == 1
    assert restored(opened)
    after = opened.written.rpartition(LEAVES_ALTERNATE_SCREEN)[2].decode()
    assert "LockwatchError: the dashboard failed: AttributeError" in after
    assert "╭" not in after
    assert "secret =" not in after
    log = re.search(r"details: (\S+\.log)", after)
    assert log is not None
    with open(log[1], encoding="utf-8") as details:  # noqa: PTH123 a path that a person reads
        assert "AttributeError" in details.read()


def test_a_terminal_that_goes_away_ends_it(url: str) -> None:
    with terminal(url, program="import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN);" + PROGRAM) as opened:
        shown(opened, "No locks.")
        opened.hang_up()
        opened.process.wait(timeout=20)


def test_a_storm_of_sizes_is_survived(url: str) -> None:
    insert_row(url, "plan/p1", "A", expires_at=LATER)
    with terminal(url) as opened:
        shown(opened, "plan/p1")
        for columns, lines in ((1, 1), (300, 2), (2, 100), (40, 14), (8, 3), (79, 5), (1, 1), (80, 24)) * 3:
            opened.resize(columns, lines)
            opened.read(0.02)
        opened.type("r")
        shown(opened, "Release this lock")
        for columns, lines in ((1, 1), (300, 2), (30, 4), (40, 14), (1, 1), (80, 24)):
            opened.resize(columns, lines)
            opened.read(0.02)
        time.sleep(0.5)
        opened.type("y")
        opened.until(lambda: row(url, "plan/p1") is None)
        shown(opened, "released by you")
        opened.type("q")
        assert opened.end() == 0


def test_a_repaint_writes_every_line_again(url: str) -> None:
    insert_row(url, "plan/p1", "A", expires_at=LATER)
    with terminal(url) as opened:
        shown(opened, "plan/p1")
        opened.overwrite("\x1b[5;1Ha message of the system\x1b[3;1H\x1b[2K")
        assert "message of the system" in opened.screen()
        assert "RESOURCE" not in opened.screen()
        opened.type("\x0c")
        shown(opened, "RESOURCE")
        opened.until(lambda: "message of the system" not in opened.screen())


def test_no_colour_is_needed(url: str) -> None:
    insert_row(url, "plan/p1", "A", expires_at=LATER)
    with terminal(url, environment={"NO_COLOR": "1"}) as opened:
        shown(opened, "▸ ● plan/p1")
        opened.type("r")
        shown(opened, "release it")
        opened.type("\x03")
        assert opened.end() == 0
    assert {
        channels for channels in re.findall(rb"[34]8;2;(\d+;\d+;\d+)", opened.written) if not is_grey(channels)
    } == set()


def is_grey(channels: bytes) -> bool:
    return len(set(channels.split(b";"))) == 1


def test_the_dashboard_needs_textual_only_when_it_runs() -> None:
    import subprocess
    import sys

    loaded = "import lockwatch.tui, sys; print([name for name in sys.modules if name.startswith(('textual', 'rich'))])"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert lockwatch.__all__
