"""The network between a holder and its server: cut, swallowing all, refusing, slow, deaf in one direction."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

import lockwatch
from lockwatch import LockService, LossReason
from lockwatch.core import mariadb, postgres
from lockwatch.core.dialect import CONNECT_TIMEOUT_SECS
from lockwatch.core.monotonic import elapsed
from lockwatch.core.table import LockTable
from tests.contract.sites import Site
from tests.faults.losing import losing
from tests.faults.proxy import Proxy
from tests.faults.timeouts import ANSWER_SECS, SLACK_SECS, Ahead, service_by, shorten_answers

BEAT: Final = 0.3
TTL: Final = lockwatch.MIN_LOCK_TTL_SECS
CONNECT_SECS: Final = 2
"""The least that PostgreSQL's library takes for a timeout."""
PATIENCE_SECS: Final = 20.0


def _warm(proxy: Proxy, ahead: Ahead | None = None) -> LockService:
    """A service that is connected and has had its statements prepared: the next call is one round trip."""
    service = service_by(ahead or Ahead(), proxy.url)
    service.acquire("plan", "warm", "w")
    service.release("plan", "warm", "w")
    return service


@pytest.fixture
def service(proxy: Proxy) -> Iterator[LockService]:
    """A holder's service, by way of the proxy."""
    with _warm(proxy) as opened:
        yield opened


@pytest.fixture
def other(served: Site) -> Iterator[LockService]:
    """Somebody else's, whom the fault does not reach."""
    with lockwatch.connect(served.url) as opened:
        yield opened


def _eventually(is_so: Callable[[], object]) -> bool:
    give_up_at = time.monotonic() + PATIENCE_SECS
    while not is_so():
        if time.monotonic() > give_up_at:
            return False
        time.sleep(0.01)
    return True


def test_a_server_far_away_is_asked_little_before_the_first_grant_and_once_for_each_further_one(proxy: Proxy) -> None:
    with lockwatch.connect(proxy.url) as service:
        service.acquire("plan", "p1", "a")
        assert proxy.statements.passed <= 10
        service.acquire("plan", "p2", "a")
        before = proxy.statements.passed
        service.acquire("plan", "p3", "a")
        assert proxy.statements.passed == before + 1


def test_a_call_after_a_cut_connects_anew_and_a_lease_lives_on(service: LockService, proxy: Proxy) -> None:
    with service.hold("plan", "p1", ttl_seconds=TTL, heartbeat_seconds=BEAT) as lease:
        for _ in range(3):
            proxy.cut()
            before = lease.lock.expires_text
            assert _eventually(lambda: lease.lock.expires_text > before)  # noqa: B023 asked before it changes
            proxy.cut()
            assert service.acquire("plan", "p2", "a").owner_id == "a"
        assert not lease.is_lost()


@pytest.mark.parametrize("is_done", [False, True])
def test_a_hold_whose_release_is_cut_off_is_released_all_the_same(
    service: LockService, other: LockService, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, is_done: bool
) -> None:
    end = LockTable.end

    def cut_off(table: LockTable, lock: lockwatch.Lock) -> object:
        monkeypatch.setattr(LockTable, "end", end)
        if is_done:
            assert other.release_exact(lock).is_done  # as this one did, whose answer is lost
        proxy.cut()
        return end(table, lock)

    with service.hold("plan", "p1", ttl_seconds=TTL):
        monkeypatch.setattr(LockTable, "end", cut_off)
    assert other.get("plan", "p1") is None


def test_a_call_that_is_cut_off_says_so_at_once_and_its_owner_can_ask_again(
    service: LockService, other: LockService, proxy: Proxy
) -> None:
    proxy.answers.block()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(service.acquire, "plan", "p1", "a")
        assert _eventually(lambda: other.get("plan", "p1"))
        begun = time.monotonic()
        proxy.cut()
        with pytest.raises(lockwatch.DatabaseError, match=r"cannot be reached|ended the connection"):
            asked.result()
        assert time.monotonic() - begun < SLACK_SECS
    proxy.heal()
    granted = other.get("plan", "p1")
    again = service.acquire("plan", "p1", "a")
    assert granted is not None
    assert again.id == granted.id
    assert service.release("plan", "p1", "a")


def test_a_hold_whose_grant_is_lost_on_its_way_back_leaves_no_lock_to_wait_for(
    service: LockService, served: Site, proxy: Proxy
) -> None:
    proxy.answers.block()

    def cut_once_granted() -> bool:
        found = _eventually(lambda: served.row("plan/p1"))
        proxy.cut()
        proxy.heal()
        return found

    with ThreadPoolExecutor(1) as pool:
        was_granted = pool.submit(cut_once_granted)
        with pytest.raises(lockwatch.DatabaseError, match=r"cannot be reached|ended the connection"):
            service.hold("plan", "p1", ttl_seconds=600).__enter__()
        assert was_granted.result()
    assert served.row("plan/p1") is None
    with service.hold("plan", "p1") as lease:
        lease.check()


def test_a_black_hole_ends_a_call_in_time_and_the_next_one_works(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_answers(monkeypatch)
    with _warm(proxy) as service:
        proxy.black_hole()
        begun = time.monotonic()
        with pytest.raises(lockwatch.DatabaseError, match="cannot be reached"):
            service.acquire("plan", "p1", "a", wait_seconds=10)
        assert ANSWER_SECS <= time.monotonic() - begun < ANSWER_SECS + SLACK_SECS
        proxy.heal()
        assert service.acquire("plan", "p2", "a").owner_id == "a"


def test_who_connects_into_a_black_hole_is_told_in_time(
    served: Site, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    defaults = postgres._DEFAULTS if served.kind == "postgres" else mariadb._DEFAULTS
    assert defaults["connect_timeout"] == CONNECT_TIMEOUT_SECS
    monkeypatch.setitem(defaults, "connect_timeout", CONNECT_SECS)
    proxy.black_hole()
    begun = time.monotonic()
    with lockwatch.connect(proxy.url) as service:
        with pytest.raises(lockwatch.DatabaseError, match="cannot be reached"):
            service.acquire("plan", "p1", "a")
        assert time.monotonic() - begun < CONNECT_SECS + SLACK_SECS
        proxy.heal()
        assert service.acquire("plan", "p1", "a").owner_id == "a"


def test_an_acquire_that_arrives_late_blocks_others_for_its_ttl_and_not_its_owner(
    proxy: Proxy, other: LockService, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten_answers(monkeypatch)
    with _warm(proxy) as service:
        proxy.statements.block()
        with pytest.raises(lockwatch.DatabaseError, match="cannot be reached"):
            service.acquire("plan", "p1", "a", TTL)
        assert other.get("plan", "p1") is None
        proxy.heal()
        assert _eventually(lambda: other.get("plan", "p1"))
        with pytest.raises(lockwatch.LockConflictError) as refused:
            other.acquire("plan", "p1", "b")
        assert service.acquire("plan", "p1", "a", TTL).id == refused.value.holder.id


def test_a_lease_behind_a_black_hole_is_lost_before_another_is_granted(
    service: LockService, other: LockService, proxy: Proxy, served: Site
) -> None:
    with losing(), service.hold("plan", "p1", "a", ttl_seconds=TTL, heartbeat_seconds=BEAT) as lease:
        proxy.black_hole()
        taken = other.acquire("plan", "p1", "b", wait_seconds=TTL + SLACK_SECS)
        assert lease.lost.is_set(), "another was granted while the watchdog still slept"
        assert elapsed() >= lease.deadline
        assert lease.lost_reason is not None
        assert lease.lost_reason.reason is LossReason.UNREACHABLE
        proxy.heal()  # and what the holder had asked for arrives only now
    assert other.get("plan", "p1") == taken
    assert served.row("plan/p1") is not None
    assert service.acquire("plan", "p2", "a").owner_id == "a"


def test_a_renewal_whose_answer_comes_too_late_is_given_back(proxy: Proxy, other: LockService) -> None:
    ahead = Ahead()
    with (
        _warm(proxy, ahead) as service,
        losing() as told,
        service.hold("plan", "p1", "a", ttl_seconds=TTL, heartbeat_seconds=BEAT) as lease,
    ):
        before = lease.lock.expires_text
        assert _eventually(lambda: lease.lock.expires_text > before)
        proxy.answers.block()
        assert _eventually(lambda: lease.is_cut_off)
        ahead.seconds = TTL
        assert lease.lost.wait(PATIENCE_SECS)
        proxy.heal()
        assert _eventually(lambda: other.get("plan", "p1") is None)
    assert "could not be reached" in str(told[0])
    assert other.acquire("plan", "p1", "b").owner_id == "b"


def test_a_server_that_refuses_is_told_at_once_and_a_lease_outlives_it(service: LockService, proxy: Proxy) -> None:
    with service.hold("plan", "p1", ttl_seconds=TTL, heartbeat_seconds=BEAT) as lease:
        proxy.refuse()
        proxy.cut()
        begun = time.monotonic()
        with pytest.raises(lockwatch.DatabaseError, match="cannot be reached"):
            service.acquire("plan", "p2", "a", wait_seconds=10)
        assert time.monotonic() - begun < SLACK_SECS
        assert _eventually(lambda: lease.is_cut_off)
        proxy.admit()
        before = lease.lock.expires_text
        assert _eventually(lambda: lease.lock.expires_text > before)
        assert service.acquire("plan", "p2", "a").owner_id == "a"


def test_on_a_slow_way_a_lease_is_believed_in_for_no_longer_than_it_was_granted(
    service: LockService, proxy: Proxy, served: Site
) -> None:
    proxy.statements.delay_seconds = proxy.answers.delay_seconds = 0.1
    with service.hold("plan", "p1", ttl_seconds=TTL, heartbeat_seconds=1) as lease:
        for _ in range(2):
            deadline, lock, now = lease.deadline, lease.lock, served.now()
            assert deadline - elapsed() <= lock.remaining(now)
            before = lease.lock.expires_text
            assert _eventually(lambda: lease.lock.expires_text > before)  # noqa: B023 asked before it changes


def test_a_release_that_takes_longer_than_the_lease_makes_no_loss_of_work_that_was_done_in_time(
    proxy: Proxy, other: LockService, served: Site
) -> None:
    ahead = Ahead()

    def let_time_pass() -> None:
        ahead.seconds = TTL
        served.age("plan/p1")
        proxy.heal()

    passing = threading.Timer(0.5, let_time_pass)
    with _warm(proxy, ahead) as service, service.hold("plan", "p1", ttl_seconds=TTL, heartbeat_seconds=TTL / 2):
        proxy.statements.block()
        passing.start()
    passing.join()
    assert other.acquire("plan", "p1", "b").owner_id == "b"
