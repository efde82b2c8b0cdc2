"""A command in a process group of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess  # nosec B404
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from lockwatch.core.errors import LockwatchError
from lockwatch.core.text import clean


class CommandNotFoundError(LockwatchError):
    """There is no such command, or no interpreter for it."""

    exit_code = 127


class CommandNotExecutableError(LockwatchError):
    """The command is there, but cannot be executed."""

    exit_code = 126


class Command:
    """A command that runs with this process's stdin, stdout and stderr. On any way out of the `with` it has ended.

    Raises:
        CommandNotFoundError: there is none of that name, or no interpreter for it.
        CommandNotExecutableError: it cannot be executed.
    """

    def __init__(self, arguments: Sequence[str], variables: Mapping[str, str]) -> None:
        name = clean(arguments[0])
        if not name:  # the system would look for it in each folder, and call that forbidden
            raise CommandNotFoundError("the command is empty: there is no such command")
        try:
            # Running what one is told to run is the point. What this process has inherited beyond stderr is the
            # command's too, as with any other wrapper.
            self._process = subprocess.Popen(  # noqa: S603  # nosec B603
                arguments, env={**os.environ, **variables}, process_group=0, close_fds=False
            )
        except FileNotFoundError as error:
            is_there = shutil.which(arguments[0]) is not None
            missing = "the interpreter that it names is missing" if is_there else "there is no such command"
            raise CommandNotFoundError(f"{name}: {missing}") from error
        except (OSError, ValueError) as error:
            words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise CommandNotExecutableError(f"{name} cannot be executed: {words}") from error
        self.group = self._process.pid
        self.exit_code: int | None = None
        """Its own, or 128 and the number of the signal that ended it; None while it runs."""

    def look(self) -> int | None:
        """See what became of it: the signal that stopped it, if it has stopped since the last look."""
        if self.exit_code is not None:
            return None
        pid, status = os.waitpid(self.group, os.WNOHANG | os.WUNTRACED)
        if not pid:
            return None
        if os.WIFSTOPPED(status):
            return os.WSTOPSIG(status)
        self._note_end(status)
        return None

    def send(self, number: int) -> None:
        """Send a signal to all processes of its group that may be signalled and are still there."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.group, number)

    def has_group(self) -> bool:
        """Whether anything of its group is left."""
        try:
            os.killpg(self.group, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def _note_end(self, status: int) -> None:
        code = os.waitstatus_to_exitcode(status)
        self._process.returncode = code  # waited for here, since Popen tells nothing of stops
        self.exit_code = code if code >= 0 else 128 - code

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.exit_code is None:
            self.send(signal.SIGKILL)
            self._note_end(os.waitpid(self.group, 0)[1])
