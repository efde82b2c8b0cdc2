"""A dashboard in a process of its own on a pseudo-terminal: what it writes, and what a terminal makes of it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping

import pyte

from tests.support import ROOT

PATIENCE_SECS = 20.0
PROGRAM = (
    "import sys, lockwatch, lockwatch.tui as tui; from lockwatch.tui.look import Look;"
    "tui.run(lockwatch.connect(sys.argv[1]), Look(name='orders.db', interval=0.2))"
)


class Terminal:
    """A process on a pseudo-terminal, and the screen that its output makes."""

    def __init__(self, process: subprocess.Popen[bytes], master: int, columns: int, lines: int) -> None:
        self.process = process
        self.written = b""
        self._master = master
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)

    def screen(self) -> str:
        """What stands on the screen."""
        return "\n".join(self._screen.display)

    def type(self, keys: str) -> None:
        """Type keys."""
        os.write(self._master, keys.encode())

    def resize(self, columns: int, lines: int) -> None:
        """Give the terminal another size."""
        self._screen.resize(lines, columns)
        set_size(self._master, columns, lines)
        self.process.send_signal(signal.SIGWINCH)

    def overwrite(self, text: str) -> None:
        """Write on the screen as another program would."""
        self._stream.feed(text.encode())

    def echoes(self) -> bool:
        """Whether the terminal shows what is typed, as it does unless a program took it."""
        return bool(termios.tcgetattr(self._master)[3] & termios.ECHO)

    def hang_up(self) -> None:
        """Close the terminal, as a window that is closed."""
        os.close(self._master)

    def until(self, holds: Callable[[], bool]) -> None:
        """Read until something holds."""
        deadline = time.monotonic() + PATIENCE_SECS
        while not holds():
            assert time.monotonic() < deadline, f"it never held:\n{self.screen()}"
            self.read(0.05)

    def end(self) -> int:
        """Read all that is left: how the process ended."""
        self.until(lambda: self.process.poll() is not None)
        while self.read(0.05):
            pass
        return self.process.wait()

    def read(self, seconds: float) -> bool:
        """Take in what comes within a time: whether anything did."""
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # on Linux, when the other side is closed
            return False
        self.written += data
        with contextlib.suppress(Exception):  # pyte does not know every sequence that is in use
            self._stream.feed(data)
        return bool(data)


def set_size(descriptor: int, columns: int, lines: int) -> None:
    """Tell a terminal its size."""
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))


@contextlib.contextmanager
def terminal(
    url: str,
    *,
    program: str = PROGRAM,
    columns: int = 100,
    lines: int = 24,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Terminal]:
    """A program (by default the dashboard over `url`) on a terminal."""
    master, slave = pty.openpty()
    set_size(slave, columns, lines)
    process = subprocess.Popen(
        [sys.executable, "-c", program, url],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=ROOT,
        env={**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **(environment or {})},
        start_new_session=True,
    )
    os.close(slave)
    try:
        yield Terminal(process, master, columns, lines)
    finally:
        process.kill()
        process.wait()
        with contextlib.suppress(OSError):
            os.close(master)
