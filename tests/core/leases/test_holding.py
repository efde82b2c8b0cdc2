"""`hold`: what it is, whose it is, and what comes out of a body."""

from __future__ import annotations

import logging
import math
import socket

import pytest

import lockwatch
from lockwatch.core.errors import LossReason
from lockwatch.core.holding import new_owner
from lockwatch.core.model import validate_name
from lockwatch.core.table import LockTable
from tests.core.leases.leasing import (
    PATIENCE_SECS,
    TTL,
    Times,
    Told,
    eventually,
    lease_threads,
    raising,
)
from tests.support import age, execute, path_of, row

# What a hold is


def test_nothing_happens_before_the_with(url: str, service: lockwatch.LockService) -> None:
    service.hold("plan", "p1")
    assert row(url, "plan/p1") is None
    assert not lease_threads()


def test_a_hold_has_the_lock_in_its_body_and_nobody_has_it_after(url: str, service: lockwatch.LockService) -> None:
    with service.hold("plan", "p1", "a", ttl_seconds=TTL) as lease:
        assert service.get("plan", "p1") == lease.lock
        assert lease.fence == lease.lock.id
        assert lease.remaining() == TTL
        assert lease.lost_reason is None
        assert not lease.lost.is_set()
        lease.check()
    assert row(url, "plan/p1") is None
    assert eventually(lambda: not lease_threads())


def test_a_hold_of_what_somebody_else_holds_is_a_conflict_and_leaves_nothing(
    service: lockwatch.LockService,
) -> None:
    held = service.acquire("plan", "p1", "b", ttl_seconds=TTL)
    with pytest.raises(lockwatch.LockConflictError) as caught, service.hold("plan", "p1", "a"):
        pytest.fail("the body ran")
    assert caught.value.holder == held
    assert service.get("plan", "p1") == held
    assert not lease_threads()


def test_a_hold_can_be_entered_once(service: lockwatch.LockService) -> None:
    hold = service.hold("plan", "p1", "a")
    with hold:
        pass
    with pytest.raises(lockwatch.LockwatchError, match="entered once"), hold:
        pytest.fail("the body ran")
    assert service.get("plan", "p1") is None


def test_a_hold_that_was_refused_can_be_entered_again(service: lockwatch.LockService) -> None:
    service.acquire("plan", "p1", "b")
    hold = service.hold("plan", "p1", "a")
    with pytest.raises(lockwatch.LockConflictError):
        hold.__enter__()
    service.release("plan", "p1", "b")
    with hold as lease:
        assert lease.lock.owner_id == "a"


@pytest.mark.parametrize("beat", [2.6, 15, 0, -1, math.nan, math.inf, True, "2", 10**400])
def test_a_heartbeat_slower_than_half_the_ttl_or_no_number_is_refused(
    service: lockwatch.LockService, beat: float
) -> None:
    with pytest.raises(lockwatch.ValidationError, match="heartbeat_seconds"):
        service.hold("plan", "p1", ttl_seconds=5, heartbeat_seconds=beat)


@pytest.mark.parametrize("beat", [2.5, 1, 0.001, None])
def test_a_heartbeat_of_at_most_half_the_ttl_is_taken(service: lockwatch.LockService, beat: float | None) -> None:
    with service.hold("plan", "p1", ttl_seconds=5, heartbeat_seconds=beat) as lease:
        lease.check()


# Owners


def test_owners_are_given_anew_for_each_hold_so_that_two_in_one_process_exclude_each_other(
    service: lockwatch.LockService,
) -> None:
    with service.hold("plan", "p1") as lease:
        with pytest.raises(lockwatch.LockConflictError), service.hold("plan", "p1"):
            pytest.fail("the body ran")
        with service.hold("plan", "p2") as other:
            assert other.lock.owner_id != lease.lock.owner_id


@pytest.mark.parametrize(
    "host", ["box", "", "   ", "a\x00b\n", "x" * 300, "x" * 199 + " y", "é😀", "\ud800", "\u202ehost "]
)
def test_a_given_owner_is_a_valid_name_whatever_the_host_is_called(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: host)
    owner = new_owner()
    assert validate_name("owner_id", owner) == owner
    assert owner != new_owner()


# What comes out of a body


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_a_body_raises_comes_out_and_the_lock_is_released(
    service: lockwatch.LockService, kind: type[BaseException]
) -> None:
    with raising(kind), service.hold("plan", "p1"):
        raise kind
    assert service.get("plan", "p1") is None


def test_what_a_body_raises_is_not_masked_by_a_loss(url: str, service: lockwatch.LockService, times: Times) -> None:
    with raising(ZeroDivisionError), service.hold("plan", "p1", "a", ttl_seconds=TTL) as lease:
        times.advance(TTL)
        assert lease.is_lost()
        raise ZeroDivisionError
    assert row(url, "plan/p1") is None


@pytest.mark.parametrize("failure", [lockwatch.DatabaseError("gone"), OSError("odd"), RuntimeError("odder")])
def test_what_a_body_raises_is_not_masked_by_a_release_that_fails(
    url: str,
    service: lockwatch.LockService,
    failure: Exception,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(_table: LockTable, _lock: lockwatch.Lock) -> None:
        raise failure

    with raising(ZeroDivisionError), service.hold("plan", "p1", "a", ttl_seconds=TTL):
        monkeypatch.setattr(LockTable, "end", fail)
        raise ZeroDivisionError
    assert row(url, "plan/p1") is not None
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "plan/p1 was not released" in caplog.text


def test_a_release_that_fails_is_a_warning_and_leaves_the_ttl_as_the_backstop(
    url: str, service: lockwatch.LockService, times: Times, caplog: pytest.LogCaptureFixture
) -> None:
    with service.hold("plan", "p1", "a", ttl_seconds=TTL):
        path_of(url).rename(path_of(url).with_suffix(".away"))
    assert "plan/p1 was not released" in caplog.text
    path_of(url).with_suffix(".away").rename(path_of(url))
    with pytest.raises(lockwatch.LockConflictError):
        service.acquire("plan", "p1", "b")
    times.advance(TTL)
    service.acquire("plan", "p1", "b")


def test_a_body_that_ends_well_although_its_lease_was_lost_is_told(
    url: str, service: lockwatch.LockService, times: Times
) -> None:
    with (
        raising(lockwatch.LockExpiredError) as caught,
        service.hold("plan", "p1", "a", ttl_seconds=TTL) as lease,
    ):
        times.advance(TTL)
        assert lease.lost.wait(PATIENCE_SECS)
    assert caught.value.reason is LossReason.EXPIRED
    assert row(url, "plan/p1") is None


def test_a_takeover_that_only_the_release_finds_out_is_told(url: str, service: lockwatch.LockService) -> None:
    told = Told()
    with (
        raising(lockwatch.LockExpiredError) as caught,
        service.hold("plan", "p1", "a", ttl_seconds=TTL, on_lost=told) as lease,
    ):
        age(url, "plan/p1")
        with lockwatch.connect(url) as other:
            theirs = other.acquire("plan", "p1", "b")
    assert caught.value.reason is LossReason.TAKEN_OVER
    assert caught.value.holder == theirs
    assert eventually(lambda: told.leases == [lease])
    assert service.get("plan", "p1") == theirs


def test_a_removal_that_only_the_release_finds_out_is_told(url: str, service: lockwatch.LockService) -> None:
    with pytest.raises(lockwatch.LockExpiredError) as caught, service.hold("plan", "p1", "a", ttl_seconds=TTL):
        execute(url, "DELETE FROM locks")
    assert caught.value.reason is LossReason.REMOVED


def test_an_unreadable_row_is_left_to_a_person(url: str, service: lockwatch.LockService) -> None:
    with pytest.raises(lockwatch.LockExpiredError) as caught, service.hold("plan", "p1", "a", ttl_seconds=TTL):
        age(url, "plan/p1", "soon")
    assert caught.value.reason is LossReason.UNREADABLE
    assert row(url, "plan/p1") is not None
