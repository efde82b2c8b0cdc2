"""The lock core on SQLite against raw `sqlite3` that runs the same statements in the same process."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import lockwatch
from lockwatch.core.sqlite import DIALECT as SQLITE
from lockwatch.core.timestamps import to_text, utc_now
from lockwatch.sqlite_file import SqliteFile
from tests.benchmarks.measuring import Figure, median_ratio, seconds

CALLS = 400
ROUNDS = 25
MANY = 100_000
PAST = "2020-01-01T00:00:00.000000Z"


def figures() -> Iterator[Figure]:
    """Every figure of the core, one after the other."""
    with TemporaryDirectory() as folder:
        small, beside_live, beside_stale = (_database(Path(folder) / name) for name in ("small", "live", "stale"))
        _fill(beside_live, expires_at="2999-01-01T00:00:00.000000Z")
        _fill(beside_stale, expires_at=PAST)
        with _service(small) as service, closing(_raw(small)) as raw:
            yield _acquire_and_release(service, raw)
            yield _refused(service, raw)
        yield _beside("acquire+release beside 100k other locks", small, beside_live)
        yield _beside("acquire+release beside 100k stale locks", small, beside_stale)
        yield _clean_up(beside_stale)


def _acquire_and_release(service: lockwatch.LockService, raw: sqlite3.Connection) -> Figure:
    sql = SQLITE.statements
    named = {"type": "plan", "resource": "p1"}

    def by_raw() -> None:
        for _ in range(CALLS):
            ((lock, _acquired, _expires),) = raw.execute(sql.insert, {**named, "owner": "w", "ttl": 300}).fetchall()
            ((_, owner, _, _, _, expires, _now),) = raw.execute(sql.find, named).fetchall()
            raw.execute(sql.end, {"lock": lock, "owner": owner, "expires": expires}).fetchall()

    ratio = median_ratio(by_raw, partial(_cycles, service), ROUNDS)
    return Figure(name="acquire+release, of raw sqlite3's speed", ratio=ratio, relation=">=", bar=0.70)


def _refused(service: lockwatch.LockService, raw: sqlite3.Connection) -> Figure:
    sql = SQLITE.statements
    named = {"type": "plan", "resource": "held"}
    service.acquire("plan", "held", "somebody")

    def by_raw() -> None:
        for _ in range(CALLS):
            raw.execute(sql.insert, {**named, "owner": "w", "ttl": 300}).fetchall()
            raw.execute(sql.find, named).fetchall()

    def by_service() -> None:
        for _ in range(CALLS):
            try:
                service.acquire("plan", "held", "w")
            except lockwatch.LockConflictError:
                continue
            raise AssertionError("it was granted")

    ratio = median_ratio(by_raw, by_service, ROUNDS)
    return Figure(name="refused acquire, of raw sqlite3's speed", ratio=ratio, relation=">=", bar=0.50)


def _beside(name: str, small: SqliteFile, large: SqliteFile) -> Figure:
    with _service(small) as alone, _service(large) as crowded:
        ratio = median_ratio(partial(_cycles, crowded), partial(_cycles, alone), ROUNDS)
    return Figure(name=f"{name}, time over an empty table's", ratio=ratio, relation="<=", bar=1.5)


def _clean_up(database: SqliteFile) -> Figure:
    with _service(database) as service, closing(_raw(database)) as raw:

        def by_raw() -> None:
            raw.execute("DELETE FROM locks WHERE expires_at <= ?", (to_text(utc_now()),))

        def refilled(work: Callable[[], object]) -> float:
            _fill(database, expires_at=PAST)
            return seconds(work)

        ratio = median(refilled(service.cleanup_expired) / refilled(by_raw) for _ in range(5))
    return Figure(name="clean-up of 100k stale, time over one raw DELETE's", ratio=ratio, relation="<=", bar=3)


def _cycles(service: lockwatch.LockService) -> None:
    for _ in range(CALLS):
        service.acquire("plan", "p1", "w")
        service.release("plan", "p1", "w")


def _database(folder: Path) -> SqliteFile:
    folder.mkdir()
    database = SqliteFile(folder / "locks.db")
    database.upgrade()
    return database


def _service(database: SqliteFile) -> lockwatch.LockService:
    return lockwatch.connect(f"sqlite:///{database.path}")


def _raw(database: SqliteFile) -> sqlite3.Connection:
    raw = sqlite3.connect(database.path, isolation_level=None)
    SQLITE.prepare(raw, utc_now)
    return raw


def _fill(database: SqliteFile, expires_at: str) -> None:
    rows = [(f"w{n % 100}", "plan", f"p-{n}", PAST, expires_at) for n in range(MANY)]
    with closing(_raw(database)) as raw:
        raw.execute("BEGIN IMMEDIATE")
        raw.executemany(
            "INSERT OR IGNORE INTO locks (owner_id, resource_type, resource_id, acquired_at, expires_at)"
            " VALUES (?, ?, ?, ?, ?)",
            rows,
        )
        raw.execute("COMMIT")
