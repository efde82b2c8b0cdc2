"""The application container: clean-up at the start, release at every kind of end."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import pytest

import lockwatch
from lockwatch import DatabaseBusyError, LockRuntime, LockwatchError, ValidationError
from lockwatch.core.model import Key
from lockwatch.core.table import LockTable
from lockwatch.signals import SIGNALS
from tests.support import ROOT, age, execute, insert_row, row, rows

DEADLINE_SECS = 30.0
PROGRAM = """
import os, signal, sys, threading, time
from lockwatch import LockRuntime
from tests.support import row
url = sys.argv[1]
signal.signal(signal.SIGTERM, signal.SIG_DFL)  # where coverage is measured there is another handler
runtime = LockRuntime(url, owner_id="me", grace_seconds=float(sys.argv[2]))
def ready():
    print("ready", flush=True)
"""


class EarlierError(Exception):
    """What a handler of the application's raises."""


@contextmanager
def handler(number: int, handle: Callable[[int, FrameType | None], object] | signal.Handlers) -> Iterator[None]:
    """An application's own handler, there before the runtime."""
    before = signal.signal(number, handle)
    try:
        yield
    finally:
        signal.signal(number, before)


def wait_until(is_true: Callable[[], object]) -> None:
    """Look again and again until it is so."""
    give_up_at = time.monotonic() + DEADLINE_SECS
    while not is_true():
        assert time.monotonic() < give_up_at, "it never came to be"
        time.sleep(0.01)


@contextmanager
def program(url: str, body: str, grace_seconds: float = 5) -> Iterator[subprocess.Popen[str]]:
    """A program with a runtime that has said that it is ready."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM + body, url, str(grace_seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def end_of(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Its exit code, and what it said after `ready`, and on stderr."""
    out, err = process.communicate(timeout=DEADLINE_SECS)
    return process.returncode, out, err


# At the start


def test_the_start_clears_expired_locks_away(url: str) -> None:
    insert_row(url, "plan/old")
    with LockRuntime(url):
        assert rows(url) == []


def test_a_start_may_leave_expired_locks_to_be_seen(url: str) -> None:
    insert_row(url, "plan/old")
    with LockRuntime(url, clears_up=False):
        pass
    assert row(url, "plan/old")


def test_a_database_that_is_busy_at_the_start_is_cleaned_up_by_whoever_comes_next(
    url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def busy() -> int:
        raise DatabaseBusyError("another connection keeps the database locked")

    service = lockwatch.connect(url)
    monkeypatch.setattr(service, "cleanup_expired", busy)
    with LockRuntime(service, owner_id="me") as runtime:
        runtime.service.acquire("plan", "p1", "me")
    assert "not cleared away" in caplog.text
    assert rows(url) == []


def test_a_database_that_cannot_be_used_is_an_error_of_the_start(tmp_path: object) -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with pytest.raises(lockwatch.DatabaseError), LockRuntime(f"sqlite:///{tmp_path}/missing.db"):
        pass
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_an_owner_that_breaks_a_rule_is_refused(url: str) -> None:
    with pytest.raises(ValidationError):
        LockRuntime(url, owner_id=" ")


def test_a_runtime_has_a_service_from_its_one_entry_on(url: str) -> None:
    runtime = LockRuntime(url)
    with pytest.raises(LockwatchError, match="not entered"):
        _ = runtime.service
    with runtime, pytest.raises(LockwatchError, match="once"):
        runtime.__enter__()


def test_each_runtime_has_an_owner_of_its_own(url: str) -> None:
    assert LockRuntime(url).owner_id != LockRuntime(url).owner_id


# At the exit


def test_the_exit_releases_what_this_process_owns_and_nothing_else(url: str) -> None:
    with LockRuntime(url) as runtime:
        runtime.service.acquire("plan", "p1", runtime.owner_id)
        runtime.service.acquire("project", "p1", runtime.owner_id)
        runtime.service.acquire("plan", "theirs", "somebody")
    assert [cells[1] for cells in rows(url)] == [b"somebody"]


def test_the_exit_puts_the_earlier_handlers_back(url: str) -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with LockRuntime(url):
        assert [signal.getsignal(number) for number in SIGNALS] != before
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_the_exit_leaves_a_handler_alone_that_was_set_meanwhile(url: str) -> None:
    def later(_number: int, _frame: FrameType | None) -> None: ...

    with handler(signal.SIGHUP, signal.SIG_DFL):
        with LockRuntime(url):
            signal.signal(signal.SIGHUP, later)
        assert signal.getsignal(signal.SIGHUP) is later


def test_an_exception_of_the_body_comes_out(url: str) -> None:
    def work() -> None:
        with LockRuntime(url, owner_id="me") as runtime:
            runtime.service.acquire("plan", "p1", "me")
            raise EarlierError

    with pytest.raises(EarlierError):
        work()
    assert rows(url) == []


def test_no_lock_is_freed_before_the_body_in_another_thread_has_ended(url: str) -> None:
    holding, seen = threading.Event(), []

    def work(runtime: LockRuntime) -> None:
        with suppress(lockwatch.LockExpiredError), runtime.service.hold("plan", "p1", runtime.owner_id) as lease:
            holding.set()
            lease.lost.wait(DEADLINE_SECS)
            time.sleep(0.2)
            seen.append((str(lease.lost_reason), row(url, "plan/p1") is not None))

    with LockRuntime(url) as runtime:
        worker = threading.Thread(target=work, args=(runtime,))
        worker.start()
        assert holding.wait(DEADLINE_SECS)
    worker.join()
    assert seen == [("shutting down", True)]
    assert rows(url) == []


def test_a_lock_that_is_worked_under_after_the_grace_is_left_to_its_ttl(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    holding, enough = threading.Event(), threading.Event()

    def work(runtime: LockRuntime) -> None:
        with suppress(lockwatch.LockExpiredError), runtime.service.hold("plan", "stubborn", runtime.owner_id):
            holding.set()
            enough.wait(DEADLINE_SECS)

    with LockRuntime(url, grace_seconds=0.1) as runtime:
        runtime.service.acquire("plan", "p1", runtime.owner_id)
        worker = threading.Thread(target=work, args=(runtime,))
        worker.start()
        assert holding.wait(DEADLINE_SECS)
    left = [cells[3] for cells in rows(url)]
    enough.set()
    worker.join()
    assert left == [b"stubborn"]
    assert "plan/stubborn is still worked under" in caplog.text


def test_nothing_is_acquired_while_the_process_ends(url: str) -> None:
    holding, refused = threading.Event(), []

    def work(runtime: LockRuntime) -> None:
        with suppress(lockwatch.LockExpiredError), runtime.service.hold("plan", "p1") as lease:
            holding.set()
            lease.lost.wait(DEADLINE_SECS)
            with pytest.raises(LockwatchError) as caught:
                runtime.service.acquire("plan", "p2", runtime.owner_id)
            refused.append(caught.value)

    with LockRuntime(url) as runtime:
        worker = threading.Thread(target=work, args=(runtime,))
        worker.start()
        assert holding.wait(DEADLINE_SECS)
    worker.join()
    assert len(refused) == 1
    assert rows(url) == []


def test_one_release_that_fails_hinders_no_other(url: str, caplog: pytest.LogCaptureFixture) -> None:
    execute(
        url,
        "CREATE TRIGGER no BEFORE DELETE ON locks WHEN old.resource_id = 'b'"
        " BEGIN SELECT RAISE(ABORT, 'not this one'); END",
    )
    with LockRuntime(url) as runtime:
        for name in "abc":
            runtime.service.acquire("plan", name, runtime.owner_id)
    assert [cells[3] for cells in rows(url)] == [b"b"]
    assert "plan/b was not released" in caplog.text


def test_a_database_that_is_gone_at_the_exit_is_told_and_the_exit_goes_on(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with LockRuntime(url) as runtime:
        runtime.service.acquire("plan", "p1", runtime.owner_id)
        os.remove(url.removeprefix("sqlite:///"))  # noqa: PTH107
    assert "not all locks of" in caplog.text
    assert "there is no database file" in caplog.text
    assert "Traceback" not in caplog.text


# Signals, beside handlers of the application


@pytest.mark.parametrize("number", SIGNALS)
def test_an_earlier_handler_runs_after_the_release(url: str, number: int) -> None:
    seen: list[tuple[int, int]] = []
    with handler(number, lambda given, _frame: seen.append((given, len(rows(url))))), LockRuntime(url) as runtime:
        runtime.service.acquire("plan", "p1", runtime.owner_id)
        signal.raise_signal(number)
        wait_until(lambda: seen)
    assert seen == [(number, 0)]


def test_a_second_signal_meanwhile_releases_nothing_twice(url: str) -> None:
    service, calls, seen = lockwatch.connect(url), [], []
    release_all = service.release_all_for_owner

    def slowly(owner_id: str) -> int:
        calls.append(owner_id)
        time.sleep(0.3)
        return release_all(owner_id)

    service.release_all_for_owner = slowly  # type: ignore[method-assign]
    with (
        handler(signal.SIGTERM, lambda given, _frame: seen.append(given)),
        handler(signal.SIGHUP, lambda given, _frame: seen.append(given)),
        LockRuntime(service, owner_id="me"),
    ):
        service.acquire("plan", "p1", "me")
        signal.raise_signal(signal.SIGTERM)
        wait_until(lambda: calls)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGHUP)
        wait_until(lambda: len(seen) == 2)
    assert calls == ["me"]
    assert sorted(seen) == [signal.SIGHUP, signal.SIGTERM]
    assert rows(url) == []


def test_a_signal_after_the_release_goes_straight_to_the_earlier_handler(url: str) -> None:
    seen: list[int] = []
    with handler(signal.SIGTERM, lambda given, _frame: seen.append(given)), LockRuntime(url):
        signal.raise_signal(signal.SIGTERM)
        wait_until(lambda: seen)
        signal.raise_signal(signal.SIGTERM)
        assert seen == [signal.SIGTERM] * 2


def test_an_earlier_handler_that_ends_the_body_in_the_main_thread_runs_before_the_release(url: str) -> None:
    seen: list[bool] = []

    with handler(signal.SIGTERM, _raise), pytest.raises(EarlierError):
        _interrupt_body(url, signal.SIGTERM, seen)
    assert seen == [True]
    assert rows(url) == []


def test_ctrl_c_ends_the_body_in_the_main_thread_at_once_and_then_frees_its_lock(url: str) -> None:
    seen: list[bool] = []
    with handler(signal.SIGINT, signal.default_int_handler), pytest.raises(KeyboardInterrupt):
        _interrupt_body(url, signal.SIGINT, seen)
    assert seen == [True]
    assert rows(url) == []


def _interrupt_body(url: str, number: int, seen: list[bool]) -> None:
    """Hold a lock in the main thread when the signal comes; `seen`: whether its row is there when the body ends."""
    with LockRuntime(url) as runtime, runtime.service.hold("plan", "p1", runtime.owner_id):
        try:
            os.kill(os.getpid(), number)
            time.sleep(DEADLINE_SECS)
        finally:
            seen.append(row(url, "plan/p1") is not None)


def test_a_signal_that_is_ignored_stays_ignored(url: str) -> None:
    with handler(signal.SIGHUP, signal.SIG_IGN), LockRuntime(url) as runtime:
        signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        runtime.service.acquire("plan", "p1", runtime.owner_id)
        assert len(rows(url)) == 1


def test_a_signal_that_comes_while_a_mutex_is_held_waits_for_nobody(url: str) -> None:
    seen: list[int] = []
    with handler(signal.SIGTERM, lambda given, _frame: seen.append(given)), LockRuntime(url) as runtime:
        runtime.service.acquire("plan", "p1", runtime.owner_id)
        with runtime.service._keeper._mutex:
            started_at = time.monotonic()
            signal.raise_signal(signal.SIGTERM)
            taken = time.monotonic() - started_at
            time.sleep(0.1)
        wait_until(lambda: seen)
    assert taken < 3, "it would wait for ever"
    assert rows(url) == []


def test_an_event_loop_that_handles_a_signal_is_told_once(url: str) -> None:
    async def work() -> tuple[int, int]:
        told: list[int] = []
        stop = asyncio.Event()

        def be_told() -> None:
            told.append(1)
            stop.set()

        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, be_told)
        with LockRuntime(url) as runtime, suppress(lockwatch.LockExpiredError):
            with runtime.service.hold("plan", "p1", runtime.owner_id):
                os.kill(os.getpid(), signal.SIGTERM)
                await asyncio.wait_for(stop.wait(), DEADLINE_SECS)
            await asyncio.sleep(0.1)
        return len(told), len(rows(url))

    with handler(signal.SIGTERM, signal.SIG_DFL):
        assert asyncio.run(work()) == (1, 0)


def test_two_runtimes_in_one_process_both_release_before_the_earlier_handler_runs(url: str) -> None:
    seen: list[int] = []
    with (
        handler(signal.SIGTERM, lambda _given, _frame: seen.append(len(rows(url)))),
        LockRuntime(url) as one,
        LockRuntime(url) as other,
    ):
        one.service.acquire("plan", "p1", one.owner_id)
        other.service.acquire("plan", "p2", other.owner_id)
        signal.raise_signal(signal.SIGTERM)
        wait_until(lambda: seen)
    assert seen == [0]


def test_in_a_thread_that_is_not_the_main_one_it_releases_at_exit_and_says_that_it_heeds_no_signal(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    handlers: list[object] = []

    def work() -> None:
        with LockRuntime(url, owner_id="me") as runtime:
            runtime.service.acquire("plan", "p1", "me")
            handlers.extend(signal.getsignal(number) for number in SIGNALS)

    before = [signal.getsignal(number) for number in SIGNALS]
    with caplog.at_level(logging.WARNING):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert handlers == before
    assert "no signal will release its locks" in caplog.text
    assert rows(url) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_in_the_midst_of_a_grant_lets_it_come_to_its_end(
    url: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert = LockTable.insert

    def interrupted(table: LockTable, key: Key, owner_id: str, ttl_seconds: float) -> lockwatch.Lock | None:
        lock = insert(table, key, owner_id, ttl_seconds)
        signal.raise_signal(number)
        return lock

    monkeypatch.setattr(LockTable, "insert", interrupted)

    def work() -> None:
        with LockRuntime(url) as runtime, runtime.service.hold("plan", "p1", "of this hold alone"):
            time.sleep(DEADLINE_SECS)

    with (
        handler(number, _raise if number == signal.SIGTERM else signal.default_int_handler),
        pytest.raises((EarlierError, KeyboardInterrupt)),
    ):
        work()
    assert rows(url) == []


def _raise(_number: int, _frame: FrameType | None) -> None:
    raise EarlierError


# Signals whose default action ends the process


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_frees_the_locks_and_ends_the_process_as_it_would_have_anyway(url: str, number: int) -> None:
    body = """
with runtime:
    runtime.service.acquire("plan", "p1", "me")
    ready()
    time.sleep(60)
"""
    with program(url, body) as process:
        process.send_signal(number)
        code, _, err = end_of(process)
    assert code == -number
    assert ("KeyboardInterrupt" in err) == (number == signal.SIGINT)
    assert rows(url) == []


def test_a_signal_that_the_main_thread_does_not_notice_is_acted_on_all_the_same(url: str) -> None:
    body = """
def take_it():
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)  # the system may do so, too
with runtime:
    runtime.service.acquire("plan", "p1", "me")
    threading.Timer(0.2, take_it).start()
    ready()
    time.sleep(60)
"""
    with program(url, body) as process:
        code, _, _ = end_of(process)
    assert code == -signal.SIGTERM
    assert rows(url) == []


def test_a_forked_childs_signals_are_nothing_to_the_parent(url: str) -> None:
    body = """
with runtime:
    child = os.fork()
    if not child:
        signal.signal(signal.SIGTERM, lambda *_: os._exit(7))
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
    os.waitpid(child, 0)
    ready()
    time.sleep(3 * HANDLER_PATIENCE_SECS)
    print("lives on")
"""
    with program(url, f"from lockwatch.signals import HANDLER_PATIENCE_SECS\n{body}") as process:
        assert end_of(process) == (0, "lives on\n", "")


def test_a_signal_ends_the_body_in_the_main_thread_before_its_lock_is_freed(url: str) -> None:
    body = """
with runtime, runtime.service.hold("plan", "p1", "me"):
    try:
        ready()
        time.sleep(60)
    finally:
        time.sleep(0.3)
        print(row(url, "plan/p1") is not None, flush=True)
"""
    with program(url, body) as process:
        process.terminate()
        assert end_of(process) == (-signal.SIGTERM, "True\n", "")
    assert rows(url) == []


def test_a_program_that_swallows_the_end_ends_after_the_grace(url: str) -> None:
    body = """
with runtime:
    runtime.service.acquire("plan", "p1", "me")
    once = [ready]
    while True:
        try:
            while once:
                once.pop()()
            time.sleep(60)
        except BaseException:
            print("swallowed", flush=True)
"""
    with program(url, body, grace_seconds=0.5) as process:
        process.terminate()
        assert end_of(process) == (-signal.SIGTERM, "swallowed\n", "")
    assert rows(url) == []


def test_the_end_of_the_interpreter_frees_the_locks(url: str) -> None:
    with program(url, '\nruntime.__enter__().service.acquire("plan", "p1", "me")\nready()\nsys.exit(5)') as process:
        assert end_of(process) == (5, "", "")
    assert rows(url) == []


def test_a_signal_while_only_other_threads_run_frees_the_locks_and_ends_the_process(url: str) -> None:
    body = """
runtime.__enter__().service.acquire("plan", "p1", "me")
def work():
    while threading.main_thread().is_alive():
        time.sleep(0.01)
    ready()
    time.sleep(60)
threading.Thread(target=work).start()
"""
    with program(url, body) as process:
        process.terminate()
        assert end_of(process) == (-signal.SIGTERM, "", "")
    assert rows(url) == []


def test_a_forked_child_neither_releases_nor_waits_nor_survives_a_signal(url: str) -> None:
    body = """
with runtime:
    runtime.service.acquire("plan", "p1", "me")
    read, write = os.pipe()
    child = os.fork()
    if not child:
        sys.exit(3)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), row(url, "plan/p1") is not None)
    child = os.fork()
    if not child:
        os.write(write, b"!")
        time.sleep(60)
    os.read(read, 1)
    os.kill(child, signal.SIGTERM)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), row(url, "plan/p1") is not None)
"""
    with program(url, "\nready()" + body) as process:
        code, out, _ = end_of(process)
    assert (code, out) == (0, "3 True\n-15 True\n")
    assert rows(url) == []


@pytest.mark.parametrize("grace", [-1, math.nan, math.inf, True, "5", None])
def test_a_grace_that_is_no_number_of_seconds_is_refused_at_the_start_not_at_the_end(url: str, grace: Any) -> None:
    with pytest.raises(ValidationError, match=r"^grace_seconds: must be a number of seconds from 0 to"):
        LockRuntime(url, grace_seconds=grace)


def test_a_lock_that_was_taken_over_is_not_released(url: str) -> None:
    with LockRuntime(url) as runtime:
        runtime.service.acquire("plan", "p1", runtime.owner_id)
        age(url, "plan/p1")
        with lockwatch.connect(url) as other:
            other.acquire("plan", "p1", "other")
    assert [cells[1] for cells in rows(url)] == [b"other"]
