"""Timeouts cut short, so that a test of what happens after them does not take as long as they do."""

from __future__ import annotations

from typing import Final

import pytest

from lockwatch import LockService
from lockwatch.core import mariadb, postgres
from lockwatch.core.monotonic import elapsed
from lockwatch.database import Database

ANSWER_SECS: Final = 1
LOCK_SECS: Final = 1
SLACK_SECS: Final = 3.0
"""How much later than its timeout a call may come back on a busy machine."""


class Ahead:
    """This machine's clock for deadlines, which a test moves so that it need not wait for a lease to end."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return elapsed() + self.seconds


def service_by(ahead: Ahead, url: str) -> LockService:
    """A service whose leases end by that clock."""
    database = Database.from_url(url)
    return LockService(database.engine(), identity=database.identity, monotonic=ahead)


def shorten_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer is waited for one second, on connections that are opened from now on."""
    monkeypatch.setattr("lockwatch.core.patient.PatientConnection.patience_secs", float(ANSWER_SECS))
    monkeypatch.setitem(mariadb._DEFAULTS, "read_timeout", ANSWER_SECS)


def shorten_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What another transaction has locked is waited for one second, on connections that are opened from now on."""
    options = postgres.OPTIONS.replace("lock_timeout=5s", f"lock_timeout={LOCK_SECS}s")
    assert options != postgres.OPTIONS
    monkeypatch.setattr(postgres, "OPTIONS", options)
    for name in ("innodb_lock_wait_timeout", "lock_wait_timeout"):
        monkeypatch.setitem(mariadb._SETTINGS, name, LOCK_SECS)
    monkeypatch.setattr("lockwatch.sqlite_file.BUSY_TIMEOUT_SECS", float(LOCK_SECS))
