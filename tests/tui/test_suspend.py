"""Ctrl-Z and `fg`, and what is copied: on a real terminal."""

from __future__ import annotations

import base64
import signal
from pathlib import Path

from tests.support import insert_row
from tests.tui.terminal import terminal

LATER = "2999-01-01T00:00:00Z"


def is_stopped(pid: int) -> bool:
    """Whether a process is stopped, as job control does it."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] == "T"


def test_control_z_gives_the_terminal_back_and_going_on_draws_everything_again(url: str) -> None:
    insert_row(url, "plan/kept", expires_at=LATER)
    with terminal(url) as opened:
        opened.until(lambda: "plan/kept" in opened.screen())
        opened.type("\x1a")
        opened.until(lambda: is_stopped(opened.process.pid))
        assert opened.echoes()
        while opened.read(0.1):  # else what was on its way is taken for what is drawn later
            pass
        opened.overwrite("\x1b[2J\x1b[1;1Hwhat others wrote")
        opened.process.send_signal(signal.SIGCONT)
        opened.until(lambda: "plan/kept" in opened.screen() and "RESOURCE" in opened.screen())
        assert "what others wrote" not in opened.screen()
        assert not opened.echoes()
        opened.type("q")
        assert opened.end() == 0


def test_a_copy_goes_through_the_terminal_and_holds_nothing_that_acts(url: str) -> None:
    insert_row(url, "plan/a\x1b]52;c;aGk=\x07b", "own\x1b[2Jer", expires_at=LATER)
    with terminal(url) as opened:
        opened.until(lambda: "plan/a" in opened.screen())
        opened.type("c")
        opened.until(lambda: b"\x1b]52;c;" in opened.written)
        sent = opened.written.partition(b"\x1b]52;c;")[2].partition(b"\a")[0]
        copied = base64.b64decode(sent).decode()
    assert copied.startswith("plan/a␛]52;c;aGk=␇b  own␛[2Jer  fence 1  ")
    assert "\x1b" not in copied
