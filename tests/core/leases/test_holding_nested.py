"""Holds within holds, beside holds, and in other ways to run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

import lockwatch
from lockwatch.core.keeper import LeaseKeeper
from tests.core.leases.leasing import (
    PATIENCE_SECS,
    TTL,
    Times,
    eventually,
    hold_up_heartbeat,
    lease_threads,
    raising,
    service_at,
)

# Nested holds


def test_only_the_outermost_hold_releases(service: lockwatch.LockService) -> None:
    with service.hold("plan", "p1", "a", ttl_seconds=TTL) as outer:
        with service.hold("plan", "p1", "a", ttl_seconds=TTL) as inner:
            assert inner.fence == outer.fence
        outer.check()
        assert service.get("plan", "p1") is not None
    assert service.get("plan", "p1") is None


def test_holds_that_end_in_another_order_release_at_the_last(service: lockwatch.LockService) -> None:
    first, second = (service.hold("plan", "p1", "a", ttl_seconds=TTL) for _ in range(2))
    first.__enter__()
    lease = second.__enter__()
    first.__exit__(None, None, None)
    lease.check()
    assert service.get("plan", "p1") is not None
    second.__exit__(None, None, None)
    assert service.get("plan", "p1") is None


def test_the_inner_of_two_holds_shortens_nothing_and_a_longer_one_prolongs(
    service: lockwatch.LockService, times: Times
) -> None:
    with service.hold("plan", "p1", "a", ttl_seconds=TTL) as outer:
        with service.hold("plan", "p1", "a", ttl_seconds=5):
            assert outer.remaining() == TTL
        assert outer.remaining() == TTL
        with service.hold("plan", "p1", "a", ttl_seconds=10 * TTL) as longer:
            assert longer.remaining() == 10 * TTL
            times.advance(9 * TTL)
            assert eventually(lambda: longer.remaining() == 10 * TTL), "it is renewed for the TTL that was asked for"


def test_the_inner_hold_of_a_slower_one_beats_as_often_as_it_asked_for(
    service: lockwatch.LockService, times: Times
) -> None:
    slow = service.hold("plan", "p1", "a", ttl_seconds=TTL, heartbeat_seconds=TTL / 2)
    with slow as lease, service.hold("plan", "p1", "a", ttl_seconds=TTL, heartbeat_seconds=1):
        times.advance(1)
        assert eventually(lambda: lease.remaining() == TTL)


def test_a_hold_that_reentered_a_lease_leaves_it_as_it_was(service: lockwatch.LockService, times: Times) -> None:
    service.acquire("plan", "p1", "a", ttl_seconds=TTL)
    with service.hold("plan", "p1", "a", ttl_seconds=TTL) as lease:
        times.advance(TTL / 2)
        assert eventually(lambda: lease.remaining() == TTL)
    found = service.get("plan", "p1")
    assert found == lease.lock


def test_a_hold_that_reentered_the_lease_of_another_service_leaves_it(
    url: str, service: lockwatch.LockService, times: Times
) -> None:
    with service_at(url, times) as other, other.hold("plan", "p1", "a", ttl_seconds=TTL) as theirs:
        with service.hold("plan", "p1", "a", ttl_seconds=TTL) as ours:
            assert ours.fence == theirs.fence
        assert service.get("plan", "p1") is not None
    assert service.get("plan", "p1") is None


def test_a_late_renewal_of_a_lease_that_was_reentered_leaves_its_row(
    service: lockwatch.LockService, times: Times, monkeypatch: pytest.MonkeyPatch
) -> None:
    barrier = hold_up_heartbeat(monkeypatch, "find")
    service.acquire("plan", "p1", "a", ttl_seconds=3600)
    with raising(lockwatch.LockExpiredError), service.hold("plan", "p1", "a", ttl_seconds=TTL) as lease:
        times.advance(TTL / 2)
        assert barrier.reached.wait(PATIENCE_SECS)
        times.advance(TTL / 2)
        assert lease.lost.wait(PATIENCE_SECS)
        barrier.opened.set()
        assert barrier.passed.wait(PATIENCE_SECS)
    assert eventually(lambda: not lease_threads())
    assert service.get("plan", "p1") is not None


def test_a_hold_in_one_that_is_lost_is_a_new_grant_and_independent(
    service: lockwatch.LockService, times: Times
) -> None:
    with raising(lockwatch.LockExpiredError), service.hold("plan", "p1", "a", ttl_seconds=TTL) as outer:
        times.advance(TTL)
        assert outer.lost.wait(PATIENCE_SECS)
        with service.hold("plan", "p1", "a", ttl_seconds=TTL) as inner:
            assert inner.fence > outer.fence
            inner.check()
        assert service.get("plan", "p1") is None
        assert outer.lost.is_set()


def test_a_lease_lost_here_whose_row_is_live_is_not_shared_but_granted_anew(
    service: lockwatch.LockService, times: Times
) -> None:
    outer_hold = service.hold("plan", "p1", "a", ttl_seconds=TTL)
    outer = outer_hold.__enter__()
    times.elapsed += TTL  # a wall clock that stood still: the row is live for others
    assert outer.lost.wait(PATIENCE_SECS)
    with service.hold("plan", "p1", "a", ttl_seconds=TTL) as inner:
        assert inner.fence > outer.fence
        with pytest.raises(lockwatch.LockExpiredError):
            outer_hold.__exit__(None, None, None)
        assert service.get("plan", "p1") == inner.lock, "the end of the lost one leaves the new one's row"
        inner.check()
    assert service.get("plan", "p1") is None


def test_a_hold_that_reenters_while_the_last_one_ends_does_not_lose_its_row(
    service: lockwatch.LockService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second is extended, then the first deletes the row: the second would believe it holds."""
    real, entered, gone_on = LeaseKeeper.enter, threading.Event(), threading.Event()

    def paused(keeper: LeaseKeeper, *arguments: object) -> object:
        if threading.current_thread().name == "second":
            entered.set()
            gone_on.wait(0.3)  # in vain, where the first cannot end meanwhile
        return real(keeper, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(LeaseKeeper, "enter", paused)
    first = service.hold("plan", "p1", "a", ttl_seconds=TTL)
    first.__enter__()
    found = []

    def work() -> None:
        with service.hold("plan", "p1", "a", ttl_seconds=TTL) as lease:
            found.append((service.get("plan", "p1"), lease.lock))

    second = threading.Thread(target=work, name="second")
    second.start()
    assert entered.wait(PATIENCE_SECS)
    first.__exit__(None, None, None)
    gone_on.set()
    second.join(PATIENCE_SECS)
    ((there, held),) = found
    assert there == held
    assert service.get("plan", "p1") is None


def test_many_threads_that_share_an_owner_never_hold_what_is_not_there(service: lockwatch.LockService) -> None:
    missing: list[str] = []

    def work() -> None:
        for _ in range(60):
            with service.hold("plan", "p1", "a", ttl_seconds=TTL) as lease:
                there = service.get("plan", "p1")
                if there is None or there.id != lease.fence:
                    missing.append(f"{there} for {lease.fence}")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECS)
    assert not missing
    assert service.get("plan", "p1") is None


# Other ways to run


async def test_two_tasks_of_one_loop_exclude_each_other(service: lockwatch.LockService) -> None:
    async def work() -> None:
        with service.hold("plan", "p1"):
            await asyncio.sleep(0.01)

    results = await asyncio.gather(work(), work(), return_exceptions=True)
    assert sorted(type(result).__name__ for result in results) == ["LockConflictError", "NoneType"]


def test_a_generator_that_is_closed_releases(service: lockwatch.LockService) -> None:
    def steps() -> Iterator[int]:
        with service.hold("plan", "p1") as lease:
            yield lease.fence

    running = steps()
    next(running)
    running.close()  # type: ignore[attr-defined]
    assert service.get("plan", "p1") is None
