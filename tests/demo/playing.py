"""The demo in a process of its own, and what is left of it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

DEADLINE_SECS: Final = 30.0
"""How long anything may take on a busy machine before it counts as never."""

_SCRIPT: Final = """
import os, pathlib, signal, subprocess, sys
from lockwatch.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job has it ignored
popen = subprocess.Popen
def recorded(*arguments, **options):
    process = popen(*arguments, **options)
    with pathlib.Path(os.environ["TMPDIR"], "pids").open("a") as pids:
        pids.write(f"{process.pid}\\n")
    return process
subprocess.Popen = recorded
sys.exit(main(["demo", "--workers", "5", "--seconds", sys.argv[1]]))
"""


@contextmanager
def demo(folder: Path, seconds: float) -> Iterator[subprocess.Popen[str]]:
    """The demo of five workers as text, in a process of its own whose temporary files are in `folder`."""
    process = subprocess.Popen(
        _command(seconds),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=_environment(folder),
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def demo_on_terminal(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], Callable[[], str]]]:
    """The same on a terminal: with the dashboard. Also gives what it has written to the terminal so far."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    written = bytearray()
    process = subprocess.Popen(
        _command(600),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**_environment(folder), "TERM": "xterm-256color"},
    )
    os.close(theirs)
    reader = threading.Thread(target=_read_to_end, args=(ours, written))
    reader.start()
    with process:
        try:
            yield process, lambda: written.decode(errors="replace")
        finally:
            process.kill()
    reader.join(DEADLINE_SECS)
    os.close(ours)


def _command(seconds: float) -> list[str]:
    return [sys.executable, "-c", _SCRIPT, str(seconds)]


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(folder), "PYTHONUTF8": "1"}


def _read_to_end(terminal: int, written: bytearray) -> None:
    with suppress(OSError):  # how Linux says that nobody is left at the other side
        while some := os.read(terminal, 65536):
            written += some


def workers_of(folder: Path) -> list[int]:
    """The ids of all worker processes that the demo has started."""
    path = folder / "pids"
    return [int(line) for line in path.read_text().splitlines()] if path.exists() else []


def database_in(folder: Path) -> Path | None:
    """The demo's database, if it is there."""
    return next(folder.glob("lockwatch-demo-*/locks.db"), None)


def is_running(pid: int) -> bool:
    """Whether a process is there and has not ended: one that nobody waits for stays in the system's table."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        state = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except OSError:
        return not Path("/proc/self").exists()
    return state != "Z"


def until(happened: Callable[[], object], seconds: float = DEADLINE_SECS) -> bool:
    """Wait for something to happen: whether it did."""
    gives_up_at = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > gives_up_at:
            return False
        time.sleep(0.02)
    return True
