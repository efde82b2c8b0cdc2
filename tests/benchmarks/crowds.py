"""A table as a busy site has it. `python -m tests.benchmarks.crowds FILE LOCKS` changes 1 % of it each second."""

from __future__ import annotations

import itertools
import random
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Final, TypeAlias

from lockwatch.core.sqlite import DIALECT as SQLITE
from lockwatch.core.timestamps import to_text, utc_now
from lockwatch.sqlite_file import SqliteFile

STALE: Final = 5
_TTLS: Final = (60, 120, 300, 600, 900, 1800, 3600)
_SLUGS: Final = ("import-customers", "nightly-backup", "2026-11/thumbnails", "search-index/products", "mail-digest",
                 "reindex-catalogue", "sync-inventory", "2026-12/invoices")  # fmt: skip
_BEATS_A_SECOND: Final = 10
_INSERT: Final = (
    "INSERT INTO locks (owner_id, resource_type, resource_id, acquired_at, expires_at) VALUES (?, ?, ?, ?, ?)"
)

_Row: TypeAlias = tuple[str, str, str, str, str]


def crowd(path: Path, locks: int) -> Path:
    """Make a database with so many locks of distinct owners, all renewed at a third of their TTL; a few are stale."""
    SqliteFile(path).upgrade()
    chance = random.Random(7)  # noqa: S311 no secret: the same locks in every run
    with closing(_raw(path)) as raw:
        raw.execute("BEGIN IMMEDIATE")
        raw.executemany(_INSERT, (_lock(number, chance, stale=number < STALE) for number in range(locks)))
        raw.execute("COMMIT")
    return path


def work(path: Path, locks: int) -> None:
    """Change 1 % of the locks each second, for ever: of ten changes eight renew, one ends a lock, one makes one."""
    chance = random.Random(11)  # noqa: S311 no secret: the same changes in every run
    beat = 1 / _BEATS_A_SECOND
    ids = range(STALE + 1, locks + 1)
    changes = max(1, locks // 100 // _BEATS_A_SECOND // 10)
    with closing(_raw(path)) as raw:
        ((greatest,),) = raw.execute("SELECT max(id) FROM locks").fetchall()
        numbers = itertools.count(greatest)
        for due in itertools.count(time.monotonic(), beat):
            time.sleep(max(0.0, due - time.monotonic()))
            raw.execute("BEGIN IMMEDIATE")
            raw.executemany("UPDATE locks SET expires_at = ? WHERE id = ?", _renewals(chance, ids, 8 * changes))
            raw.executemany("DELETE FROM locks WHERE id = ?", [(chance.choice(ids),) for _ in range(changes)])
            raw.executemany(_INSERT, (_lock(next(numbers), chance) for _ in range(changes)))
            raw.execute("COMMIT")


def _lock(number: int, chance: random.Random, *, stale: bool = False) -> _Row:
    ttl = _TTLS[number % len(_TTLS)]
    now = utc_now()
    left = -40.0 * (number + 1) if stale else ttl * chance.uniform(2 / 3, 1)
    expires = now + timedelta(seconds=left)
    acquired = expires - timedelta(seconds=ttl + chance.uniform(0, 4 * ttl))
    kind = "project" if number % 5 == 0 else "plan"
    owner = f"worker-{number}@build-{number % 40}.example:{1000 + number * 7 % 60000}"
    return owner, kind, f"{_SLUGS[number % len(_SLUGS)]}-{number}", to_text(acquired), to_text(expires)


def _renewals(chance: random.Random, ids: range, count: int) -> Iterator[tuple[str, int]]:
    now = utc_now()
    for _ in range(count):
        number = chance.choice(ids)
        yield to_text(now + timedelta(seconds=_TTLS[(number - 1) % len(_TTLS)])), number


def _raw(path: Path) -> sqlite3.Connection:
    raw = sqlite3.connect(path, isolation_level=None, timeout=30)
    SQLITE.prepare(raw, utc_now)
    return raw


if __name__ == "__main__":
    work(Path(sys.argv[1]), int(sys.argv[2]))
