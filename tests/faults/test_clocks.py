"""Clocks that are apart, set, or change to winter time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, Self

import pytest
from sqlalchemy import make_url

import lockwatch
from lockwatch import LossReason
from lockwatch.core import timestamps
from lockwatch.core.timestamps import utc_now
from lockwatch.database import Database
from tests.contract.sites import Site
from tests.faults.losing import losing
from tests.faults.servers import ZONE, OwnServer
from tests.support import Clock

APART: Final = timedelta(minutes=10)
WINTER_TIME: Final = datetime(2026, 10, 25, 1, 0, 0, tzinfo=UTC)
"""When clocks in Berlin are set from 3:00 back to 2:00."""


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process lives by the time of a place that has summer time."""
    monkeypatch.setenv("TZ", ZONE)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("apart", [APART, -APART], ids=["ahead", "behind"])
def test_a_machine_whose_clock_is_apart_takes_nothing_and_holds_as_long_as_others(
    served: Site, apart: timedelta, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Apart(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return super().now(tz) + apart

    with lockwatch.connect(served.url) as service, lockwatch.connect(served.url) as elsewhere:
        lock = service.acquire("plan", "p1", "a", 60)
        monkeypatch.setattr(timestamps, "datetime", Apart)  # and so whatever reads this machine's wall clock
        assert abs(utc_now() - served.now() - apart) < timedelta(seconds=10)
        with pytest.raises(lockwatch.LockConflictError) as refused:
            elsewhere.acquire("plan", "p1", "b")
        assert 50 < refused.value.holder.remaining(refused.value.now) <= 60
        assert elsewhere.cleanup_expired() == elsewhere.count_stale_locks() == 0
        assert service.get("plan", "p1") == lock
        with elsewhere.hold("plan", "p2", ttl_seconds=60) as lease:
            granted = lease.lock
            assert granted.expires_at is not None
            assert granted.acquired_at is not None
            assert granted.expires_at - granted.acquired_at == timedelta(seconds=60)
            assert abs(granted.acquired_at - served.now()) < timedelta(seconds=10)
            with Database.from_url(served.url).transactional_engine().begin() as connection:
                lease.guard(connection)


def test_on_a_file_a_clock_set_forward_ends_leases_and_the_guard_tells_the_holder(url: str) -> None:
    ahead = [timedelta()]

    def wall() -> datetime:
        return utc_now() + ahead[0]

    with lockwatch.connect(url, clock=wall) as service, lockwatch.connect(url, clock=wall) as other:
        with losing() as told, service.hold("plan", "p1", "a", ttl_seconds=60) as lease:
            ahead[0] = APART
            taken = other.acquire("plan", "p1", "b")
            assert taken.id > lease.fence
            with Database.from_url(url).transactional_engine().begin() as connection:
                lease.guard(connection)
        assert told[0].reason is LossReason.TAKEN_OVER
        assert other.get("plan", "p1") == taken


def _judged_at(url: str) -> Callable[[datetime], lockwatch.LockService]:
    """Services whose database lives at a moment that is given."""

    def judged(moment: datetime) -> lockwatch.LockService:
        setting = f"SET timestamp = {moment.timestamp():.6f}"
        whole = make_url(url).update_query_dict({"init_command": setting})
        return lockwatch.connect(whole.render_as_string(hide_password=False))

    return judged


def _in_postgres(server: OwnServer) -> Callable[[datetime], lockwatch.LockService]:
    """The same where a clock of ours is found before the server's."""
    server.site.execute("CREATE SCHEMA IF NOT EXISTS moved")
    server.site.execute("CREATE TABLE IF NOT EXISTS moved.clock (now timestamptz)")
    server.site.execute(
        "CREATE OR REPLACE FUNCTION moved.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS"
        " 'SELECT max(now) FROM moved.clock'"
    )
    path = make_url(server.site.url).update_query_dict({"options": "-c search_path=moved,pg_catalog,public"})

    def judged(moment: datetime) -> lockwatch.LockService:
        server.site.execute("DELETE FROM moved.clock")
        server.site.execute("INSERT INTO moved.clock VALUES (?)", moment)
        return lockwatch.connect(path.render_as_string(hide_password=False))

    return judged


def _outlives_winter_time(judged: Callable[[datetime], lockwatch.LockService]) -> None:
    """A lease of 60 s, granted 30 s before the hour comes twice."""
    with judged(WINTER_TIME - timedelta(seconds=30)) as service:
        lock = service.acquire("plan", "p1", "a", 60)
        assert lock.expires_at == WINTER_TIME + timedelta(seconds=30)
    with judged(WINTER_TIME + timedelta(seconds=29.9)) as service:
        with pytest.raises(lockwatch.LockConflictError):
            service.acquire("plan", "p1", "b")
        assert service.get("plan", "p1") == lock
        assert service.cleanup_expired() == 0
    with judged(WINTER_TIME + timedelta(seconds=30)) as service:
        assert service.count_stale_locks() == 1
        assert service.acquire("plan", "p1", "b", 60).id > lock.id
        assert service.release("plan", "p1", "b")


@pytest.mark.usefixtures("berlin")
def test_a_lease_on_a_server_neither_ends_nor_gains_an_hour_when_winter_time_comes(server: OwnServer) -> None:
    _outlives_winter_time(_in_postgres(server) if server.kind == "postgres" else _judged_at(server.site.url))


NOON: Final = datetime(2026, 12, 1, 15, 0, 0, tzinfo=UTC)
NOONS: Final = (
    "2026-12-01T10:00:00-05:00",
    "2026-12-01T15:00:00+00:00",
    "2026-12-01 15:00:00",
    "2026-12-01T15:00:00Z",
    "2026-12-01T15:00:00.000000Z",
)


def _lives_until_noon(judged: Callable[[datetime], lockwatch.LockService], site: Site, text: str) -> None:
    """Three leases that end at noon: live a second before it, and expired at it."""
    site.insert_rows(dict.fromkeys(("plan/p1", "plan/p2", "plan/p3"), text), "a")
    with judged(NOON - timedelta(seconds=1)) as service:
        lock = service.get("plan", "p1")
        assert lock is not None
        assert lock.remaining(service.now()) == 1
        assert service.cleanup_expired() == service.count_stale_locks() == len(service.snapshot().stale) == 0
        with pytest.raises(lockwatch.LockConflictError):
            service.acquire("plan", "p1", "b")
        assert service.renew("plan", "p3", "a", 5).expires_text == "2026-12-01T15:00:04.000000Z"
    with judged(NOON) as service:
        assert service.count_stale_locks() == len(service.snapshot().stale) == 2
        with pytest.raises(lockwatch.LockExpiredError):
            service.renew("plan", "p1", "a")
        assert service.release("plan", "p1", "a") is False
        site.insert_row("plan/p1", "a", text)
        assert service.acquire("plan", "p1", "b", 5).expires_text == "2026-12-01T15:00:05.000000Z"
        assert service.cleanup_expired() == 1
        assert [lock.resource_id for lock in service.snapshot().locks] == ["p3", "p1"]
    site.clear()


def test_on_a_server_each_text_of_one_moment_is_live_a_second_before_it_and_expired_at_it(server: OwnServer) -> None:
    judged = _in_postgres(server) if server.kind == "postgres" else _judged_at(server.site.url)
    for text in NOONS:
        _lives_until_noon(judged, server.site, text)


@pytest.mark.usefixtures("berlin")
def test_a_lease_in_a_file_neither_ends_nor_gains_an_hour_when_winter_time_comes(url: str) -> None:
    assert time.localtime(WINTER_TIME.timestamp()).tm_hour == 2
    _outlives_winter_time(lambda moment: lockwatch.connect(url, clock=Clock(moment)))
