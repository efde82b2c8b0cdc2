"""`lockwatch run` in real processes: started, watched, signalled, and on a terminal with a shell."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from tests.support import ROOT

DEADLINE_SECS: Final = 45.0
LOCKWATCH: Final = (sys.executable, "-m", "lockwatch")
TTL: Final = ("--ttl", "60")
STUBBORN: Final = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(sys.argv[1], "a") as lines:
    while True:
        print(time.time(), file=lines, flush=True)
        time.sleep(0.01)
"""
"""A program that goes on after SIGTERM, and writes down that it does."""


def wait_until(is_true: Callable[[], object], seconds: float = DEADLINE_SECS) -> None:
    """Look again and again until it is so."""
    give_up_at = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < give_up_at, "it never came to be"
        time.sleep(0.01)


def run(url: str, *arguments: str, given: str = "", **options: Any) -> subprocess.CompletedProcess[str]:
    """`lockwatch run` to its end."""
    with started(url, *arguments, **options) as process:
        out, err = process.communicate(given, timeout=DEADLINE_SECS)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@contextmanager
def started(url: str, *arguments: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """`lockwatch run` while it runs; killed at the end, with what it wraps."""
    with subprocess.Popen(
        [*LOCKWATCH, "run", "--database", url, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        **options,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[str]) -> str:
    """The next line of its stdout."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def end_of(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Its exit code and what it said on stderr."""
    _, err = process.communicate(timeout=DEADLINE_SECS)
    return process.returncode, err


def is_running(pid: int) -> bool:
    """Whether there is such a process, and it is no zombie."""
    return _state(pid) not in ("", "Z")


def is_stopped(pid: int) -> bool:
    """Whether such a process is stopped."""
    return _state(pid) == "T"


def _state(pid: int) -> str:
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return found.stdout.strip()[:1]


def times(path: Path) -> list[float]:
    """When the stubborn program wrote."""
    return [float(text) for text in path.read_text().splitlines() if text] if path.exists() else []


def handles(pid: int, number: int) -> bool:
    """Whether the process has a handler for the signal, where that can be told; else after a while."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        time.sleep(2)
        return True
    (caught,) = (text.split()[1] for text in status.read_text().splitlines() if text.startswith("SigCgt"))
    own_handlers = (1 << (number - 1)) | (1 << (signal.SIGUSR1 - 1))
    return int(caught, 16) & own_handlers == own_handlers


class Shell:
    """An interactive shell on a terminal of its own."""

    def __init__(self, url: str) -> None:
        variables = {
            **os.environ,
            "LOCKWATCH_DATABASE_URL": url,
            "PS1": "$ ",
            "TERM": "dumb",
            "HISTFILE": "",
            "LC_ALL": "C",
            "PYTHON": sys.executable,
            "RUN": " ".join((*LOCKWATCH, "run")),
        }
        self.pid, self._terminal = pty.fork()
        if not self.pid:
            os.chdir(ROOT)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"], variables)  # noqa: S606
        self._shown = ""

    def type(self, text: str) -> None:
        """Press these keys."""
        os.write(self._terminal, text.encode())

    def expect(self, text: str) -> str:
        """Wait until the terminal shows it: what came before it. Later calls look at what comes after it."""
        give_up_at = time.monotonic() + DEADLINE_SECS
        while text not in self._shown:
            left = give_up_at - time.monotonic()
            readable, _, _ = select.select([self._terminal], [], [], max(0.0, left))
            assert readable, f"{text!r} was never shown, but {self._shown!r}"
            self._shown += os.read(self._terminal, 65536).decode(errors="replace").replace("\r\n", "\n")
        before, _, self._shown = self._shown.partition(text)
        return before

    def foreground(self) -> int:
        """The process group that gets what is typed."""
        return os.tcgetpgrp(self._terminal)

    def close(self) -> None:
        """Hang up."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._terminal)


@contextmanager
def shell(url: str) -> Iterator[Shell]:
    """A shell for the length of a test, whose `$RUN` is `lockwatch run` on `url`."""
    opened = Shell(url)
    try:
        opened.expect("$ ")
        yield opened
    finally:
        opened.close()
