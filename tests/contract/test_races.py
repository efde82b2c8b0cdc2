"""Races between real processes and threads: one winner, fences in order, and no error of the database's own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any, Final

import pytest

import lockwatch
from lockwatch import LockService
from lockwatch.core.connection import Connection
from lockwatch.core.table import LockTable
from tests.contract.sites import EPOCH, Site
from tests.support import meet, together

ROUNDS: Final = 50
SECONDS: Final = 3.0


def _take_each(url: str, owner: str) -> list[int | None]:
    """The fence of each round's grant to this owner, or None."""
    fences: list[int | None] = []
    with lockwatch.connect(url) as service:
        service.now()
        for number in range(ROUNDS):
            meet()
            try:
                fences.append(service.acquire("plan", f"p{number}", owner).id)
            except lockwatch.LockConflictError as conflict:
                fences.append(None if conflict.holder.owner_id != owner else -1)
    return fences


@pytest.mark.parametrize("is_stale", [True, False])
def test_of_two_that_come_at_once_one_is_granted(site: Site, is_stale: bool) -> None:
    if is_stale:
        site.insert_rows({f"plan/p{number}": EPOCH for number in range(ROUNDS)}, "gone")
    results = together(_take_each, (site.url, "a"), (site.url, "b"))
    granted = {}
    for number, grants in enumerate(zip(*results, strict=True)):
        (granted[f"p{number}"],) = [fence for fence in grants if fence is not None]
    assert {row[3]: row[0] for row in site.rows()} == granted


def _take_for_a_while(site: Site, owner: str) -> list[tuple[str, int, float, float]]:
    """Every grant to this owner: resource, fence, and from when to when it surely held it.

    Most are released, some are left to others to take over: those are aged by hand, since no TTL is that short.
    """
    held = []
    with lockwatch.connect(site.url) as service, site.raw() as run:
        service.now()
        meet()
        give_up_at = time.monotonic() + SECONDS
        number = 0
        while time.monotonic() < give_up_at:
            number += 1
            name = f"p{number % 3}"
            try:
                lock = service.acquire("plan", name, owner)
            except lockwatch.LockConflictError:
                continue
            since = time.monotonic()
            held.append((name, lock.id, since, time.monotonic()))
            if number % 4:
                assert service.release("plan", name, owner)
            else:
                run("UPDATE locks SET expires_at = ? WHERE id = ?", EPOCH if number % 8 else "2001-01-01", lock.id)
    return held


def test_fences_come_in_the_order_of_grants(site: Site) -> None:
    grants = [grant for held in together(_take_for_a_while, *((site, f"w{n}") for n in range(8))) for grant in held]
    assert len(grants) > 100
    for name in ("p0", "p1", "p2"):
        mine = sorted((grant for grant in grants if grant[0] == name), key=lambda grant: grant[2])
        fences = [fence for _, fence, _, _ in mine]
        assert fences == sorted(set(fences))
        assert all(before[3] <= after[2] for before, after in pairwise(mine))


def _cycle(url: str, owner: str) -> list[str]:
    """What went wrong in twenty rounds of taking, renewing and giving back."""
    errors = []
    with lockwatch.connect(url) as service:
        meet()
        for number in range(20):
            try:
                service.acquire("plan", f"p{number % 4}", owner)
                service.renew("plan", f"p{number % 4}", owner)
                service.release("plan", f"p{number % 4}", owner)
            except lockwatch.LockwatchError as error:
                errors.append(type(error).__name__)
    return errors


def test_twelve_processes_see_nothing_but_conflicts(site: Site) -> None:
    seen = together(_cycle, *[(site.url, f"w{number}") for number in range(12)])
    assert {name for errors in seen for name in errors} <= {"LockConflictError"}
    assert site.rows() == []


def _at_once(works: Sequence[Callable[[], Any]]) -> list[Any]:
    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result() for future in [pool.submit(work) for work in works]]


def _expire(service: LockService, lock: lockwatch.Lock) -> None:
    """Set its expiry to the past, which must not end in a deadlock either."""
    with service._tables.use() as table:
        table.connection.changes(f"UPDATE locks SET expires_at = '{EPOCH}' WHERE id = {lock.id}", {})


def test_locking_and_clean_up_never_end_in_a_deadlock(site: Site) -> None:
    holders: dict[str, str] = {}
    clashes: list[str] = []

    def work(service: LockService, owner: str) -> None:
        for number in range(50):
            name = f"p{number * 7 % 20}"
            try:
                lock = service.acquire("plan", name, owner)
            except lockwatch.LockConflictError:
                continue
            if holders.setdefault(name, owner) != owner:
                clashes.append(name)
            del holders[name]
            if number % 3:
                service.release("plan", name, owner)
            else:
                _expire(service, lock)
            if number % 5 == 0:
                service.cleanup_expired()

    site.insert_rows({f"plan/p{number}": EPOCH for number in range(20)}, "gone")
    with lockwatch.connect(site.url) as service:
        _at_once([partial(work, service, f"w{n}") for n in range(8)])
        service.cleanup_expired()
    assert clashes == []
    assert site.rows() == []


def _between(monkeypatch: pytest.MonkeyPatch, method: str, act: Callable[[], object], owner: type = LockTable) -> None:
    """Do something right before the first call of a method, of the table unless said otherwise."""
    real = getattr(owner, method)
    pending = [act]

    def acting(*arguments: object, **named: object) -> object:
        if pending:
            pending.pop()()
        return real(*arguments, **named)

    monkeypatch.setattr(owner, method, acting)


@pytest.fixture
def take_over(site: Site, other: LockService) -> Callable[[], lockwatch.Lock]:
    """Ends the lease of plan/p1, and gives it to b."""

    def taken_over() -> lockwatch.Lock:
        site.age("plan/p1")
        return other.acquire("plan", "p1", "b")

    return taken_over


def test_a_holder_paused_before_its_release_frees_no_stranger(
    service: LockService, site: Site, monkeypatch: pytest.MonkeyPatch, take_over: Callable[[], lockwatch.Lock]
) -> None:
    service.acquire("plan", "p1", "a")
    _between(monkeypatch, "end_owned", take_over)
    assert service.release("plan", "p1", "a") is False
    assert [row[1] for row in site.rows()] == ["b"]


def test_nor_does_one_whose_expiry_must_be_read_before(
    service: LockService, site: Site, monkeypatch: pytest.MonkeyPatch, take_over: Callable[[], lockwatch.Lock]
) -> None:
    service.acquire("plan", "p1", "a")
    monkeypatch.setattr(LockTable, "end_owned", lambda *_: None)
    _between(monkeypatch, "end", take_over)
    assert service.release("plan", "p1", "a") is False
    assert [row[1] for row in site.rows()] == ["b"]


def test_a_holder_paused_before_its_renewal_prolongs_no_stranger(
    service: LockService, other: LockService, monkeypatch: pytest.MonkeyPatch, take_over: Callable[[], lockwatch.Lock]
) -> None:
    service.acquire("plan", "p1", "a", 60)
    taken: list[lockwatch.Lock] = []
    _between(monkeypatch, "extend", lambda: taken.append(take_over()))
    with pytest.raises(lockwatch.LockExpiredError) as lost:
        service.renew("plan", "p1", "a", 600)
    assert [lost.value.holder] == [other.get("plan", "p1")] == taken


def test_a_release_of_a_lease_that_is_renewed_meanwhile_is_a_release(
    service: LockService, other: LockService, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.acquire("plan", "p1", "a", 60)
    _between(monkeypatch, "end_owned", lambda: other.renew("plan", "p1", "a", 600))
    assert service.release("plan", "p1", "a") is True
    assert site.rows() == []


def test_a_takeover_leaves_alone_what_was_renewed_after_it_was_read(
    service: LockService, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.insert_row("plan/p1", "a")
    _between(monkeypatch, "end", lambda: site.age("plan/p1", site.text(60)))
    with pytest.raises(lockwatch.LockConflictError) as refused:
        service.acquire("plan", "p1", "b")
    assert refused.value.holder.owner_id == "a"


def test_a_takeover_leaves_alone_what_was_taken_over_after_it_was_read(
    service: LockService, other: LockService, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.insert_row("plan/p1", "a")
    _between(monkeypatch, "end", lambda: other.acquire("plan", "p1", "c"))
    with pytest.raises(lockwatch.LockConflictError) as refused:
        service.acquire("plan", "p1", "b")
    assert refused.value.holder == other.get("plan", "p1")


def test_an_acquire_whose_obstacle_goes_before_it_is_read_is_granted(
    service: LockService, other: LockService, monkeypatch: pytest.MonkeyPatch
) -> None:
    other.acquire("plan", "p1", "a")
    _between(monkeypatch, "find", lambda: other.release("plan", "p1", "a"))
    assert service.acquire("plan", "p1", "b").owner_id == "b"


def test_giving_all_back_leaves_what_was_taken_over_between(
    service: LockService, site: Site, monkeypatch: pytest.MonkeyPatch, take_over: Callable[[], lockwatch.Lock]
) -> None:
    for name in ("p0", "p1", "p2"):
        service.acquire("plan", name, "a")
    mine = LockTable.of_owner

    def then_taken_over(table: LockTable, owner_id: str) -> list[lockwatch.Lock]:
        found = mine(table, owner_id)
        if len(found) == 3:
            take_over()
        return found

    monkeypatch.setattr(LockTable, "of_owner", then_taken_over)
    assert service.release_all_for_owner("a") == 2
    assert [row[1] for row in site.rows()] == ["b"]


@pytest.mark.parametrize("form", ["{}", "2001-01-01"])
def test_clean_up_leaves_what_was_renewed_between(
    service: LockService, site: Site, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    site.insert_row("plan/p1", "a", "2001-01-01T00:00:00.000000Z" if form == "{}" else form)
    site.insert_row("plan/p2", "a")
    is_one_by_one = site.is_server and form == "2001-01-01"
    step, owner = ("end", LockTable) if is_one_by_one else ("changes", Connection)
    _between(monkeypatch, step, lambda: site.age("plan/p1", site.text(60)), owner)
    assert service.cleanup_expired() == 1
    assert [row[3] for row in site.rows()] == ["p1"]


def test_clean_up_leaves_what_became_unreadable_between(
    service: LockService, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.insert_row("plan/p1", "a", site.text(60))
    site.insert_row("plan/p2", "a", "2001-01-01T00:00:00.000000Z")
    _between(monkeypatch, "changes", lambda: site.age("plan/p1", "2001-02-30T00:00:00.000000Z"), Connection)
    assert service.cleanup_expired() == 1
    assert [row[3] for row in site.rows()] == ["p1"]


def test_two_first_users_upgrade_once(new_site: Site) -> None:
    answers = together(lockwatch.upgrade, (new_site.url,), (new_site.url,))
    assert sorted(answers) == [False, True]
    with lockwatch.connect(new_site.url) as service:
        assert service.acquire("plan", "p1", "a").owner_id == "a"


def test_many_waiters_have_the_lock_one_after_the_other(site: Site) -> None:
    inside = threading.Semaphore(1)
    clashes: list[int] = []
    fences: list[int] = []

    def work(service: LockService) -> None:
        with service.hold("plan", "p1", ttl_seconds=30, wait_seconds=20) as lease:
            if not inside.acquire(blocking=False):
                clashes.append(lease.fence)
            fences.append(lease.fence)
            time.sleep(0.005)
            inside.release()

    with lockwatch.connect(site.url) as one, lockwatch.connect(site.url) as two:
        _at_once([partial(work, service) for service in (one, two) for _ in range(6)])
    assert clashes == []
    assert len(fences) == 12
    assert fences == sorted(set(fences))
    assert site.rows() == []
