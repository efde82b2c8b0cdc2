"""Where a password comes from, if not out of a URL: a file that nobody else can read, or a person at a terminal."""

from __future__ import annotations

import os
import stat
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Final

from lockwatch.core.errors import LockwatchError
from lockwatch.core.text import clean

MAX_BYTES: Final = 4096
"""Longest password that is read from a file."""
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class PasswordError(LockwatchError):
    """There is no password where it was to be; the message says where, and holds nothing of it."""

    exit_code = 2


def read_password(path: Path) -> str:
    """The first line of a file. As ssh does with keys, a file of one's own that others may use is refused.

    One that belongs to somebody else is theirs to protect: a secret that the system mounts for a service, say.

    Raises:
        PasswordError: it cannot be read, others may use it, or its first line is no password.
    """
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            if found.st_uid == os.geteuid() and found.st_mode & _OTHERS:
                mode = stat.S_IMODE(found.st_mode)
                raise PasswordError(f"{_named(path)} is open to others (mode {mode:03o}): `chmod 600` it")
            line = file.readline(MAX_BYTES + 1)
    except OSError as error:
        raise PasswordError(f"{_named(path)} cannot be read ({error.strerror})") from None
    if len(line) > MAX_BYTES:
        raise PasswordError(f"{_named(path)} has a first line of more than {MAX_BYTES} bytes")
    try:
        password = line.removesuffix(b"\n").removesuffix(b"\r").decode()
    except UnicodeDecodeError:
        raise PasswordError(f"{_named(path)} is not UTF-8") from None
    if not password:
        raise PasswordError(f"{_named(path)} has nothing in its first line")
    return password


def ask_password(whose: str) -> str:
    """What a person types at the terminal, unseen. `whose` is clean.

    Raises:
        PasswordError: there is no terminal, or nothing was typed.
    """
    import getpass  # late: few are asked

    typed: str | None = None
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
        with warnings.catch_warnings(), suppress(EOFError):
            warnings.simplefilter("error", getpass.GetPassWarning)  # it would let the password be seen
            typed = getpass.getpass(f"Password for {whose}: ")
    except (OSError, getpass.GetPassWarning):
        raise PasswordError("--ask-password needs a terminal to ask on") from None
    if not typed:
        raise PasswordError(f"no password for {whose} was typed")
    return typed


def _named(path: Path) -> str:
    return f"the password file {clean(str(path))}"
