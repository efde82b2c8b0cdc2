"""Passwords of servers that ask for one: from wherever they come they open the database, and they are shown nowhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from lockwatch import settings
from tests.cli.running import Cli, spawn
from tests.contract.asking import PASSWORD, SHOWN, Asking
from tests.support import ROOT
from tests.tui.terminal import terminal

WRONG = f"{PASSWORD}!"
VERBS = (
    ("list",),
    ("show", "plan/p1"),
    ("acquire", "plan/p1", "--owner", "me"),
    ("renew", "plan/p1", "--owner", "me"),
    ("release", "plan/p1", "--owner", "me"),
    ("release", "plan/p1", "--fence", "1"),
    ("purge",),
    ("purge", "--dry-run"),
    ("run", "plan/p1", "--", "true"),
    ("plans", "list"),
    ("plans", "show", "p1"),
    ("plans", "create", "x", "--project", "shop"),
    ("plans", "recover"),
    ("db", "current"),
    ("db", "upgrade"),
)


def _in_url(asking: Asking, _folder: Path, password: str) -> Mapping[str, str]:
    return {settings.DATABASE_URL: asking.with_password(password)}


def _in_environment(asking: Asking, _folder: Path, password: str) -> Mapping[str, str]:
    return {settings.DATABASE_URL: asking.bare, settings.PASSWORD: password}


def _in_file(asking: Asking, folder: Path, password: str) -> Mapping[str, str]:
    secret, config = folder / "secret", folder / "config.toml"
    secret.touch(mode=0o600)
    secret.write_text(f"{password}\n", encoding="utf-8")
    config.write_text(f'default = "prod"\n[databases.prod]\nurl = "{asking.bare}"\npassword_file = "secret"\n')
    return {settings.CONFIG: str(config)}


SOURCES = {"url": _in_url, "environment": _in_environment, "file": _in_file}


def _on_terminal(*arguments: str) -> str:
    """A program that has a terminal of its own, and calls `lockwatch` with these and the URL that it is given."""
    return (
        "import fcntl, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); from lockwatch.cli import main;"
        f"sys.exit(main(['--database', sys.argv[1], *{arguments!r}]))"
    )


def _leaks(told: str) -> list[str]:
    return [part for part in SHOWN if part in told]


def _asked_for(asking: Asking, typed: str, *arguments: str) -> tuple[int, str]:
    """What comes of a call on a terminal whose user types a password: its exit code, and all that was on the screen."""
    with terminal(asking.bare, program=_on_terminal("--ask-password", *arguments)) as opened:
        opened.until(lambda: "Password for" in opened.screen())
        opened.type(f"{typed}\n")
        code = opened.end()
        return code, opened.written.decode()


@pytest.mark.parametrize("source", SOURCES)
def test_a_password_opens_the_database(asking: Asking, tmp_path: Path, source: str) -> None:
    env = SOURCES[source](asking, tmp_path, PASSWORD)
    taken = spawn("acquire", "plan/p1", "--owner", "me", env=env)
    listed = spawn("list", "--json", env=env)
    assert (taken.code, taken.err, listed.code, listed.err) == (0, "", 0, "")
    assert [lock["owner_id"] for lock in json.loads(listed.out)["locks"]] == ["me"]


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_every_verb_is_let_in_with_it_and_says_one_line_without(
    asking: Asking, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, verb: tuple[str, ...]
) -> None:
    cli = Cli(capsys)
    monkeypatch.setenv(settings.DATABASE_URL, asking.bare)
    monkeypatch.setenv(settings.PASSWORD, PASSWORD)
    assert cli(*verb).code in {0, 1, 4}
    monkeypatch.setenv(settings.PASSWORD, WRONG)
    refused = cli(*verb)
    assert (refused.code, refused.out, len(refused.err.splitlines())) == (5, "", 1)
    assert "refused the" in refused.err
    assert not _leaks(refused.err)


@pytest.mark.parametrize("source", SOURCES)
def test_a_wrong_password_is_one_line_without_it(asking: Asking, tmp_path: Path, source: str) -> None:
    refused = spawn("list", env=SOURCES[source](asking, tmp_path, WRONG))
    assert (refused.code, refused.out, len(refused.err.splitlines())) == (5, "", 1)
    assert refused.err.startswith(f"lockwatch: {_name(asking)}: the database refused the ")
    assert not _leaks(refused.err)


def _name(asking: Asking) -> str:
    place = asking.bare.rpartition("@")[2]
    address, _, database = place.partition("/")
    return f"{database}@{address}"


def test_diagnostics_say_what_is_wrong_without_the_password(asking: Asking) -> None:
    well = spawn("diagnostics", env=_in_environment(asking, Path(), PASSWORD))
    refused = spawn("diagnostics", "--json", env=_in_environment(asking, Path(), WRONG))
    assert (well.code in {0, 1}, refused.code) == (True, 2), well.out  # a server of the tests' own may forget
    (check,) = json.loads(refused.out)["checks"]
    assert (check["name"], check["status"]) == ("Database", "failure")
    assert "refused the" in check["message"]
    assert not _leaks(well.out + well.err + refused.out + refused.err)


def test_a_password_that_is_typed_opens_the_database(asking: Asking) -> None:
    code, told = _asked_for(asking, PASSWORD, "list")
    assert code == 0
    assert "RESOURCE" in told
    assert not _leaks(told)


def test_a_wrong_one_that_is_typed_is_refused_and_asked_for_once(asking: Asking) -> None:
    code, told = _asked_for(asking, WRONG, "plans", "recover")
    assert code == 5
    assert (told.count("Password for"), told.count("lockwatch: ")) == (1, 1)
    assert not _leaks(told)


@pytest.mark.parametrize("source", ["environment", "file"])
def test_nobody_sees_it_in_the_list_of_processes(asking: Asking, tmp_path: Path, source: str) -> None:
    list_all = "import subprocess; print(subprocess.run(['ps', '-ww', '-eo', 'args'], capture_output=True).stdout)"
    env = SOURCES[source](asking, tmp_path, PASSWORD)
    answer = spawn("run", "plan/p1", "--", sys.executable, "-c", list_all, env=env)
    assert (answer.code, answer.err) == (0, "")
    assert "lockwatch run plan/p1" in answer.out.replace("-m lockwatch", "lockwatch")
    assert not _leaks(answer.out)


CONNECT = """
import os, sys, lockwatch
lockwatch.connect(sys.stdin.readline(), password=os.environ.get("P")).now()
"""


def test_no_traceback_shows_it(asking: Asking) -> None:
    for url, password in ((asking.with_password(WRONG), None), (asking.bare, WRONG)):
        ended = subprocess.run(
            [sys.executable, "-c", CONNECT],
            input=url,
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**os.environ, **({"P": password} if password else {})},
            check=False,
        )
        assert "Traceback" in ended.stderr
        assert not _leaks(ended.stderr)


def test_the_dashboard_and_its_log_show_it_nowhere(asking: Asking, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with terminal(asking.bare, program=_on_terminal("--ask-password", "--log", str(log))) as opened:
        opened.until(lambda: "Password for" in opened.screen())
        opened.type(f"{PASSWORD}\n")
        opened.until(lambda: "live" in opened.screen())
        assert _name(asking).rpartition("@")[2] in opened.screen()
        spawn("acquire", "plan/p1", "--owner", "me", env=_in_environment(asking, Path(), PASSWORD))
        opened.until(lambda: "plan/p1" in opened.screen())
        opened.type("q")
        assert opened.end() == 0
        told = opened.written.decode()
    assert not _leaks(told + log.read_text())


def test_the_dashboard_with_a_wrong_one_is_one_line(asking: Asking) -> None:
    code, told = _asked_for(asking, WRONG)
    assert code == 5
    assert told.count("lockwatch: ") == 1
    assert "\x1b[?1049h" not in told
    assert not _leaks(told)
