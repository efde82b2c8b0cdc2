"""Running the command line: in this process, in one of its own, and on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

from lockwatch.cli import main
from tests.support import ROOT

DEADLINE_SECS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of a call."""

    code: int
    out: str
    err: str


class Cli:
    """`lockwatch` in this process: `cli("show", "plan/p1")`."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Answer:
        """Its exit code, and what it printed."""
        self._capsys.readouterr()
        code = main(arguments)
        out, err = self._capsys.readouterr()
        return Answer(code=code, out=out, err=err)


def spawn(
    *arguments: str, env: Mapping[str, str] | None = None, interpreter: Sequence[str] = ("-m", "lockwatch")
) -> Answer:
    """`lockwatch` in a process of its own, away from any terminal."""
    done = subprocess.run(
        [sys.executable, *interpreter, *arguments],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        timeout=DEADLINE_SECS,
        check=False,
    )
    return Answer(code=done.returncode, out=done.stdout, err=done.stderr)


def on_terminal(*arguments: str, columns: int = 80, code: str = "", env: Mapping[str, str] | None = None) -> Answer:
    """`lockwatch` on a terminal of its own: its exit code and all that the terminal was sent, stderr included.

    `code` runs in that process first.
    """
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    program = f"{code}\nimport sys\nfrom lockwatch.cli import main\nsys.exit(main())"
    variables = {**os.environ, "TERM": "xterm-256color", **(env or {})}
    for name in ("COLUMNS", "LINES"):
        variables.pop(name, None)
    with subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=variables,
        cwd=ROOT,
    ) as process:
        os.close(terminal)
        sent = _read_all(controller)
        returned = process.wait(DEADLINE_SECS)
    os.close(controller)
    return Answer(code=returned, out=sent.decode().replace("\r\n", "\n"), err="")


def _read_all(controller: int) -> bytes:
    sent = b""
    deadline = time.monotonic() + DEADLINE_SECS
    while select.select([controller], [], [], max(0.0, deadline - time.monotonic()))[0]:
        try:
            chunk = os.read(controller, 65536)
        except OSError:  # Linux says so when the other end is closed
            break
        if not chunk:
            break
        sent += chunk
    return sent
