"""What many tests need: a clock to move, rows seen and changed from outside, processes that start together."""

from __future__ import annotations

import multiprocessing
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any, Final, TypeVar

T = TypeVar("T")

START: Final = datetime(2020, 2, 29, 12, 0, 0, tzinfo=UTC)
"""Where a movable clock starts: long past, so that a mix-up with this machine's clock shows at once."""
LONG_AGO: Final = "2001-01-01T00:00:00.000000Z"
"""In the past of a movable clock and of this machine's."""
ROOT: Final = Path(__file__).parents[1]
"""The checkout."""

_MEETING_SECS: Final = 60.0
_PRELOADED: Final = [
    "lockwatch.plans",
    "lockwatch.postgres_database",
    "lockwatch.mariadb_database",
    "tests.contract.sites",
]
"""What new processes need not load themselves: a dozen that each load all of it wait for one another for seconds."""
_meeting: Barrier | None = None


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, start: datetime = START) -> None:
        self.now = start

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        """Move it, backwards too."""
        self.now += timedelta(seconds=seconds)

    def text(self, seconds: float = 0) -> str:
        """The moment `seconds` from its now, in the form that lockwatch writes."""
        return f"{(self.now + timedelta(seconds=seconds)).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def path_of(url: str) -> Path:
    """The file of an SQLite URL."""
    return Path(url.removeprefix("sqlite:///"))


@contextmanager
def raw(url: str) -> Iterator[sqlite3.Connection]:
    """A connection of the driver in autocommit, as another program would have one."""
    with closing(
        sqlite3.connect(path_of(url), timeout=30, isolation_level=None, check_same_thread=False)
    ) as connection:
        yield connection


def execute(url: str, sql: str, parameters: Sequence[object] = ()) -> list[Any]:
    """One statement on a connection of its own: its rows."""
    with raw(url) as connection:
        return connection.execute(sql, parameters).fetchall()


def age(url: str, resource: str, expires_at: object = LONG_AGO) -> None:
    """Set the expiry of a resource's row (`plan/p1`), to the past if nothing else is said."""
    resource_type, _, resource_id = resource.partition("/")
    with raw(url) as connection:
        changed = connection.execute(
            "UPDATE locks SET expires_at = ? WHERE resource_type = ? AND resource_id = ?",
            (expires_at, resource_type, resource_id),
        ).rowcount
    assert changed == 1, f"{resource} has no row"


def row(url: str, resource: str) -> tuple[object, ...] | None:
    """A resource's row, every text in it as the bytes that are stored; None if it has none."""
    found = [cells for cells in rows(url) if b"%s/%s" % (cells[2], cells[3]) == resource.encode()]
    return found[0] if found else None


def rows(url: str) -> list[tuple[Any, ...]]:
    """All rows ordered by id, every text in them as the bytes that are stored."""
    with raw(url) as connection:
        connection.text_factory = bytes
        return connection.execute(
            "SELECT id, owner_id, resource_type, resource_id, acquired_at, expires_at FROM locks ORDER BY id"
        ).fetchall()


def insert_row(
    url: str,
    resource: str = "plan/p1",
    owner: object = "stranger",
    *,
    acquired_at: object = LONG_AGO,
    expires_at: object = LONG_AGO,
    lock_id: int | None = None,
) -> int:
    """Put a row into the table as another program would: its id."""
    resource_type, _, resource_id = resource.partition("/")
    ((number,),) = execute(
        url,
        "INSERT INTO locks (id, owner_id, resource_type, resource_id, acquired_at, expires_at)"
        " VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
        (lock_id, owner, resource_type, resource_id, acquired_at, expires_at),
    )
    return int(number)


def dump(url: str) -> list[str]:
    """The whole database as statements, schema and rows."""
    with raw(url) as connection:
        return list(connection.iterdump())


def together(work: Callable[..., T], *arguments: Sequence[object]) -> list[T]:
    """Run `work(*arguments[i])` in one new process for each of `arguments`: what each returned.

    All begin at once. `work` is a function of a module's top level; it may call `meet` for further barriers.
    """
    if str(ROOT) not in sys.path:
        sys.path.append(str(ROOT))  # a new process has the path of this one, and must find `tests`
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    barrier = context.Barrier(len(arguments))
    with ProcessPoolExecutor(len(arguments), mp_context=context, initializer=_arrive, initargs=(barrier,)) as pool:
        futures = [pool.submit(_begin, work, given) for given in arguments]
        return [future.result(timeout=2 * _MEETING_SECS) for future in futures]


def meet() -> None:
    """In a process of `together`: wait for all the others to come here too."""
    assert _meeting is not None, "not in a process that `together` started"
    _meeting.wait(_MEETING_SECS)


def _arrive(barrier: Barrier) -> None:
    global _meeting  # noqa: PLW0603 a barrier reaches a process only at its start
    _meeting = barrier


def _begin(work: Callable[..., T], given: Sequence[object]) -> T:
    meet()
    return work(*given)
