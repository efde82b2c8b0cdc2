"""A service that lives by clocks which tests move, and whose threads look at them often."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, create_engine

import lockwatch
from lockwatch.core.lease import Lease
from tests.core.leases.leasing import TTL, Times, service_at
from tests.support import execute


@pytest.fixture
def times() -> Times:
    return Times()


@pytest.fixture
def service(url: str, times: Times, monkeypatch: pytest.MonkeyPatch) -> Iterator[lockwatch.LockService]:
    monkeypatch.setattr("lockwatch.core.rounds.TICK_SECS", 0.01)
    monkeypatch.setattr("lockwatch.core.keeper.TICK_SECS", 0.01)
    with service_at(url, times) as opened:
        yield opened


@pytest.fixture
def lease(service: lockwatch.LockService) -> Iterator[Lease]:
    """A lease of plan/p1 by a, as in the body of a hold."""
    hold = service.hold("plan", "p1", "a", ttl_seconds=TTL)
    yield hold.__enter__()
    hold.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    """The caller's own engine on the same database, with a table to write to."""
    execute(url, "CREATE TABLE work (done TEXT)")
    made = create_engine(url, connect_args={"timeout": 0.1})
    yield made
    made.dispose()
