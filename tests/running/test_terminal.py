"""`lockwatch run` on a terminal, below a shell with job control."""

from __future__ import annotations

import signal
import subprocess

import pytest

from tests.running.wrapping import Shell, handles, is_running, is_stopped, shell, wait_until
from tests.support import age, execute, row, rows

ASK = "'echo asking; read answer; echo got-$answer; exit 5'"


def test_the_command_reads_from_the_terminal(url: str) -> None:
    with shell(url) as sh:
        sh.type(f"$RUN plan/p1 -- sh -c {ASK}; echo code=$?\n")
        sh.expect("asking\n")
        sh.type("blue\n")
        sh.expect("got-blue")
        sh.expect("code=5")
    assert rows(url) == []


def test_ctrl_c_ends_the_command_and_the_shell_has_its_terminal_again(url: str) -> None:
    with shell(url) as sh:
        sh.type("$RUN plan/p1 -- sh -c 'echo pid=$$.; exec sleep 600'; echo went-$((1 + 1))\n")
        _started(sh)
        sh.type("\x03")
        assert "went-2" not in sh.expect("$ ")
        assert rows(url) == []
        sh.type("echo code-$?\n")
        sh.expect("code-130")


@pytest.mark.parametrize("script", ["sh", "bash"])
def test_ctrl_c_ends_a_script_too_that_runs_lockwatch(url: str, script: str) -> None:
    with shell(url) as sh:
        sh.type(f"{script} -c '$RUN plan/p1 -- sh -c \"echo pid=\\$\\$.; exec sleep 600\"; echo went-$((1 + 1))'\n")
        _started(sh)
        sh.type("\x03")
        assert "went-2" not in sh.expect("$ ")
        sh.type("echo code-$?\n")
        sh.expect("code-130")


def test_a_second_ctrl_c_reaches_a_command_that_withstood_the_first(url: str) -> None:
    program = (
        "import os, signal, time; "
        'signal.signal(signal.SIGINT, lambda *_: (signal.signal(signal.SIGINT, signal.SIG_DFL), print("once"))); '
        'print(f"pid={os.getpid()}."); time.sleep(600)'
    )
    with shell(url) as sh:
        sh.type(f"$RUN plan/p1 -- $PYTHON -u -c '{program}'\n")
        _started(sh)
        sh.type("\x03")
        sh.expect("once")
        assert row(url, "plan/p1") is not None
        sh.type("\x03")
        sh.expect("$ ")
    assert rows(url) == []


def test_ctrl_c_while_it_waits_for_the_lock_inserts_nothing(url: str) -> None:
    execute(
        url,
        "INSERT INTO locks (owner_id, resource_type, resource_id, acquired_at, expires_at)"
        " VALUES ('somebody', 'plan', 'p1', '2020-01-01T00:00:00Z', '2999-01-01T00:00:00Z')",
    )
    before = rows(url)
    with shell(url) as sh:
        sh.type("$RUN plan/p1 --wait 600 -- echo ran-$((1 + 1)); echo code=$?\n")
        wait_until(lambda: any(handles(pid, signal.SIGINT) for pid in _foreground(sh.pid)))
        sh.type("\x03")
        assert "ran-2" not in sh.expect("code=130")
    assert rows(url) == before


def test_ctrl_z_stops_it_and_fg_goes_on_under_a_renewed_lock(url: str) -> None:
    with shell(url) as sh:
        sh.type("$RUN plan/p1 --ttl 60 -- sh -c 'echo pid=$$.; read answer; echo got-$answer'\n")
        _started(sh)
        sh.type("\x1a")
        sh.expect("Stopped")
        sh.expect("$ ")
        before = row(url, "plan/p1")
        sh.type("fg\n")
        wait_until(lambda: row(url, "plan/p1") != before)
        sh.type("red\n")
        sh.expect("got-red")
    wait_until(lambda: not rows(url))


def test_a_command_in_the_background_that_asks_waits_for_fg(url: str) -> None:
    with shell(url) as sh:
        sh.type(f"set -b; $RUN plan/p1 --ttl 60 -- sh -c {ASK} &\n")
        sh.expect("asking\n")
        sh.type("\n")
        sh.expect("Stopped")
        sh.type("fg\n")
        sh.type("green\n")
        sh.expect("got-green")


def test_a_command_in_a_pipeline_leaves_the_terminal_to_the_others_until_it_asks(url: str) -> None:
    with shell(url) as sh:
        sh.type("$RUN plan/p1 -- sh -c 'echo asking >&2; read answer; echo got-$answer' | cat; echo code=$?\n")
        sh.expect("asking\n")
        sh.type("white\n")
        sh.expect("got-white")
        sh.expect("code=0")


@pytest.mark.parametrize("lost", ["removed", "expired"])
def test_what_was_lost_while_it_was_stopped_never_goes_on(url: str, lost: str) -> None:
    with shell(url) as sh:
        sh.type("$RUN plan/p1 --ttl 60 -- sh -c 'echo pid=$$.; read answer; echo went-on; sleep 600'; echo code=$?\n")
        child = _started(sh)
        sh.type("\x1a")
        sh.expect("Stopped")
        if lost == "removed":
            execute(url, "DELETE FROM locks")
        else:
            age(url, "plan/p1")
        sh.expect("$ ")
        sh.type("fg\necho fg=$?\n")
        assert "went-on\n" not in sh.expect("fg=4")
        assert not is_running(child)


def test_the_shell_that_hangs_up_takes_the_command_with_it(url: str) -> None:
    with shell(url) as sh:
        sh.type("$RUN plan/p1 --ttl 60 -- sh -c 'echo pid=$$.; exec sleep 600'\n")
        child = _started(sh)
    wait_until(lambda: not is_running(child))
    wait_until(lambda: not rows(url))


def _started(sh: Shell) -> int:
    """The process of the command that was typed, once it has said `pid=<number>.` and has the terminal."""
    sh.expect("pid=")
    sh.expect("\npid=")
    child = int(sh.expect("."))
    wait_until(lambda: sh.foreground() == child and not is_stopped(child))
    return child


def _foreground(shell_pid: int) -> list[int]:
    """The processes in the foreground of the shell's terminal."""
    terminal = subprocess.run(
        ["ps", "-o", "tty=", "-p", str(shell_pid)], capture_output=True, text=True, check=True
    ).stdout.strip()
    found = subprocess.run(["ps", "-o", "stat=,pid=", "-t", terminal], capture_output=True, text=True, check=False)
    processes = [text.split() for text in found.stdout.splitlines()]
    return [int(pid) for stat, pid in processes if "+" in stat]
