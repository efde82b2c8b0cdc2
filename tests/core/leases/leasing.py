"""Leases under clocks that tests move, and heartbeats that tests hold up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.orm import Session

import lockwatch
from lockwatch.core.lease import Lease
from lockwatch.core.table import LockTable
from lockwatch.database import Database
from tests.support import Clock, execute

E = TypeVar("E", bound=BaseException)

TTL = 30.0
PATIENCE_SECS = 20.0
"""How long a test waits for what should come at once, on a machine that is busy."""


@dataclass(slots=True)
class Times:
    """Both clocks of a service, moved together or one alone."""

    wall: Clock = field(default_factory=Clock)
    elapsed: float = 1000.0

    def monotonic(self) -> float:
        return self.elapsed

    def advance(self, seconds: float) -> None:
        self.wall.advance(seconds)
        self.elapsed += seconds


@contextmanager
def service_at(url: str, times: Times) -> Iterator[lockwatch.LockService]:
    """A service that lives by clocks which stand still until they are moved."""
    database = Database.from_url(url)
    service = lockwatch.LockService(
        database.engine(), clock=times.wall, identity=database.identity, monotonic=times.monotonic
    )
    with service:
        yield service


@contextmanager
def raising(kind: type[E]) -> Iterator[pytest.ExceptionInfo[E]]:
    """`pytest.raises` for a whole body that runs under a lease."""
    with pytest.raises(kind) as caught:
        yield caught


def eventually(is_so: Callable[[], object], seconds: float = PATIENCE_SECS) -> bool:
    """Whether it becomes so in time."""
    give_up_at = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > give_up_at:
            return False
        time.sleep(0.002)
    return True


class Told:
    """An `on_lost` that remembers its calls, and may raise."""

    def __init__(self, failure: BaseException | None = None) -> None:
        self.leases: list[Lease] = []
        self.threads: list[threading.Thread] = []
        self._failure = failure

    def __call__(self, lease: Lease) -> None:
        assert lease.lost.is_set()
        self.leases.append(lease)
        self.threads.append(threading.current_thread())
        if self._failure:
            raise self._failure


def lease_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("lockwatch ")]


@dataclass(slots=True)
class Barrier:
    """Holds up calls of one method of the table that come from one thread, until `opened` is set."""

    reached: threading.Event = field(default_factory=threading.Event)
    opened: threading.Event = field(default_factory=threading.Event)
    passed: threading.Event = field(default_factory=threading.Event)

    def stop(self) -> None:
        self.reached.set()
        assert self.opened.wait(PATIENCE_SECS)


def hold_up_heartbeat(monkeypatch: pytest.MonkeyPatch, method: str, *, after: bool = False) -> Barrier:
    """Stop the heartbeat's first call of `find`, `extend` or `end`, before its SQL runs or (`after`) when it has."""
    barrier = Barrier()
    real = getattr(LockTable, method)

    def held_up(table: LockTable, *arguments: object, **named: object) -> object:
        if threading.current_thread().name != "lockwatch heartbeat" or barrier.reached.is_set():
            return real(table, *arguments, **named)
        if after:
            answer = real(table, *arguments, **named)
            barrier.stop()
        else:
            barrier.stop()
            answer = real(table, *arguments, **named)
        barrier.passed.set()
        return answer

    monkeypatch.setattr(LockTable, method, held_up)
    return barrier


def write(connection: Connection | Session) -> None:
    connection.execute(text("INSERT INTO work VALUES ('x')"))


def written(url: str) -> int:
    ((count,),) = execute(url, "SELECT count(*) FROM work")
    return int(count)
