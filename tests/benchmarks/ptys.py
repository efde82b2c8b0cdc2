"""A program on a pseudo-terminal that is measured: what it costs, what it writes, and how soon it answers a key."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final, TypeAlias

import pyte

from tests.support import ROOT
from tests.tui.terminal import set_size

COLUMNS: Final = 120
LINES: Final = 40
_FRAME_ENDS: Final = b"\x1b[?2026l"
"""With it a program says that a frame is complete, once it has been told that the terminal knows what that is."""
_QUIET_SECS: Final = 0.04
"""When nothing has come for so long, what a key caused is on the screen, or its frame has yet to begin."""
_PATIENCE_SECS: Final = 10.0
_ANSWERS: Final = (
    (re.compile(rb"\x1b\[\?2026\$p"), b"\x1b[?2026;2$y"),
    (re.compile(rb"\x1b\[\?2048\$p"), b"\x1b[?2048;0$y"),
    (re.compile(rb"\x1b\[0?c"), b"\x1b[?62;22c"),
    (re.compile(rb"\x1b\[6n"), b"\x1b[1;1R"),
)
"""What a terminal says when it is asked what it can do."""

Display: TypeAlias = list[str]
"""The lines of a screen."""


class Pty:
    """A process on a terminal of 120 x 40 that answers as a real one does."""

    def __init__(self, process: subprocess.Popen[bytes], master: int) -> None:
        self.process = process
        self.written = 0
        self._master = master
        self._unseen = b""
        self._screen = pyte.Screen(COLUMNS, LINES)
        self._stream = pyte.ByteStream(self._screen)

    @property
    def display(self) -> Display:
        """The screen as it stands."""
        return list(self._screen.display)

    def until(self, holds: Callable[[Display], bool]) -> float:
        """Read until something holds of the screen: when the frame that made it hold was complete (s)."""
        deadline = time.perf_counter() + _PATIENCE_SECS
        while time.perf_counter() < deadline:
            for at, data in self._frames():
                self._take_in(data)
                if holds(self.display):
                    return at
        return float("inf")

    def answer(self, key: str, holds: Callable[[Display, Display], bool]) -> float:
        """Type a key: seconds until what holds of the screen before and after was painted; infinite if it never is."""
        self.rest(_QUIET_SECS)
        before = self.display
        began = time.perf_counter()
        os.write(self._master, key.encode())
        return self.until(lambda after: holds(before, after)) - began

    def rest(self, seconds: float) -> None:
        """Let the program be for a time, and read what it writes meanwhile."""
        deadline = time.perf_counter() + seconds
        while (left := deadline - time.perf_counter()) > 0:
            if (data := self._read(left)) is not None:
                self._take_in(data)

    def count(self, seconds: float) -> tuple[float, float]:
        """Let it be, and say what that costs: seconds of a core and bytes, both for each second."""
        began, cpu, written = time.perf_counter(), self.cpu_seconds(), self.written
        self.rest(seconds)
        took = time.perf_counter() - began
        return (self.cpu_seconds() - cpu) / took, (self.written - written) / took

    def cpu_seconds(self) -> float:
        """Seconds that the process has spent on a core, in itself and in the system."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:  # noqa: PTH123 not a file of ours
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> float:
        """Memory that the process has in use, in MB."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:  # noqa: PTH123 not a file of ours
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) * 1024 / 1e6

    def _frames(self) -> Iterator[tuple[float, bytes]]:
        """What comes until it is quiet, in pieces that each end with a frame, and when each was there."""
        pieces: list[tuple[float, bytes]] = []
        deadline = time.perf_counter() + _PATIENCE_SECS / 10
        while time.perf_counter() < deadline and (data := self._read(_QUIET_SECS)) is not None:
            pieces.append((time.perf_counter(), data))
        rest = b""
        for at, data in pieces:
            *frames, rest = (rest + data).split(_FRAME_ENDS)
            yield from ((at, frame + _FRAME_ENDS) for frame in frames)
        if rest:
            yield pieces[-1][0], rest

    def _read(self, seconds: float) -> bytes | None:
        """What comes within a time; None if nothing does."""
        if not select.select([self._master], [], [], seconds)[0]:
            return None
        try:
            data = os.read(self._master, 65536)
        except OSError:  # on Linux, when the other side is closed
            return None
        self.written += len(data)
        self._reply(data)
        return data

    def _reply(self, data: bytes) -> None:
        for question, reply in _ANSWERS:
            for _ in question.findall(data):
                os.write(self._master, reply)

    def _take_in(self, data: bytes) -> None:
        with suppress(Exception):  # pyte does not know every sequence that is in use
            self._stream.feed(data)


@contextmanager
def program(arguments: Sequence[str]) -> Iterator[Pty]:
    """A program on such a terminal; it is killed at the end."""
    master, slave = pty.openpty()
    set_size(slave, COLUMNS, LINES)
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    for name in ("NO_COLOR", "PYTHONDONTWRITEBYTECODE"):  # what is installed has its bytecode beside it
        environment.pop(name, None)
    process = subprocess.Popen(
        arguments, stdin=slave, stdout=slave, stderr=slave, cwd=ROOT, env=environment, start_new_session=True
    )
    os.close(slave)
    try:
        yield Pty(process, master)
    finally:
        process.kill()
        process.wait()
        os.close(master)
