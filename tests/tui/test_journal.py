"""The log file gets every change, by the right hand, and never keeps anybody from the screen."""

from __future__ import annotations

import errno
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lockwatch import LockService
from lockwatch.core.errors import LockwatchError
from lockwatch.core.model import Lock, Outcome, OutcomeKind
from lockwatch.core.timestamps import to_text
from lockwatch.tui import journal as journals
from lockwatch.tui.app import Dashboard
from lockwatch.tui.board import Board
from lockwatch.tui.journal import Journal, opened
from lockwatch.tui.logfile import LogFile
from lockwatch.tui.look import Look
from tests.support import START, execute
from tests.tui.making import at, lock, see, snapshot
from tests.tui.running import PATIENCE_SECS, Running

Facts = dict[str, Any]


def until(holds: Callable[[], bool]) -> None:
    """Wait until a thread has come so far."""
    deadline = time.monotonic() + PATIENCE_SECS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


class Disk:
    """`os.write` and `os.open`, which fail or hang while they are told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fails = False
        self.takes: int | None = None
        self.tried = threading.Semaphore(0)
        self.goes_on = threading.Event()
        self.goes_on.set()
        self._write = os.write
        monkeypatch.setattr(os, "write", self.write)

    def write(self, file: int, data: bytes) -> int:
        self.tried.release()
        assert self.goes_on.wait(30)
        if self.fails:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self.takes is not None:
            taken, self.takes, self.fails = self.takes, None, True
            return self._write(file, data[:taken])
        return self._write(file, data)


class Log:
    """A journal over a board, as looks show it."""

    def __init__(self, path: Path, *locks: Lock) -> None:
        self.path = path
        self.board = Board()
        self.said: list[str] = []
        self.journal = Journal(LogFile(path), Look(name="orders.db", label="PROD"), START)
        self.look(locks, 0)

    def start(self) -> None:
        self.journal.start(self.said.append)

    def look(self, locks: Iterable[Lock], seconds: float) -> None:
        previous = self.board.taken_at if self.board.is_filled else None
        changes = see(self.board, snapshot(locks, seconds))
        self.journal.add(changes, self.board.catalogue, previous)

    def answer(self, done: str, *seen: Lock, now: Lock | None = None) -> None:
        self.journal.note(done, [Outcome(kind=OutcomeKind.DONE, seen=one, now=now, at=at(0)) for one in seen])

    def lines(self) -> list[Facts]:
        """What the file holds after the first line."""
        return facts(self.path)[1:]

    def close(self) -> None:
        """Close it, and wait for the thread however slow the machine is."""
        self.journal.close()
        self.journal._thread.join(PATIENCE_SECS)
        assert not self.journal._thread.is_alive()

    def closed(self) -> list[Facts]:
        self.close()
        return self.lines()


def facts(path: Path) -> list[Facts]:
    return [json.loads(line) for line in path.read_text("ascii").splitlines()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lockwatch.log"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "_RETRY_SECS", 0.01)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    made = Disk(monkeypatch)
    yield made
    made.fails = False
    made.goes_on.set()


def test_a_run_begins_with_what_is_watched(path: Path) -> None:
    log = Log(path)
    log.start()
    log.closed()
    assert facts(path) == [
        {"at": "2020-02-29T12:00:00.000000Z", "event": "watching", "database": "orders.db", "label": "PROD"}
    ]


def test_each_change_is_a_line_with_all_that_is_known_of_the_lease(path: Path) -> None:
    log = Log(path, lock(1, 60, name="a", owner="A"), lock(2, -5, name="b", owner="B"))
    log.start()
    log.look([lock(1, 90, name="a", owner="A"), lock(3, 65, name="b", owner="C")], 5)
    renewed, taken = log.closed()
    assert renewed == {
        "at": "2020-02-29T12:00:05.000000Z",
        "event": "renewed",
        "resource": "plan/a",
        "resource_type": "plan",
        "resource_id": "a",
        "owner_id": "A",
        "fence": 1,
        "expires_at": "2020-02-29T12:01:30.000000Z",
        "by_you": False,
        "successor": None,
    }
    assert (taken["event"], taken["owner_id"], taken["successor"]) == ("taken over", "B", {"owner_id": "C", "fence": 3})


def test_how_long_nothing_was_seen_is_a_line_before_what_was_seen_then(path: Path) -> None:
    log = Log(path, lock(1, 500))
    log.start()
    log.journal.miss(at(0), at(90))
    log.look([], 90)
    log.close()
    unseen, released = log.lines()
    assert unseen == {"at": to_text(at(0)), "event": "unseen", "until": to_text(at(90))}
    assert released["event"] == "released"


def test_an_expiry_that_cannot_be_read_is_null(path: Path) -> None:
    log = Log(path)
    log.start()
    log.look([lock(1, None)], 1)
    assert log.closed()[0]["expires_at"] is None


@pytest.mark.parametrize("answer_first", [True, False])
def test_what_this_dashboard_did_is_by_you_whether_the_look_or_the_answer_comes_first(
    path: Path, answer_first: bool
) -> None:
    ended, kept, renewed = lock(1, 60), lock(2, 60), lock(2, 99)
    log = Log(path, ended, kept)
    log.start()
    if answer_first:
        log.answer("released", ended)
        log.answer("renewed", kept, now=renewed)
        log.look([ended, kept], 1)
    log.look([renewed], 2)
    if not answer_first:
        log.answer("renewed", kept, now=renewed)
        log.answer("released", ended)
    log.look([renewed, lock(3, 60)], 3)
    told = log.closed()
    assert [(one["event"], one["by_you"]) for one in told] == [
        ("renewed", True),
        ("released", True),
        ("granted", False),
    ]


def test_what_a_look_showed_is_written_soon_though_no_other_look_comes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "_PATIENCE_SECS", 0.01)
    log = Log(path)
    log.start()
    log.look([lock(1)], 1)
    until(lambda: len(log.lines()) == 1)
    log.closed()


def test_the_file_gets_every_change_of_a_crowd(path: Path) -> None:
    log = Log(path)
    log.start()
    log.look([lock(number) for number in range(5000)], 1)
    log.look([], 2)
    told = log.closed()
    assert [one["fence"] for one in told if one["event"] == "granted"] == list(range(5000))
    assert len([one for one in told if one["event"] == "released"]) == 5000


@pytest.mark.parametrize(
    "text", ["a[/]b", "\x1b[2J", "\x1b]52;c;aGk=", "\u202edlrow", "\udcff", "a\nb", '{"a": [true]}', "日本😀", "\u2028"]
)
def test_hostile_text_is_one_line_of_ascii_and_comes_back_as_it_was(path: Path, text: str) -> None:
    log = Log(path)
    log.start()
    log.look([lock(1, 60, name=text, owner=text)], 1)
    (told,) = log.closed()
    assert (told["resource_id"], told["owner_id"], told["resource"]) == (text, text, f"plan/{text}")
    assert all(0x20 <= byte < 0x7F or byte == 0x0A for byte in path.read_bytes())


def test_a_run_is_added_to_what_the_file_holds(path: Path) -> None:
    path.write_text('{"event": "earlier"}\n')
    log = Log(path)
    log.start()
    log.closed()
    assert [one["event"] for one in facts(path)] == ["earlier", "watching"]


def test_a_last_line_without_an_end_does_not_spoil_the_next(path: Path) -> None:
    path.write_text('{"event": "cut of')
    log = Log(path)
    log.start()
    log.close()
    first, second = path.read_text().splitlines()
    assert first == '{"event": "cut of'
    assert json.loads(second)["event"] == "watching"


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_who_may_read_the_file_is_the_users_choice(path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        LogFile(path).close()
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_file_that_cannot_be_opened_is_told_with_its_name(tmp_path: Path) -> None:
    for path, why in (
        (tmp_path / "no such folder" / "x.log", "No such file or directory"),
        (tmp_path, "Is a directory"),
        (tmp_path / "\x1b[2J" / "x.log", "No such file or directory"),
    ):
        with pytest.raises(LockwatchError) as caught:
            LogFile(path)
        assert str(caught.value).startswith("log file /")
        assert str(caught.value).endswith(why)
        assert str(caught.value).isprintable()


def test_a_pipe_that_nobody_reads_or_a_device_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(LockwatchError, match="log file"):
            LogFile(path)


def test_a_database_is_not_added_to(tmp_path: Path) -> None:
    path = tmp_path / "locks.db"
    execute(f"sqlite:///{path}", "CREATE TABLE locks (id)")
    before = path.read_bytes()
    with pytest.raises(LockwatchError, match=r"locks\.db: is an SQLite database"):
        LogFile(path)
    assert path.read_bytes() == before


def test_a_full_disk_is_told_once_and_what_waited_is_written_whole_when_there_is_room(path: Path, disk: Disk) -> None:
    log = Log(path)
    log.start()
    until(lambda: len(path.read_bytes()) > 0)
    disk.takes = 20
    log.look([lock(1), lock(2)], 1)
    log.look([lock(1), lock(2), lock(3)], 2)
    until(lambda: log.said != [])
    for _ in range(20):
        assert disk.tried.acquire(timeout=10)
    assert log.said == [f"{path}: No space left on device"]
    disk.fails = False
    until(lambda: path.read_bytes().count(b"\n") == 3)
    disk.fails = True
    log.look([lock(1), lock(2), lock(3), lock(4)], 3)
    until(lambda: len(log.said) == 2)
    disk.fails = False
    assert [one["fence"] for one in log.closed()] == [1, 2, 3, 4]


def test_a_file_that_was_moved_away_is_followed_by_a_new_one(path: Path) -> None:
    log = Log(path)
    log.start()
    until(path.exists)
    until(lambda: len(path.read_bytes()) > 0)
    path.rename(path.with_suffix(".1"))
    log.look([lock(1)], 1)
    log.look([lock(1), lock(2)], 2)
    until(path.exists)
    log.closed()
    assert [one["event"] for one in facts(path.with_suffix(".1"))] == ["watching"]
    assert [one["fence"] for one in facts(path)] == [1, 2]


def test_a_folder_that_goes_is_told_once_and_it_goes_on_when_it_is_back(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "lockwatch.log"
    path.parent.mkdir()
    log = Log(path)
    log.start()
    until(lambda: len(path.read_bytes()) > 0)
    path.unlink()
    path.parent.rmdir()
    log.look([lock(1)], 1)
    log.look([lock(1), lock(2)], 2)
    until(lambda: log.said != [])
    path.parent.mkdir()
    until(lambda: path.exists() and len(path.read_bytes()) > 0)
    log.closed()
    assert [one["fence"] for one in facts(path)] == [1, 2]
    assert log.said == [f"{path}: No such file or directory"]


def test_a_line_that_was_begun_in_a_file_that_went_is_whole_in_the_next(path: Path, disk: Disk) -> None:
    file = LogFile(path)
    file.add(b"first\nsecond\n")
    disk.takes = 9
    with pytest.raises(OSError, match="No space"):
        file.flush()
    path.rename(path.with_suffix(".1"))
    disk.fails = False
    file.add(b"third\n")
    file.flush()
    file.close()
    assert path.with_suffix(".1").read_bytes() == b"first\nsec"
    assert path.read_bytes() == b"second\nthird\n"


def test_while_a_disk_hangs_only_so_much_waits_and_the_number_of_the_rest_is_written(
    path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "_MOST_WAITING", 100)
    log = Log(path)
    log.start()
    until(lambda: len(path.read_bytes()) > 0)
    disk.goes_on.clear()
    table: list[Lock] = []
    for look in range(1, 31):
        table += [lock(number) for number in range(look * 10, look * 10 + 10)]
        log.look(table, look / 10)
    assert log.journal._waiting <= 100
    disk.goes_on.set()
    until(lambda: log.journal._waiting <= 10)
    log.look([], 9)
    told = log.closed()
    assert len([one for one in told if one["event"] == "granted"]) == 100
    assert [one["changes"] for one in told if one["event"] == "missed"] == [200 + 300]


def test_a_disk_that_hangs_keeps_nobody_from_quitting(path: Path, disk: Disk) -> None:
    disk.goes_on.clear()
    log = Log(path)
    log.start()
    assert disk.tried.acquire(timeout=10)
    log.look([lock(1)], 1)
    began = time.monotonic()
    log.journal.close()
    assert time.monotonic() - began < 3, "it would wait for ever"
    disk.goes_on.set()
    log.journal._thread.join(PATIENCE_SECS)


def test_what_nobody_can_be_told_any_more_ends_nothing(path: Path, disk: Disk) -> None:
    def tell(_: str) -> None:
        raise RuntimeError("the loop is closed")

    disk.fails = True
    log = Log(path)
    log.journal.start(tell)
    for _ in range(5):
        assert disk.tried.acquire(timeout=10)
    disk.fails = False
    until(lambda: len(path.read_bytes()) > 0)
    log.closed()


async def test_the_dashboard_writes_down_what_happens_and_what_its_operator_does(
    path: Path, service: LockService
) -> None:
    service.acquire("plan", "legacy", "worker-2", ttl_seconds=60)
    look = Look(name="orders.db", interval=60)
    with opened(path, look) as journal:
        app = Dashboard(service, look, journal=journal, quiet_secs=0.0)
        async with app.run_test(size=(120, 30)) as pilot:
            running = Running(app, pilot)
            await running.until(lambda: app.scene.board.is_filled)
            service.acquire("plan", "thumbnails", "worker-5", ttl_seconds=300)
            await running.poll()
            await running.press("r")
            await running.until(lambda: running.dialog is not None)
            await running.press("y")
            await running.until(lambda: app.scene.board.total == 1)
    told = facts(path)
    assert [(one["event"], one.get("resource_id"), one.get("by_you")) for one in told] == [
        ("watching", None, None),
        ("granted", "thumbnails", False),
        ("released", "legacy", True),
    ]


async def test_a_log_that_fails_is_told_on_the_screen_and_the_dashboard_goes_on(
    path: Path, service: LockService, disk: Disk
) -> None:
    look = Look(name="orders.db", interval=60)
    with opened(path, look) as journal:
        disk.fails = True
        app = Dashboard(service, look, journal=journal, quiet_secs=0.0)
        async with app.run_test(size=(120, 30)) as pilot:
            running = Running(app, pilot)
            await running.until(lambda: "No space left on device" in running.notices)
            disk.fails = False
            await running.until(lambda: app.scene.board.is_filled)
