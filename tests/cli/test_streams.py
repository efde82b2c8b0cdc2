from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import Cli, spawn
from tests.support import ROOT, insert_row, path_of, raw, rows

SMALL_FILES_ONLY = """
import resource, sys
from lockwatch.cli import main
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop()), hard))
try:
    code = main()
except SystemExit as ended:
    code = ended.code
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
sys.exit(code)
"""
FUTURE = "2999-01-01T00:00:00.000000Z"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away_early_is_no_news(url: str, unbuffered: str) -> None:
    for number in range(50):
        insert_row(url, f"plan/p{number}", "a" * 4000)
    with subprocess.Popen(
        [sys.executable, "-m", "lockwatch", "list", "--database", url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 1


def test_what_could_not_be_listed_is_not_purged(url: str) -> None:
    insert_row(url, "plan/p1", "a")
    before = rows(url)
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer) as nowhere:
        done = subprocess.run(
            [sys.executable, "-m", "lockwatch", "purge", "--database", url],
            stdout=nowhere,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, b"")
    assert rows(url) == before


@pytest.mark.parametrize("call", ["list", "--help"])
def test_an_answer_that_cannot_be_written_is_told_in_one_line(url: str, tmp_path: Path, call: str) -> None:
    for number in range(50):
        insert_row(url, f"plan/p{number}", "a" * 4000)
    with (tmp_path / "answer").open("w") as answer:
        done = subprocess.run(
            [sys.executable, "-c", SMALL_FILES_ONLY, "--database", url, call, str(0 if call == "--help" else 2**16)],
            stdout=answer,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "lockwatch: File too large\n")


@pytest.mark.parametrize(
    ("redirection", "code", "complaint"),
    [(">&-", 1, "lockwatch: stdout is closed\n"), (">&- 2>&-", 1, ""), ("2>&-", 0, ""), ("<&-", 0, "")],
)
def test_closed_streams_are_no_traceback(url: str, redirection: str, code: int, complaint: str) -> None:
    command = f'"$0" -m lockwatch --database "$1" list {redirection}'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable, url], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (done.returncode, done.stderr) == (code, complaint)


def test_with_stderr_closed_a_complaint_does_not_end_up_among_the_answers(url: str) -> None:
    command = '"$0" -m lockwatch --database "$1" show plan/p1 2>&-'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable, url], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_letters_that_the_terminal_cannot_show_are_spelt_out(url: str) -> None:
    insert_row(url, "plan/日本", "a\x1b", expires_at=FUTURE)
    answer = spawn("list", "--database", url, env={"PYTHONIOENCODING": "ascii"})
    assert (answer.code, answer.err) == (0, "")
    assert r"plan/\u65e5\u672c" in answer.out
    assert r"a\u241b" in answer.out


@pytest.mark.parametrize("where", ["lockwatch.core.service.LockService.snapshot", "lockwatch.cli.app.run"])
def test_an_interrupt_ends_with_130_and_without_a_word(cli: Cli, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(where, interrupted)
    answer = cli("list")
    assert (answer.code, answer.out, answer.err) == (130, "", "")


def test_ctrl_c_while_the_database_is_busy_ends_with_130_and_without_a_word(url: str) -> None:
    waiting = """
import os, signal, sys
from lockwatch.cli import main
from lockwatch.core.service import LockService
LockService.snapshot = lambda self: os.kill(os.getpid(), signal.SIGINT)
sys.exit(main())
"""
    answer = spawn("list", "--database", url, interpreter=("-c", waiting))
    assert (answer.code, answer.out, answer.err) == (128 + signal.SIGINT, "", "")


@pytest.mark.parametrize("call", [("show", "plan/p1", "--json"), ("release", "plan/p1", "--owner", "a", "--json")])
def test_with_json_a_complaint_is_still_a_line_on_stderr(cli: Cli, call: tuple[str, ...]) -> None:
    answer = cli(*call)
    assert answer.code in (1, 4)
    assert answer.err.startswith("lockwatch: ")


def test_a_busy_database_ends_with_5(cli: Cli, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lockwatch.sqlite_file.BUSY_TIMEOUT_SECS", 0.05)
    with raw(url) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        answer = cli("acquire", "plan/p1", "--owner", "a")
    assert (answer.code, answer.out) == (5, "")
    assert answer.err.startswith(f"lockwatch: {path_of(url)}: another connection keeps the database locked")
