"""A file that lines are added to, whatever happens to it meanwhile: moved away, deleted, its disk full for a while."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from lockwatch.core.errors import LockwatchError
from lockwatch.core.text import clean

_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
"""Not to wait: where the path names a pipe, nobody may ever read from it."""
_MODE: Final = 0o666
"""Less the user's umask, as for any file that the user makes: there is no secret in it."""
_DATABASE: Final = b"SQLite format 3\0"


class LogFile:
    """One file, opened to add lines. What could not be written is kept, and written first the next time.

    Raises:
        LockwatchError: it cannot be opened, or is something that lines had better not be added to.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._unwritten = b""
        self._begun = b""
        try:
            self._refuse_database()
            self._file = _opened(path)
        except OSError as error:
            raise LockwatchError(f"log file {self.reason_of(error)}") from error
        if self._ends_in_a_line():
            self._unwritten = b"\n"

    def add(self, lines: bytes) -> None:
        """Have whole lines written with the next `flush`."""
        self._unwritten += lines

    def flush(self) -> None:
        """Write what was added. Raises OSError; another try goes on where this one stopped."""
        self._follow()
        while self._unwritten:
            count = os.write(self._file, self._unwritten)
            written, self._unwritten = self._unwritten[:count], self._unwritten[count:]
            _whole, newline, begun = written.rpartition(b"\n")
            self._begun = begun if newline else self._begun + begun

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):
            os.close(self._file)

    def reason_of(self, error: OSError) -> str:
        """An error in one clean line, with the file's name."""
        return clean(f"{self._path}: {error.strerror or error}")

    def _follow(self) -> None:
        """If the path names another file by now, or none, go on in a new one, with whole lines."""
        here = os.fstat(self._file)
        try:
            there = self._path.stat()
            if (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino):
                return
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError:
            return
        following = _opened(self._path)
        self.close()
        self._file = following
        self._begun, self._unwritten = b"", self._begun + self._unwritten

    def _refuse_database(self) -> None:
        with suppress(OSError):
            if stat.S_ISREG(self._path.stat().st_mode):
                with self._path.open("rb") as file:
                    is_database = file.read(len(_DATABASE)) == _DATABASE
                if is_database:
                    raise LockwatchError(f"log file {clean(str(self._path))}: is an SQLite database")

    def _ends_in_a_line(self) -> bool:
        """Whether the last line has no end, as when a disk was full."""
        with suppress(OSError), self._path.open("rb") as file:
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                return file.read(1) != b"\n"
        return False


def _opened(path: Path) -> int:
    file = os.open(path, _FLAGS, _MODE)
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    raise OSError(None, "is not a file that lines can be added to")
