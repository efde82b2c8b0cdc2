"""Statements that hang: a session idle on the row, on the file, or on the whole table; too many sessions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

import pytest

import lockwatch
from lockwatch import LockService, LossReason
from tests.contract.sites import SERVERS, Site, on
from tests.faults.losing import losing
from tests.faults.timeouts import LOCK_SECS, SLACK_SECS, Ahead, service_by, shorten_locks

TTL: Final = lockwatch.MIN_LOCK_TTL_SECS
BEAT: Final = 0.3
PATIENCE_SECS: Final = 15.0
BEGIN: Final = {"sqlite": "BEGIN IMMEDIATE", "postgres": "BEGIN", "mysql": "BEGIN"}
_LOCK_ROW: Final = "SELECT id FROM locks WHERE resource_type = 'plan' AND resource_id = 'p1' FOR UPDATE"
HOLD_ROW: Final = {
    "sqlite": "UPDATE locks SET owner_id = owner_id WHERE resource_type = 'plan' AND resource_id = 'p1'",
    "postgres": _LOCK_ROW,
    "mysql": _LOCK_ROW,
}
HOLD_TABLE: Final = {
    "postgres": ("BEGIN; LOCK TABLE locks IN ACCESS EXCLUSIVE MODE", "ROLLBACK"),
    "mysql": ("LOCK TABLES locks WRITE", "UNLOCK TABLES"),
}


@pytest.fixture
def service(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[LockService]:
    """With short timeouts on servers."""
    shorten_locks(monkeypatch)
    with lockwatch.connect(site.url) as opened:
        yield opened


def test_a_session_idle_on_the_row_of_a_lease_ends_it_by_its_ttl_and_gives_it_to_nobody_meanwhile(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten_locks(monkeypatch)
    ahead = Ahead()
    with service_by(ahead, site.url) as service, lockwatch.connect(site.url) as other, site.raw() as run:
        with losing() as told, service.hold("plan", "p1", "a", ttl_seconds=TTL, heartbeat_seconds=BEAT) as lease:
            run(BEGIN[site.kind])
            run(HOLD_ROW[site.kind])
            run("UPDATE locks SET expires_at = ? WHERE resource_id = 'p1'", site.text(0.2))
            _wait_until_cut_off(lease)
            ahead.seconds = TTL
            assert lease.lost.wait(PATIENCE_SECS)
            begun = time.monotonic()
            with pytest.raises(
                (lockwatch.LockConflictError, lockwatch.DatabaseBusyError), match=r"keeps the|held by a"
            ):
                other.acquire("plan", "p1", "b")
            assert time.monotonic() - begun < 2 * LOCK_SECS + SLACK_SECS
            run("COMMIT")
            taken = other.acquire("plan", "p1", "b", wait_seconds=1)
        assert told[0].reason is LossReason.UNREACHABLE
        assert taken.id > lease.fence
        assert other.get("plan", "p1") == taken


def _wait_until_cut_off(lease: lockwatch.Lease) -> None:
    give_up_at = time.monotonic() + PATIENCE_SECS
    while not lease.is_cut_off and time.monotonic() < give_up_at:
        time.sleep(0.01)


@on(*SERVERS)
def test_a_session_idle_on_one_row_holds_up_no_other_resource(service: LockService, site: Site) -> None:
    service.acquire("plan", "p1", "a", 600)
    with site.raw() as run:
        run(BEGIN[site.kind])
        run(HOLD_ROW[site.kind])
        begun = time.monotonic()
        with service.hold("plan", "p2", ttl_seconds=TTL):
            with pytest.raises(lockwatch.LockConflictError):
                service.acquire("plan", "p1", "b")
            service.cleanup_expired()
            assert len(service.snapshot().locks) == 2
        assert time.monotonic() - begun < LOCK_SECS + SLACK_SECS
        with pytest.raises(lockwatch.DatabaseBusyError, match="keeps the"):
            service.release("plan", "p1", "a")
        run("ROLLBACK")
        assert service.release("plan", "p1", "a")


@on(*SERVERS)
def test_a_statement_that_hangs_on_the_table_ends_in_time(service: LockService, site: Site) -> None:
    service.acquire("plan", "p1", "a", 600)
    hold, let_go = HOLD_TABLE[site.kind]
    with site.raw() as run:
        run(hold)
        for call in (
            lambda: service.acquire("plan", "p2", "b"),
            lambda: service.get("plan", "p1"),
            lambda: service.release("plan", "p1", "a"),
        ):
            begun = time.monotonic()
            with pytest.raises(lockwatch.DatabaseError, match=r"keeps the|cannot be reached"):
                call()
            assert time.monotonic() - begun < 2 * LOCK_SECS + SLACK_SECS
        run(let_go)
        assert service.release("plan", "p1", "a")
        assert service.acquire("plan", "p2", "b").owner_id == "b"
