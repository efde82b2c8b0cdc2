from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import lockwatch
from lockwatch import Lock, LockService
from lockwatch.core.model import Key
from lockwatch.demo import worker
from lockwatch.demo.scene import STUCK_ON, Part, Role, Task
from tests.demo.playing import DEADLINE_SECS, until
from tests.support import Clock, path_of

A = Key("plan", "a")
B = Key("plan", "b")
SHORT = 0.03


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "POLL_SECS", 0.01)


def part(*keys: Key, role: Role = Role.STEADY, work: float = 3600, every: float = SHORT) -> Part:
    """A part whose tasks take `work` seconds and renew `every` so many."""
    tasks = tuple(Task(key=key, ttl_seconds=10, work_seconds=work, renew_at=every / 10) for key in keys)
    return Part(number=1, host="here", role=role, tasks=tasks, rest_seconds=0.01)


@contextmanager
def playing(service: LockService, played: Part, owner: str = "me") -> Iterator[threading.Thread]:
    ended = threading.Event()
    thread = threading.Thread(target=worker.Worker(service, owner, ended).play, args=(played,))
    thread.start()
    try:
        yield thread
    finally:
        ended.set()
        thread.join(DEADLINE_SECS)
    assert not thread.is_alive()


def taken(service: LockService, key: Key, owner: str = "me", after: int = 0) -> Lock:
    """The lock of `owner`, once it has it by a fence greater than `after`."""
    found: list[Lock] = []

    def is_taken() -> bool:
        lock = service.get(*key)
        found[:] = [lock] if lock and lock.owner_id == owner and lock.id > after else []
        return bool(found)

    assert until(is_taken), f"{owner} never took {key}: {service.get(*key)}"
    return found[0]


def test_a_worker_does_its_tasks_in_turn_and_again(service: LockService) -> None:
    with playing(service, part(A, B, work=SHORT)):
        first = taken(service, A)
        second = taken(service, B, after=first.id)
        taken(service, A, after=second.id)


def test_a_worker_renews_while_it_works(service: LockService, clock: Clock) -> None:
    with playing(service, part(A)):
        lock = taken(service, A)
        clock.advance(9)
        assert until(lambda: (service.get(*A) or lock).expires_at != lock.expires_at)
        assert taken(service, A).remaining(clock()) == 10


def test_what_another_holds_is_passed_over(service: LockService) -> None:
    other = service.acquire(*A, "other")
    with playing(service, part(A, B)):
        taken(service, B)
    assert service.get(*A) == other


def test_a_dead_workers_lock_is_left_to_be_seen_and_taken_over_after_five_minutes(
    service: LockService, clock: Clock
) -> None:
    dead = service.acquire(*A, "dead", 5)
    clock.advance(5 + worker.LEAVE_STALE_SECS)
    with playing(service, part(A, B, work=SHORT)):
        first = taken(service, B)
        taken(service, B, after=first.id)
        assert service.get(*A) == dead
        clock.advance(1)
        taken(service, A)


def test_a_worker_whose_lock_was_released_by_an_operator_goes_on_with_other_work(
    service: LockService, caplog: pytest.LogCaptureFixture
) -> None:
    with playing(service, part(A, B)):
        assert service.release_exact(taken(service, A)).is_done
        taken(service, B)
    assert "the lock of me on plan/a is not there: it was released or removed" in caplog.text


def test_a_worker_outlives_its_database(
    service: LockService, url: str, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    path = path_of(url)
    with playing(service, part(A, B)):
        before = taken(service, A)
        away = path.rename(path.with_name("away.db"))
        assert until(lambda: "there is no database file" in caplog.text)
        clock.advance(60)
        away.rename(path)
        assert until(lambda: any(lock.id > before.id for lock in service.snapshot().locks))


def test_a_stuck_worker_holds_its_lock_and_does_nothing_until_it_is_taken_away(
    service: LockService, clock: Clock
) -> None:
    with playing(service, part(STUCK_ON, role=Role.STUCK)) as thread:
        lock = taken(service, STUCK_ON)
        clock.advance(9)
        assert not until(lambda: service.get(*STUCK_ON) != lock, seconds=10 * SHORT)
        service.release_exact(lock)
        assert until(lambda: not thread.is_alive())
    assert service.get(*STUCK_ON) is None


def test_the_waiting_worker_takes_what_is_released_then_lets_another_get_stuck_again(service: LockService) -> None:
    stuck = service.acquire(*STUCK_ON, "stuck-1")
    with playing(service, part(STUCK_ON, role=Role.WAITING), "waiting"):
        assert not until(lambda: service.get(*STUCK_ON) != stuck, seconds=5 * SHORT)
        service.release_exact(stuck)
        done = taken(service, STUCK_ON, "waiting")
        service.release_exact(done)
        assert not until(lambda: service.get(*STUCK_ON), seconds=5 * SHORT)
        stuck = service.acquire(*STUCK_ON, "stuck-2")
        assert not until(lambda: service.get(*STUCK_ON) != stuck, seconds=5 * SHORT)
        service.release_exact(stuck)
        taken(service, STUCK_ON, "waiting", after=done.id)


@pytest.fixture
def process(url: str) -> Iterator[subprocess.Popen[bytes]]:
    """The stuck worker, as the demo starts it."""
    command = [sys.executable, "-m", "lockwatch.demo.worker", str(path_of(url)), "2"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        try:
            yield started
        finally:
            started.kill()


def test_a_worker_process_says_in_its_owner_which_process_it_is_and_ends_with_its_standard_input(
    url: str, process: subprocess.Popen[bytes]
) -> None:
    with lockwatch.connect(url) as service:
        taken(service, STUCK_ON, f"worker-2@build-1:{process.pid}")
    out, err = process.communicate(timeout=DEADLINE_SECS)
    assert (process.returncode, out, err) == (0, b"", b"")


def test_a_worker_process_that_hangs_ends_with_its_standard_input_too() -> None:
    script = """
import threading
from lockwatch.demo import worker
worker.GRACE_SECS = 0.1
threading.Thread(target=worker.end_with_parent, args=(threading.Event(),), daemon=True).start()
threading.Event().wait()
"""
    ended = subprocess.run([sys.executable, "-c", script], stdin=subprocess.DEVNULL, timeout=DEADLINE_SECS, check=False)
    assert ended.returncode == 1
