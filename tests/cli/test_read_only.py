"""Under --read-only no verb changes a database, however that was asked for."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import lockwatch
from lockwatch import settings
from lockwatch.plans import Phase, PlanState
from tests.cli.running import Cli, on_terminal, spawn
from tests.plans.placing import put
from tests.support import execute, insert_row, path_of

FUTURE = "2999-01-01T00:00:00.000000Z"
WRITES = [
    "acquire plan/new --owner a",
    "renew plan/held --owner a",
    "renew plan/held --fence 1",
    "release plan/held --owner a",
    "release plan/held --fence 1",
    "purge",
    "purge --json",
    "run plan/new -- true",
    "plans create import --project shop",
    "plans advance p1",
    "plans start p1",
    "plans complete p1",
    "plans fail p1 --reason x",
    "plans constrain p1 --reason x",
    "plans retry p1",
    "plans revert p1",
    "plans cancel p1",
    "plans recover",
    "db upgrade",
]
READS = ["list", "show plan/held", "purge --dry-run", "plans list", "plans show p1", "diagnostics", "db current"]
NEITHER = ["databases", "dashboard", "demo"]
"""They touch no database of the user's, or need a terminal."""


@pytest.fixture
def full(url: str) -> str:
    """A database with a live lock, a stale one, and a plan whose run somebody left."""
    insert_row(url, "plan/held", "a", expires_at=FUTURE)
    insert_row(url, "plan/stale", "b")
    put(url, Phase.EXECUTE, PlanState.PROCESSING)
    execute(url, "UPDATE plan_runs SET is_manual = 0")
    return url


@contextmanager
def _left_as_it_is(url: str) -> Iterator[None]:
    folder = path_of(url).parent
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    yield
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


@contextmanager
def _as_nobody() -> Iterator[None]:
    """Permission bits do not bind root: act as nobody for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("call", WRITES)
def test_a_verb_that_could_write_is_refused_and_changes_no_byte(cli: Cli, full: str, call: str) -> None:
    with _left_as_it_is(full):
        answer = cli("--read-only", *call.split())
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == "lockwatch: read-only, nothing was changed: opened with --read-only\n"


@pytest.mark.parametrize("call", READS)
def test_a_verb_that_reads_answers_as_ever_and_changes_no_byte(cli: Cli, full: str, call: str) -> None:
    usual = cli(*call.split())
    with _left_as_it_is(full):
        answer = cli("--read-only", *call.split())
    assert (answer.code, answer.err) == (usual.code, usual.err)
    assert answer.out.splitlines()[0].split()[:2] == usual.out.splitlines()[0].split()[:2]


def test_no_verb_is_forgotten_here(cli: Cli) -> None:
    verbs = {
        f"{group}{name}" for group in ("", "plans ", "db ") for name in _commands(cli(*group.split(), "--help").out)
    } - {"plans", "db"}
    known = [*WRITES, *READS, *NEITHER]
    assert [verb for verb in sorted(verbs) if not any(f"{call} ".startswith(f"{verb} ") for call in known)] == []
    assert len(verbs) > 20


def _commands(text: str) -> list[str]:
    return re.findall(r"^  (\w+) ", text.partition("Commands:")[2], re.MULTILINE)


@pytest.mark.parametrize("how", ["environment", "config of all", "config of one"])
def test_however_it_is_asked_for_the_reason_says_so(
    cli: Cli, full: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    config = tmp_path / "home" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    of_one = f'[databases.prod]\nurl = "{full}"\nread_only = true'
    config.write_text({"environment": "", "config of all": "read_only = true", "config of one": of_one}[how])
    monkeypatch.setenv(settings.CONFIG, str(config))
    if how == "environment":
        monkeypatch.setenv(settings.READ_ONLY, "yes")
    reasons = {
        "environment": "LOCKWATCH_READ_ONLY is set",
        "config of all": "read_only is set in config.toml",
        "config of one": "databases.prod.read_only is set in config.toml",
    }
    with _left_as_it_is(full):
        answer = cli("purge", *(("--on", "prod") if how == "config of one" else ()))
    assert (answer.code, answer.err) == (1, f"lockwatch: read-only, nothing was changed: {reasons[how]}\n")


def test_a_flag_lifts_what_the_environment_and_the_config_ask_for(
    cli: Cli, full: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(settings.READ_ONLY, "1")
    assert cli("--no-read-only", "release", "plan/held", "--owner", "a").code == 0
    assert execute(full, "SELECT count(*) FROM locks") == [(1,)]


def test_the_command_is_not_run_where_its_lock_cannot_be_taken(full: str, tmp_path: Path) -> None:
    answer = spawn("--database", full, "--read-only", "run", "plan/new", "--", "touch", str(tmp_path / "ran"))
    assert answer.code == 1
    assert not (tmp_path / "ran").exists()


def test_the_default_file_is_not_made_to_be_read(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(settings.DATABASE_URL)
    for call in ("list", "diagnostics", "plans list", "db upgrade"):
        assert cli("--read-only", *call.split()).code in (1, 2, 5)
    assert not (tmp_path / "home" / "data").exists()


@pytest.fixture
def sealed() -> Iterator[str]:
    """A database with a write-ahead log, at rest, in a folder that everybody may enter and nobody may write."""
    with tempfile.TemporaryDirectory() as name:
        url = f"sqlite:///{name}/locks.db"
        lockwatch.upgrade(url)
        insert_row(url, "plan/held", "a", expires_at=FUTURE)
        put(url, Phase.EXECUTE, PlanState.PROCESSING)
        Path(name).chmod(0o555)
        yield url
        Path(name).chmod(0o755)


@pytest.mark.parametrize("call", READS)
def test_a_database_that_cannot_be_written_can_be_read(cli: Cli, sealed: str, call: str) -> None:
    cli(*call.split())  # all that is imported late, while it can be read
    with _as_nobody(), _left_as_it_is(sealed):
        answer = cli("--database", sealed, *call.split())
    warned = call == "diagnostics"  # of an expiry that is so far ahead
    assert (answer.code, answer.err) == (1 if warned else 0, "")


DRAW = """
import os, sys
import lockwatch.tui
def draw(service, look, find_plan):
    print("DRAWN", service.read_only, len(service.snapshot().locks), find_plan("p1").id)
lockwatch.tui.run = draw
"""
BECOME_NOBODY = """
import atexit, contextlib, io
from lockwatch.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    main(["plans", "list", *sys.argv[1:]])  # all that is imported late, while it can be read
if os.geteuid() == 0:
    os.seteuid(65534)
    atexit.register(os.seteuid, 0)  # what measures the tests writes at the end
"""


@pytest.mark.parametrize("options", [("--read-only",), ("--read-only", "dashboard"), ("dashboard", "--read-only")])
def test_the_dashboard_opens_to_read_only_when_told_to(full: str, options: tuple[str, ...]) -> None:
    answer = on_terminal("--database", full, *options, code=DRAW, columns=300)
    assert (answer.code, answer.out) == (0, "DRAWN opened with --read-only 2 p1\n")


def test_the_dashboard_may_write_unless_told_otherwise(full: str) -> None:
    answer = on_terminal("--database", full, code=DRAW, columns=300)
    assert (answer.code, answer.out) == (0, "DRAWN None 2 p1\n")


def test_the_dashboard_opens_to_read_only_by_itself_where_it_cannot_write(sealed: str) -> None:
    with _left_as_it_is(sealed):
        answer = on_terminal("--database", sealed, code=DRAW + BECOME_NOBODY, columns=300)
    assert (answer.code, answer.out) == (0, "DRAWN the file cannot be written 1 p1\n")


def test_a_file_that_nobody_may_write_is_left_alone_by_root_too(full: str) -> None:
    path_of(full).chmod(0o444)
    answer = on_terminal("--database", full, code=DRAW, columns=300)
    assert (answer.code, answer.out) == (0, "DRAWN the file cannot be written 2 p1\n")
