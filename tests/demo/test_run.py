from __future__ import annotations

import io
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import lockwatch
from lockwatch import Lock, LockService, ValidationError
from lockwatch import demo as played
from lockwatch.demo import crew
from lockwatch.demo.scene import CONTENDED, Part
from lockwatch.tui import can_draw
from lockwatch.tui.look import Look
from tests.demo.playing import DEADLINE_SECS, database_in, demo, demo_on_terminal, is_running, until, workers_of
from tests.demo.watching import Watched, pid_of, stand_in


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), True, "15", None])
def test_seconds_that_are_no_time_are_refused(seconds: object) -> None:
    with pytest.raises(ValidationError, match="seconds: must be a number of seconds above 0"):
        played.run(seconds=seconds)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    """One demo, watched from its start until the waiting worker has got what it waits for."""
    observer = Watched(folder=tmp_path_factory.mktemp("watched"))
    with pytest.MonkeyPatch.context() as patch:
        stand_in(patch, observer.folder, observer.watch)
        assert played.run(workers=6) == 0
    return observer


def test_the_dashboard_is_opened_on_the_database_in_the_temporary_folder(watched: Watched) -> None:
    assert watched.look is not None
    assert Path(watched.look.name).match(f"{watched.folder}/lockwatch-demo-*/locks.db")
    assert (watched.look.label, watched.look.colour) == ("DEMO", "blue")
    assert (watched.look.interval, watched.look.theme) == (1.0, None)


def test_a_killed_workers_lock_is_stale_after_its_ttl_and_not_before(watched: Watched) -> None:
    (doomed,) = watched.doomed
    assert doomed.expires_at is not None
    assert watched.dead_at, "its end was not seen while its lock still had time left"
    assert all(snapshot.taken_at < doomed.expires_at for snapshot in watched.dead_at)
    assert watched.stale_at[0].taken_at >= doomed.expires_at
    assert watched.stale_at[0].stale == (doomed,)


def test_a_new_process_takes_the_killed_ones_place_under_a_new_owner_and_leaves_its_lock_alone(
    watched: Watched,
) -> None:
    (doomed,), successor = watched.doomed, watched.successor[0]
    assert successor.owner_id != doomed.owner_id
    assert successor.key != doomed.key


def test_a_purge_removes_the_stale_lock_and_nothing_else(watched: Watched) -> None:
    assert [(outcome.seen, outcome.is_done) for outcome in watched.outcomes] == [(watched.doomed[0], True)]


def test_the_waiting_worker_takes_the_stuck_lock_within_two_polls_of_its_release(watched: Watched) -> None:
    assert watched.taken[0].id > watched.stuck[0].id
    assert watched.waited_secs < 2 * played.POLL_EVERY_SECS


def test_the_stuck_worker_finds_out_that_its_lock_was_released_and_ends(watched: Watched) -> None:
    assert watched.stuck_moved_on


def test_ctrl_c_in_the_terminal_is_not_for_the_workers(watched: Watched) -> None:
    assert os.getsid(0) not in watched.sessions


def test_nothing_is_left_of_a_demo_that_was_quit(watched: Watched) -> None:
    seen = [*watched.stuck, *watched.doomed, *watched.successor, *watched.taken]
    assert not any(is_running(pid_of(lock)) for lock in seen)
    assert list(watched.folder.iterdir()) == []


def test_nothing_is_left_of_a_demo_whose_dashboard_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Lock] = []

    def fail(service: LockService, look: Look, **_others: object) -> None:
        assert look.interval
        assert until(lambda: service.get(*CONTENDED))
        seen.extend(service.snapshot().locks)
        raise RuntimeError("the screen fell down")

    stand_in(monkeypatch, tmp_path, fail)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(RuntimeError, match="the screen fell down"):
        played.run(workers=5)
    assert seen
    assert not any(is_running(pid_of(lock)) for lock in seen)
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) == before


def test_without_a_terminal_it_prints_the_table_purges_the_stale_locks_recovers_their_plans_and_ends_well(
    tmp_path: Path,
) -> None:
    with demo(tmp_path, seconds=11.5) as process:
        out, err = process.communicate(timeout=2 * DEADLINE_SECS)
    assert (process.returncode, err) == (0, "")
    assert out.startswith(f"5 workers on {tmp_path}/lockwatch-demo-")
    assert out.count("RESOURCE ") == 3
    last_table, summary = out.split("\n\n")[-2:]
    assert last_table.count(" STALE ") == 1
    assert summary == (
        "Stale locks: 1 purged. All others were left alone.\n"
        "Abandoned plans: 1 recovered, to be retried. The workers are stopped now.\n"
    )
    nothing_is_left(tmp_path)


def nothing_is_left(folder: Path) -> None:
    assert len(workers_of(folder)) >= 5
    assert not any(map(is_running, workers_of(folder)))
    assert database_in(folder) is None
    assert list(folder.glob("lockwatch-demo-*")) == []


def at_work(folder: Path) -> bool:
    path = database_in(folder)
    if path is None or len(workers_of(folder)) < 5:
        return False
    with lockwatch.connect(f"sqlite:///{path}") as service:
        return service.get(*CONTENDED) is not None


@pytest.fixture
def running(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A demo without a terminal whose workers are at work."""
    with demo(tmp_path, seconds=600) as process:
        assert until(lambda: len(workers_of(tmp_path)) >= 5)
        assert until(lambda: at_work(tmp_path))
        yield process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_nothing_is_left_of_a_demo_that_a_signal_ended(
    running: subprocess.Popen[str], tmp_path: Path, number: signal.Signals
) -> None:
    running.send_signal(number)
    _, err = running.communicate(timeout=DEADLINE_SECS)
    assert (running.returncode, err) == (128 + number, "")
    nothing_is_left(tmp_path)


def test_nothing_is_left_of_a_demo_whose_dashboard_a_signal_ended(tmp_path: Path) -> None:
    with demo_on_terminal(tmp_path) as (process, screen):
        assert until(lambda: "worker-2" in screen()), screen()
        process.terminate()
        assert process.wait(DEADLINE_SECS) == 143
        assert "Traceback" not in screen()
    nothing_is_left(tmp_path)


def test_more_signals_do_not_stop_the_clean_up_and_a_stopped_worker_does_not_either(
    running: subprocess.Popen[str], tmp_path: Path
) -> None:
    os.kill(workers_of(tmp_path)[1], signal.SIGSTOP)
    running.terminate()
    assert until(lambda: len([pid for pid in workers_of(tmp_path) if is_running(pid)]) <= 1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        running.send_signal(number)
    _, err = running.communicate(timeout=DEADLINE_SECS)
    assert (running.returncode, err) == (143, "")
    nothing_is_left(tmp_path)


def test_no_worker_is_left_of_a_demo_that_was_killed(running: subprocess.Popen[str], tmp_path: Path) -> None:
    assert all(map(is_running, workers_of(tmp_path)[1:5]))  # the first is the one that gets killed
    running.kill()
    running.communicate(timeout=DEADLINE_SECS)
    assert until(lambda: not any(map(is_running, workers_of(tmp_path))))


def test_a_demo_that_nobody_reads_any_more_ends_calmly(tmp_path: Path) -> None:
    with demo(tmp_path, seconds=1) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        process.wait(DEADLINE_SECS)
    nothing_is_left(tmp_path)


@pytest.mark.parametrize(
    ("terminal", "term", "drawn"), [(True, "xterm", True), (True, "dumb", False), (False, "xterm", False)]
)
def test_the_dashboard_is_only_for_a_terminal_that_can_draw(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, term: str, drawn: bool
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr("sys.stdin", Screen(terminal))
    monkeypatch.setattr("sys.stdout", Screen(terminal))
    monkeypatch.setattr("sys.stderr", Screen(terminal=True))
    assert can_draw() is drawn


class Screen(io.StringIO):
    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


def test_workers_that_cannot_be_started_are_an_error_and_the_others_are_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    start = crew.Crew._start

    def start_one(self: crew.Crew, part: Part) -> subprocess.Popen[bytes]:
        if started:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        started.append(start(self, part))
        return started[0]

    monkeypatch.setattr(crew.Crew, "_start", start_one)
    stand_in(monkeypatch, tmp_path, None)
    with pytest.raises(lockwatch.LockwatchError, match=r"cannot be started .*temporarily unavailable"):
        played.run(workers=5)
    assert started[0].returncode is not None
    assert list(tmp_path.iterdir()) == []
