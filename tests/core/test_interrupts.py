"""ctrl+c in the main thread while SQLite works: it is a KeyboardInterrupt, wherever it comes."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime

import pytest

import lockwatch
from lockwatch.core.interrupts import noting, swallowed
from tests.support import path_of

SOON_SECS = 0.2


@contextmanager
def _interrupted_while_busy(url: str) -> Iterator[None]:
    """A database that another connection keeps busy until ctrl+c was pressed, and a little longer."""
    other = sqlite3.connect(path_of(url), isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")

    def interrupt() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        later = threading.Timer(SOON_SECS, other.rollback)
        later.start()
        later.join()

    timer = threading.Timer(SOON_SECS, interrupt)
    timer.start()
    try:
        yield
    finally:
        timer.join()
        other.close()


def test_ctrl_c_while_an_acquisition_waits_for_a_busy_database_is_a_keyboard_interrupt(url: str) -> None:
    with lockwatch.connect(url) as service:
        with pytest.raises(KeyboardInterrupt), _interrupted_while_busy(url):
            service.acquire("plan", "p1", "a")
        assert service.snapshot().locks == ()


def test_ctrl_c_while_a_release_waits_for_a_busy_database_is_not_lost(url: str) -> None:
    with lockwatch.connect(url) as service:
        with ExitStack() as busy, pytest.raises(KeyboardInterrupt), service.hold("plan", "p1", "a"):
            busy.enter_context(_interrupted_while_busy(url))
        assert service.leases() == []


def test_what_ends_a_process_comes_out_of_a_function_that_sqlite_called() -> None:
    assert isinstance(_raised_through_sqlite(SystemExit(3)), SystemExit)


def test_an_error_of_a_function_is_no_interrupt() -> None:
    assert _raised_through_sqlite(ValueError("a bad clock")) is None


def _raised_through_sqlite(error: BaseException) -> BaseException | None:
    def function() -> str:
        raise error

    connection = sqlite3.connect(":memory:")
    connection.create_function("f", 0, noting(function))
    with pytest.raises(sqlite3.OperationalError) as failure:
        connection.execute("SELECT f()")
    connection.close()
    return swallowed(failure.value)


def test_a_clock_that_raises_is_an_error_of_the_database(url: str) -> None:
    def clock() -> datetime:
        raise ValueError(f"no time after {datetime.now(UTC)}")

    with lockwatch.connect(url, clock=clock) as service, pytest.raises(lockwatch.DatabaseError):
        service.acquire("plan", "p1", "a")
