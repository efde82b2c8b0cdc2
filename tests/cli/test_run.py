"""`lockwatch run`: exit codes, the command's surroundings, signals, and what happens when the lock is lost."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import lockwatch
from lockwatch.cli import main
from tests.running.wrapping import (
    LOCKWATCH,
    STUBBORN,
    TTL,
    end_of,
    handles,
    is_running,
    line,
    run,
    started,
    times,
    wait_until,
)
from tests.support import execute, path_of, row, rows

MORE_THAN_A_CALL_SECS = 30.0
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1)


# What comes back


def test_the_exit_code_is_the_commands_own_and_nothing_is_printed(url: str) -> None:
    answer = run(url, "plan/p1", "--", "sh", "-c", "exit 7")
    assert (answer.returncode, answer.stdout, answer.stderr) == (7, "", "")
    assert rows(url) == []


def test_a_command_that_a_signal_ended_gives_128_and_its_number(url: str) -> None:
    assert run(url, "plan/p1", "--", "sh", "-c", "kill -KILL $$").returncode == 128 + signal.SIGKILL


def test_the_command_knows_its_lock_and_has_this_processs_streams(url: str) -> None:
    script = 'cat; echo "$LOCKWATCH_RESOURCE $LOCKWATCH_OWNER $LOCKWATCH_FENCE"; echo complaint >&2'
    answer = run(url, "plan/p 1", "--owner", "me", "--", "sh", "-c", script, given="given\n")
    assert answer.stdout == "given\nplan/p 1 me 1\n"
    assert answer.stderr == "complaint\n"


def test_what_goes_wrong_beside_the_command_is_told_with_the_programs_name(url: str) -> None:
    answer = run(url, "plan/p1", "--", "sh", "-c", f"rm '{path_of(url)}'; echo complaint >&2")
    assert answer.returncode == 0
    first, *rest = answer.stderr.splitlines()
    assert first == "complaint"
    assert rest
    assert all(line.startswith("lockwatch: ") for line in rest), rest


def test_the_command_has_the_descriptors_that_lockwatch_was_given(url: str) -> None:
    read, write = os.pipe()
    os.write(write, b"through\n")
    answer = run(
        url, "plan/p1", "--", sys.executable, "-c", f"import os; print(os.read({read}, 7).decode())", pass_fds=[read]
    )
    assert answer.stdout == "through\n"
    os.close(read)
    os.close(write)


def test_the_lock_is_held_while_the_command_runs_by_an_owner_of_this_run_alone(url: str) -> None:
    with started(url, "plan/p1", *TTL, "--", "sh", "-c", "echo $LOCKWATCH_OWNER; read wait") as it:
        owner = line(it)
        held = row(url, "plan/p1")
        assert held is not None
        assert held[1] == owner.encode()
        code, _ = end_of(it)
    assert code == 1
    assert rows(url) == []


def test_options_of_the_command_are_the_commands(url: str) -> None:
    assert run(url, "plan/p1", "--", "echo", "--ttl", "--", "-h").stdout == "--ttl -- -h\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("plan/p1", "--", "no-such-command-anywhere"), 127),
        (("plan/p1", "--", ""), 127),
        (("plan/p1", "--", "/etc"), 126),
        (("plan/p1",), 2),
        (("plan", "--", "true"), 2),
        (("plan/p1", "--ttl", "4", "--", "true"), 2),
        (("plan/p1", "--wait", "-1", "--", "true"), 2),
        (("nothing/p1", "--", "true"), 2),
        (("plan/p1", "--owner", " ", "--", "true"), 2),
    ],
)
def test_what_cannot_be_run_is_told_in_one_line_and_leaves_no_lock(
    url: str, arguments: tuple[str, ...], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--database", url, "run", *arguments]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("lockwatch: ")
    assert err.count("\n") == 1
    assert rows(url) == []


def test_a_file_that_is_no_program_is_told_so(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data").write_bytes(b"\0\1\2\3")
    (tmp_path / "data").chmod(stat.S_IRWXU)
    assert main(["--database", url, "run", "plan/p1", "--", str(tmp_path / "data")]) == 126
    assert capsys.readouterr().err == f"lockwatch: {tmp_path}/data cannot be executed: Exec format error\n"


def test_a_script_whose_interpreter_is_missing_is_told_so(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "script").write_text("#!/no/such/interpreter\n", encoding="utf-8")
    (tmp_path / "script").chmod(stat.S_IRWXU)
    assert main(["--database", url, "run", "plan/p1", "--", str(tmp_path / "script")]) == 127
    assert capsys.readouterr().err == f"lockwatch: {tmp_path}/script: the interpreter that it names is missing\n"


def test_a_database_that_is_not_there_gives_5(tmp_path: Path) -> None:
    assert main(["--database", f"sqlite:///{tmp_path}/none.db", "run", "plan/p1", "--", "true"]) == 5


# Held by another


def test_a_lock_that_is_held_gives_3_and_runs_nothing(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with lockwatch.connect(url) as service:
        service.acquire("plan", "p1", "somebody")
    assert main(["--database", url, "run", "plan/p1", "--", "touch", str(tmp_path / "ran")]) == 3
    assert "held by somebody" in capsys.readouterr().err
    assert not (tmp_path / "ran").exists()


def test_a_lock_that_is_released_meanwhile_is_waited_for(url: str) -> None:
    with lockwatch.connect(url) as service:
        service.acquire("plan", "p1", "somebody")
        with started(url, "plan/p1", "--wait", "60", "--", "echo", "granted") as it:
            time.sleep(0.5)
            service.release("plan", "p1", "somebody")
            assert line(it) == "granted"
            assert end_of(it) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_waiting_ends_within_a_second_and_inserts_nothing(url: str, number: int) -> None:
    with lockwatch.connect(url) as service:
        service.acquire("plan", "p1", "somebody")
    before = rows(url)
    with started(url, "plan/p1", "--wait", "600", "--", "echo", "ran") as it:
        wait_until(lambda: handles(it.pid, number))
        time.sleep(0.2)
        started_at = time.monotonic()
        it.send_signal(number)
        code, err = end_of(it)
        assert time.monotonic() - started_at < 1 + allowance()
    assert (code, err) == (128 + number, "")
    assert rows(url) == before


# Signals while the command runs


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_the_command_and_frees_the_lock(url: str, number: int) -> None:
    script = "echo $$; exec sleep 600"
    with started(url, "plan/p1", *TTL, "--", "sh", "-c", script) as it:
        child = int(line(it))
        it.send_signal(number)
        code, err = end_of(it)
    assert (code, err) == (128 + number, "")
    assert not is_running(child)
    assert rows(url) == []


def test_a_signal_reaches_the_whole_group_of_the_command(url: str) -> None:
    script = "sleep 600 & echo $!; wait; exit 9"
    with started(url, "plan/p1", *TTL, "--", "sh", "-c", script) as it:
        grandchild = int(line(it))
        it.terminate()
        assert end_of(it)[0] == 128 + signal.SIGTERM
    wait_until(lambda: not is_running(grandchild))


def test_a_command_that_ignores_a_signal_goes_on_under_its_lock(url: str) -> None:
    script = "trap '' INT; echo ready; read go; exit 5"
    with started(url, "plan/p1", *TTL, "--", "sh", "-c", script) as it:
        assert line(it) == "ready"
        for _ in range(2):
            it.send_signal(signal.SIGINT)
            time.sleep(0.1)
        assert it.poll() is None
        assert row(url, "plan/p1") is not None
        assert it.stdin is not None
        it.stdin.write("\n")
        it.stdin.flush()
        assert end_of(it) == (5, "")


def test_a_signal_that_lockwatch_was_told_to_ignore_is_ignored_by_the_command_too(url: str) -> None:
    command = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *LOCKWATCH, "run", "--database", url, "plan/p1", *TTL]
    script = "echo ready; read go; kill -HUP $$; exit 5"
    with subprocess.Popen(
        [*command, "--", "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as it:
        assert line(it) == "ready"
        it.send_signal(signal.SIGHUP)
        it.communicate("\n", timeout=MORE_THAN_A_CALL_SECS)
    assert it.returncode == 5


def test_the_lock_is_free_when_the_command_has_ended_whatever_it_left_in_the_background(url: str) -> None:
    with started(url, "plan/p1", *TTL, "--", "sh", "-c", "sleep 600 >&- 2>&- & echo $!") as it:
        left = int(line(it))
        assert end_of(it) == (0, "")
    try:
        assert is_running(left)
        assert rows(url) == []
    finally:
        os.kill(left, signal.SIGKILL)


# A lost lock


def test_a_lock_that_is_taken_away_ends_all_of_the_command_before_the_leases_own_end(url: str, tmp_path: Path) -> None:
    stubborn = tmp_path / "stubborn"
    script = f'trap \'exit 0\' TERM; {sys.executable} -c "$1" "$2" & echo $!; while :; do sleep 0.05; done'
    with started(url, "plan/p1", "--ttl", "5", "--", "sh", "-c", script, "sh", STUBBORN, str(stubborn)) as it:
        grandchild = int(line(it))
        wait_until(lambda: times(stubborn))
        execute(url, "DELETE FROM locks")
        removed_at = time.time()
        code, err = end_of(it)
    assert code == 4
    assert err.splitlines()[-1].endswith(" is not there any more: it was released or removed")
    assert not is_running(grandchild)
    assert times(stubborn)[-1] < removed_at + 5
    assert rows(url) == []


def test_a_lock_that_is_taken_over_is_left_to_whoever_has_it(url: str) -> None:
    with started(url, "plan/p1", "--ttl", "5", "--", "sh", "-c", "echo ready; exec sleep 600") as it:
        assert line(it) == "ready"
        execute(url, "DELETE FROM locks")
        with lockwatch.connect(url) as service:
            service.acquire("plan", "p1", "somebody")
        code, err = end_of(it)
    assert code == 4
    assert "taken over: held by somebody" in err
    assert [cells[1] for cells in rows(url)] == [b"somebody"]


def test_a_lock_that_cannot_be_renewed_ends_the_command_before_the_leases_own_end(url: str, tmp_path: Path) -> None:
    stubborn = tmp_path / "stubborn"
    with started(url, "plan/p1", "--ttl", "5", "--", sys.executable, "-c", STUBBORN, str(stubborn)) as it:
        wait_until(lambda: times(stubborn))
        path_of(url).rename(tmp_path / "away.db")
        gone_at = time.time()
        code, err = end_of(it)
    assert code == 4
    assert "ran out while the database could not be reached" in err
    assert gone_at + 1 < times(stubborn)[-1] < gone_at + 5


def test_after_sigkill_of_lockwatch_the_lock_is_free_when_its_ttl_is_over_and_not_before(url: str) -> None:
    with started(url, "plan/p1", "--ttl", "5", "--", "sh", "-c", "echo $$; exec sleep 600") as it:
        child = int(line(it))
        renewed_before = time.monotonic()
        it.kill()
        it.wait()
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        with lockwatch.connect(url) as service:
            with pytest.raises(lockwatch.LockConflictError):
                service.acquire("plan", "p1", "next")
            service.acquire("plan", "p1", "next", wait_seconds=MORE_THAN_A_CALL_SECS)
    assert time.monotonic() - renewed_before < 5 + allowance()


def allowance() -> float:
    """What a crowded machine may take longer."""
    return 2.0
