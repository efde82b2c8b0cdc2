"""The rules of locks: acquire, renew, release, clean up, and what the database's clock says of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Final

import pytest

import lockwatch
from lockwatch import LockService, LossReason
from lockwatch.core.timestamps import to_text
from tests.contract.sites import EPOCH, Site


def test_a_free_resource_is_granted_for_exactly_the_ttl(service: LockService, site: Site) -> None:
    lock = service.acquire("plan", "p1", "a", 60.25)
    assert lock.acquired_at is not None
    assert lock.expires_at == lock.acquired_at + timedelta(seconds=60.25)
    assert site.rows() == [(lock.id, "a", "plan", "p1", to_text(lock.acquired_at), lock.expires_text)]
    assert service.get("plan", "p1") == lock


def test_a_held_resource_is_refused_and_the_conflict_says_who_holds_it(
    service: LockService, other: LockService, site: Site
) -> None:
    lock = service.acquire("plan", "p1", "a", 60)
    before = site.rows()
    with pytest.raises(lockwatch.LockConflictError) as refused:
        other.acquire("plan", "p1", "b", 60)
    assert refused.value.holder == lock
    assert 0 < lock.remaining(refused.value.now) <= 60
    assert site.rows() == before


def test_the_owner_extends_its_lease_and_never_shortens_it(service: LockService, site: Site) -> None:
    first = service.acquire("plan", "p1", "a", 300)
    longer = service.acquire("plan", "p1", "a", 600)
    shorter = service.acquire("plan", "p1", "a", 60)
    renewed = service.renew("plan", "p1", "a", 60)
    assert longer.id == shorter.id == renewed.id == first.id
    assert longer.acquired_at == first.acquired_at
    assert first.expires_text < longer.expires_text == shorter.expires_text == renewed.expires_text
    assert site.rows()[0][5] == longer.expires_text


def test_the_statement_itself_never_shortens_a_lease_and_revives_none(service: LockService, site: Site) -> None:
    lock = service.acquire("plan", "p1", "a", 600)  # what is read before it may be told by a clock that is set since
    site.insert_row("plan/p2", "a", site.text(-1))
    expired = service.get("plan", "p2")
    assert expired is not None
    before = site.rows()
    with service._tables.use() as table:
        for waits in (True, False):
            assert table.extend(lock, 5, waits=waits) in (lock, None)  # MariaDB counts no row that stays as it is
            assert table.extend(expired, 60, waits=waits) is None
    assert site.rows() == before


def test_a_renewal_lasts_the_ttl_from_the_databases_now(service: LockService, site: Site) -> None:
    service.acquire("plan", "p1", "a", 60)
    before = site.now()
    renewed = service.renew("plan", "p1", "a", 600.5)
    assert renewed.expires_at is not None
    assert before <= renewed.expires_at - timedelta(seconds=600.5) <= site.now()
    assert site.rows()[0][5] == renewed.expires_text


def test_each_grant_has_a_greater_id_whatever_became_of_the_one_before(service: LockService, site: Site) -> None:
    def expired() -> tuple[lockwatch.Lock, ...]:
        site.age("plan/p1")
        return service.snapshot().locks

    ways: list[Callable[[], object]] = [
        lambda: service.release("plan", "p1", "a"),
        lambda: service.release_all_for_owner("a"),
        lambda: service.release_exact(service.snapshot().locks[0]),
        lambda: service.purge_exact(expired()),
        lambda: expired() and service.cleanup_expired(),
        lambda: (expired(), service.acquire("plan", "p1", "b"), service.release("plan", "p1", "b")),
        expired,  # the owner takes it over from itself
        lambda: site.execute("DELETE FROM locks"),
    ]
    ids = [service.acquire("plan", "p1", "a").id]
    for end in ways:
        end()
        ids.append(service.acquire("plan", "p1", "a").id)
    assert ids == sorted(set(ids))


def test_a_stranger_is_renewed_by_nobody(service: LockService, other: LockService, site: Site) -> None:
    service.acquire("plan", "p1", "a")
    site.age("plan/p1")
    taken = other.acquire("plan", "p1", "b")
    before = site.rows()
    with pytest.raises(lockwatch.LockExpiredError) as lost:
        service.renew("plan", "p1", "a")
    assert (lost.value.reason, lost.value.holder) == (LossReason.TAKEN_OVER, taken)
    assert site.rows() == before


def test_a_late_release_frees_no_stranger(service: LockService, other: LockService, site: Site) -> None:
    service.acquire("plan", "p1", "a")
    site.age("plan/p1")
    other.acquire("plan", "p1", "b")
    before = site.rows()
    assert service.release("plan", "p1", "a") is False
    assert service.release_all_for_owner("a") == 0
    assert site.rows() == before


def test_a_release_is_one_only_of_a_live_lease_of_this_owner(service: LockService, site: Site) -> None:
    assert service.release("plan", "p1", "a") is False
    service.acquire("plan", "p1", "a")
    site.age("plan/p1")
    assert service.release("plan", "p1", "a") is False
    service.acquire("plan", "p1", "a")
    assert service.release("plan", "p1", "b") is False
    assert service.release("project", "p1", "a") is False
    assert service.release("plan", "p1", "a") is True
    assert service.release("plan", "p1", "a") is False


def test_an_expired_or_missing_lease_is_not_renewed(service: LockService, site: Site) -> None:
    service.acquire("plan", "p1", "a")
    site.age("plan/p1")
    before = site.rows()
    for name, reason in (("p1", LossReason.EXPIRED), ("p2", LossReason.REMOVED)):
        with pytest.raises(lockwatch.LockExpiredError) as lost:
            service.renew("plan", name, "a")
        assert lost.value.reason is reason
    assert site.rows() == before


def test_there_is_no_memory_of_what_exists(service: LockService, site: Site) -> None:
    service.acquire("plan", "p1", "a")
    site.execute("DELETE FROM locks")
    assert service.get("plan", "p1") is None
    assert service.acquire("plan", "p1", "a").owner_id == "a"
    site.execute("UPDATE locks SET owner_id = 'c'")
    with pytest.raises(lockwatch.LockConflictError) as refused:
        service.acquire("plan", "p1", "a")
    assert refused.value.holder.owner_id == "c"
    assert len(site.rows()) == 1


@pytest.mark.parametrize("long_run", [2, 1000])
def test_clean_up_takes_the_stale_ones_of_many_pages_and_no_other(
    service: LockService, site: Site, monkeypatch: pytest.MonkeyPatch, long_run: int
) -> None:
    monkeypatch.setattr("lockwatch.core.cleaning.PAGE_SIZE", 7)
    monkeypatch.setattr("lockwatch.core.cleaning.LONG_RUN", long_run)
    live = site.text(600)
    forms = (live, "2001-01-01", "2001-01-01T00:00:00.000000Z", "2001-01-01T00:00:00.000000Z")
    site.insert_rows({f"plan/p{number}": forms[number % 4] for number in range(40)})
    assert service.count_stale_locks() == 30
    assert service.cleanup_expired() == 30
    assert {row[5] for row in site.rows()} == {live}


MANY: Final = 100_000


def test_an_acquire_beside_very_many_stale_locks_looks_at_none_of_them(new_site: Site) -> None:
    lockwatch.upgrade(new_site.url)
    with lockwatch.connect(new_site.url) as service:
        alone = _least_seconds(service)
        new_site.crowd(MANY)
        assert _least_seconds(service) < 5 * alone, "one that reads them all takes a hundred times as long"
        assert service.count_stale_locks() == MANY


def _least_seconds(service: LockService) -> float:
    """How long it takes to acquire, to be refused, and to release, when nothing else keeps the machine busy."""
    took = []
    for _ in range(25):
        begun = time.perf_counter()
        service.acquire("plan", "p1", "a")
        with pytest.raises(lockwatch.LockConflictError):
            service.acquire("plan", "p1", "b")
        service.release("plan", "p1", "a")
        took.append(time.perf_counter() - begun)
    return min(took)


def test_an_owner_gives_all_its_locks_back_and_no_other(service: LockService, site: Site) -> None:
    for name in ("p1", "p2"):
        service.acquire("plan", name, "a")
    service.acquire("plan", "p3", "A")
    assert service.release_all_for_owner("a") == 2
    assert [row[1] for row in site.rows()] == ["A"]


ALIKE = ("Job", "job", "j\u00f3b", "\U0001f600", "\U0001f601", "e\u0301", "\u00e9", "stra\u00dfe", "strasse")


def test_names_that_are_only_alike_are_locks_of_their_own(service: LockService, site: Site) -> None:
    for name in ALIKE:
        service.acquire("plan", name, f"owner of {name}")
    assert [service.get("plan", name) for name in ALIKE] == list(service.snapshot().locks)
    assert [row[3] for row in site.rows()] == list(ALIKE)
    for name in ALIKE:
        assert service.release("plan", name, f"owner of {name}")


def test_a_name_with_a_trailing_blank_in_another_programs_row_is_another_one(service: LockService, site: Site) -> None:
    site.insert_row("plan/p1 ", "a ", site.text(60))
    assert service.acquire("plan", "p1", "a").resource_id == "p1"
    assert service.release_all_for_owner("a") == 1
    assert [row[1:4] for row in site.rows()] == [("a ", "plan", "p1 ")]


@pytest.mark.parametrize("character", ["x", "\u00e9", "\U0001f600"])
def test_names_of_the_greatest_length_work_and_longer_ones_do_not(service: LockService, character: str) -> None:
    longest = character * 255
    assert service.acquire("plan", longest, longest).resource_id == longest
    assert service.get("plan", longest) is not None
    assert service.release("plan", longest, longest)
    for name, owner in ((longest + character, "a"), ("p1", longest + character)):
        with pytest.raises(lockwatch.ValidationError):
            service.acquire("plan", name, owner)


def test_names_that_no_column_takes_are_refused_as_such(service: LockService, site: Site) -> None:
    for name in ("a\x00b", "\ud800", "\udcff", "a\nb"):
        with pytest.raises(lockwatch.ValidationError):
            service.acquire("plan", name, "a")
        with pytest.raises(lockwatch.ValidationError):
            service.release_all_for_owner(name)
    assert site.rows() == []


def test_the_schema_refuses_nulls(service: LockService, site: Site) -> None:
    service.acquire("plan", "p1", "a")
    before = site.rows()
    columns = ("owner_id", "resource_type", "resource_id", "acquired_at", "expires_at")
    for column in columns:
        with pytest.raises(Exception, match=r"(?i)null"):
            site.execute(f"UPDATE locks SET {column} = NULL")
        cells = ("a", "plan", "p2", EPOCH, EPOCH)
        values = [None if name == column else cell for name, cell in zip(columns, cells, strict=True)]
        with pytest.raises(Exception, match=r"(?i)null"):
            site.execute(f"INSERT INTO locks ({', '.join(columns)}) VALUES (?, ?, ?, ?, ?)", *values)
    assert site.rows() == before


LEAP = {
    "sqlite": "UPDATE sqlite_sequence SET seq = 2147483647 WHERE name = 'locks'",
    "postgres": "ALTER SEQUENCE locks_id_seq RESTART WITH 2147483648",
    "mysql": "ALTER TABLE locks AUTO_INCREMENT = 2147483648",
}


def test_ids_go_on_beyond_32_bits(new_site: Site) -> None:
    lockwatch.upgrade(new_site.url)
    with lockwatch.connect(new_site.url) as service:
        service.acquire("plan", "p0", "a")
        new_site.execute(LEAP[new_site.kind])
        lock = service.acquire("plan", "p1", "a", 60)
        assert lock.id == 2**31
        assert service.renew("plan", "p1", "a", 600).id == lock.id
        assert service.cleanup_expired() == 0
        with service.hold("plan", "p2") as lease:
            assert lease.fence == 2**31 + 1
        assert service.release("plan", "p1", "a")


def test_a_snapshot_has_all_rows_by_id_and_the_databases_moment(service: LockService, site: Site) -> None:
    before = site.now()
    site.insert_rows({f"plan/p{number}": EPOCH for number in range(20)})
    snapshot = service.snapshot()
    assert before <= snapshot.taken_at <= site.now()
    assert [lock.id for lock in snapshot.locks] == [row[0] for row in site.rows()]


def test_a_watcher_tells_what_came_and_went(service: LockService) -> None:
    watcher = service.watcher()
    try:
        assert watcher.look().locks == ()
        lock = service.acquire("plan", "p1", "a")
        assert watcher.look().came == (lock,)
        service.release("plan", "p1", "a")
        assert watcher.look().went == (lock,)
    finally:
        watcher.close()
