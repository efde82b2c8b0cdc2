"""Passwords out of a file that nobody else can read, or typed at a terminal; never shown."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from lockwatch import settings
from lockwatch.passwords import MAX_BYTES, PasswordError, read_password
from tests.support import ROOT


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A password file that only its owner can read."""
    path = tmp_path / "secret"
    path.touch(mode=0o600)
    path.write_text("of-file\nmore\n")
    return path


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A `config.toml` with a server's database."""
    path = tmp_path / "config.toml"
    path.write_text('[databases.prod]\nurl = "postgresql://app@db1/orders"\nlabel = "PROD"')
    return path


@pytest.mark.parametrize(
    ("written", "password"),
    [(b"p", "p"), (b"p\r\n", "p"), (b" p \n", " p "), (b"p@%:/\n\nx", "p@%:/"), (b"\xc3\xa9", "é")],
)
def test_the_first_line_is_the_password_to_the_letter(secret: Path, written: bytes, password: str) -> None:
    secret.write_bytes(written)
    assert read_password(secret) == password


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o601])
def test_a_file_that_others_may_use_is_refused_as_ssh_does(secret: Path, mode: int) -> None:
    secret.chmod(mode)
    with pytest.raises(PasswordError, match=rf"secret is open to others \(mode {mode:o}\): `chmod 600` it"):
        read_password(secret)


def test_a_file_of_somebody_else_is_theirs_to_protect(secret: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret.chmod(0o444)
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    assert read_password(secret) == "of-file"


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        (b"", "has nothing in its first line"),
        (b"\nhidden", "has nothing in its first line"),
        (b"\xffhidden", "is not UTF-8"),
        (b"hidden" * MAX_BYTES, f"has a first line of more than {MAX_BYTES} bytes"),
    ],
)
def test_what_is_no_password_is_an_error_that_holds_nothing_of_it(secret: Path, written: bytes, rule: str) -> None:
    secret.write_bytes(written)
    with pytest.raises(PasswordError) as refused:
        read_password(secret)
    assert (str(refused.value), refused.value.exit_code) == (f"the password file {secret} {rule}", 2)


def test_a_password_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PasswordError, match=r"none cannot be read \(No such file or directory\)"):
        read_password(tmp_path / "none")
    with pytest.raises(PasswordError, match=r"cannot be read \(Is a directory\)"):
        read_password(tmp_path)


ASK = """
from lockwatch import settings
print("GOT", settings.password_for(settings.choose(on="prod", ask_password=True)) == "typed pass", flush=True)
"""


def test_without_a_terminal_nobody_is_asked(config: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", ASK],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, settings.CONFIG: str(config), settings.PASSWORD: "of-environment"},
    )
    assert ended.returncode == 1
    assert "PasswordError: --ask-password needs a terminal to ask on" in ended.stderr


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (b"typed pass\n", "GOT True"),
        (b"\n", "PasswordError: no password for PROD"),
        (b"\x04", "PasswordError: no password"),
    ],
)
def test_a_password_that_is_typed_is_not_echoed(config: Path, typed: bytes, answer: str) -> None:
    controller, terminal = pty.openpty()
    own_terminal = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)"
    with subprocess.Popen(
        [sys.executable, "-c", own_terminal + ASK],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
        cwd=ROOT,
        env={**os.environ, settings.CONFIG: str(config)},
    ):
        os.close(terminal)
        asked = _read_until(controller, b"orders): ")
        os.write(controller, typed)
        answered = _read_until(controller, None)
    os.close(controller)
    assert asked == b"Password for PROD (postgresql://app@db1/orders): "
    assert answer in answered.decode()
    assert b"typed" not in answered.replace(b"was typed", b"")


def _read_until(controller: int, end: bytes | None) -> bytes:
    seen = b""
    while (end is None or not seen.endswith(end)) and select.select([controller], [], [], 60)[0]:
        try:
            chunk = os.read(controller, 1024)
        except OSError:  # Linux says so when the other end is closed
            break
        if not chunk:
            break
        seen += chunk
    return seen
