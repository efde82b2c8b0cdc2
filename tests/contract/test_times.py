"""Time: texts of any form, the clock that judges, and what changes none of it."""

from __future__ import annotations

import threading
import time
from datetime import timedelta

import pytest

import lockwatch
from lockwatch import LockService
from lockwatch.core.model import Key
from lockwatch.core.timestamps import utc_now
from tests.contract.sites import EPOCH, SERVERS, Site, on

FORMS = ("{}-05:00", "{}+00:00", "{}", "{}Z", "{}.000000Z")


def _in_form(form: str, site: Site, seconds: int) -> str:
    moment = (site.now() + timedelta(seconds=seconds)).replace(microsecond=0, tzinfo=None)
    if "-05:00" in form:
        moment -= timedelta(hours=5)
    return form.format(moment.isoformat(sep=" " if form == "{}" else "T"))


@pytest.mark.parametrize("form", FORMS)
def test_any_iso_text_is_live_before_it(service: LockService, site: Site, form: str) -> None:
    site.insert_row("plan/p1", "a", _in_form(form, site, 60))
    lock = service.get("plan", "p1")
    assert lock is not None
    assert not lock.is_expired(service.now())
    with pytest.raises(lockwatch.LockConflictError):
        service.acquire("plan", "p1", "b")
    assert service.count_stale_locks() == service.cleanup_expired() == 0
    assert service.snapshot().stale == ()
    assert service.renew("plan", "p1", "a", 600).id == lock.id


@pytest.mark.parametrize("form", FORMS)
def test_any_iso_text_is_expired_after_it(service: LockService, site: Site, form: str) -> None:
    text = _in_form(form, site, -1)
    site.insert_row("plan/p1", "a", text)
    site.insert_row("plan/p2", "a", text)
    with pytest.raises(lockwatch.LockExpiredError):
        service.renew("plan", "p1", "a")
    assert len(service.snapshot().stale) == service.count_stale_locks() == 2
    assert service.acquire("plan", "p1", "b").owner_id == "b"
    assert service.cleanup_expired() == 1
    assert [row[1] for row in site.rows()] == ["b"]


UNREADABLE = (
    "soon",
    "",
    "0000-01-01T00:00:00.000000Z",
    "2001-02-30T00:00:00.000000Z",
    "2001-13-01T00:00:00.000000Z",
    "2001-02-03T04:05:60.000000Z",
    "2001-02-03T04:05:06.00 000Z",
)


@pytest.mark.parametrize("text", UNREADABLE)
def test_what_cannot_be_read_never_expires(service: LockService, site: Site, text: str) -> None:
    site.insert_row("plan/p1", "a", text)
    assert service.count_stale_locks() == service.cleanup_expired() == 0
    for owner in ("a", "b"):
        with pytest.raises(lockwatch.LockConflictError):
            service.acquire("plan", "p1", owner)
    assert service.release("plan", "p1", "a") is False
    assert service.release_all_for_owner("a") == 0
    assert len(site.rows()) == 1


@pytest.mark.parametrize("text", ["2000-02-29T00:00:00.000000Z", "2000-02-29T00:00:00.000000z", "2000-12-31 23:59"])
def test_leap_days_and_odd_forms_expire(service: LockService, site: Site, text: str) -> None:
    site.insert_row("plan/p1", "a", text)
    assert service.count_stale_locks() == service.cleanup_expired() == 1


@on(*SERVERS)
def test_the_databases_clock_judges_whatever_this_machines_says(site: Site) -> None:
    ahead = lockwatch.connect(site.url, clock=lambda: utc_now() + timedelta(minutes=10))
    with ahead as early, lockwatch.connect(site.url) as service:
        lock = service.acquire("plan", "p1", "a", 300)
        with pytest.raises(lockwatch.LockConflictError):
            early.acquire("plan", "p1", "b")
        assert early.cleanup_expired() == early.count_stale_locks() == 0
        taken = early.acquire("plan", "p2", "b", 300)
        assert taken.expires_at is not None
        assert lock.expires_at is not None
        assert abs((taken.expires_at - lock.expires_at).total_seconds()) < 5


def test_a_grant_counts_from_the_statement_not_from_the_callers_transaction(service: LockService, site: Site) -> None:
    with site.raw() as run:
        run("BEGIN")
        run("SELECT count(*) FROM locks")
        time.sleep(0.3)
        before = site.now()
        lock = service.acquire("plan", "p1", "a", 5)
        run("ROLLBACK")
    assert lock.remaining(before) >= 5


def test_the_moment_is_that_of_a_statement_not_that_of_the_start_of_its_transaction(
    service: LockService, site: Site
) -> None:
    with service._tables.use() as table:

        def late() -> None:
            table.now()
            time.sleep(0.2)
            before = site.now()
            lock = table.insert(Key("plan", "p1"), "a", 5)
            assert lock is not None
            assert lock.remaining(before) >= 5
            extended = table.extend(lock, 60)
            assert extended is not None
            assert extended.remaining(before) >= 60
            assert table.now() >= before
            ended_at = table.end(extended)
            assert ended_at is not None
            assert ended_at >= before

        table.connection.transact(late)


def test_a_grant_that_another_transaction_held_up_has_its_whole_ttl_left(service: LockService, site: Site) -> None:
    service.now()
    with site.raw() as run:
        run("BEGIN" if site.is_server else "BEGIN IMMEDIATE")
        run("INSERT INTO locks VALUES (-1, 'x', 'plan', 'p1', ?, ?)", EPOCH, EPOCH)
        ending = threading.Timer(0.6, run, ("ROLLBACK",))
        ending.start()
        before = site.now()
        lock = service.acquire("plan", "p1", "a", 5)
        ending.join()
    assert lock.remaining(before) > 5.4
    assert service.get("plan", "p1") == lock


def test_a_renewal_that_another_transaction_held_up_lasts_its_whole_ttl(service: LockService, site: Site) -> None:
    service.acquire("plan", "p1", "a", 5)
    for renew in (service.renew, service.acquire):
        with site.raw() as run:
            run("BEGIN" if site.is_server else "BEGIN IMMEDIATE")
            run("UPDATE locks SET acquired_at = ?", site.text())
            ending = threading.Timer(0.6, run, ("COMMIT",))
            ending.start()
            before = site.now()
            lock = renew("plan", "p1", "a", 5)
            ending.join()
        assert lock.remaining(before) > 5.4
        assert lock.expires_text == site.rows()[0][5]


ZONES = {
    "postgres": "?options=-c%20TimeZone%3DAsia/Tokyo",
    "mysql": "?init_command=SET%20time_zone%3D'%2B09:00'",
    "sqlite": "",
}


def test_the_sessions_time_zone_changes_nothing(
    site: Site, service: LockService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        with lockwatch.connect(f"{site.url}{ZONES[site.kind]}") as in_tokyo:
            lock = in_tokyo.acquire("plan", "p1", "a", 60)
            assert abs((in_tokyo.now() - service.now()).total_seconds()) < 5
            assert 50 < lock.remaining(service.now()) <= 60
            assert service.get("plan", "p1") == lock
    finally:
        monkeypatch.undo()
        time.tzset()
