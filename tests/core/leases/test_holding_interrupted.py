"""Ctrl+c between two steps of a hold: nothing is kept alive by nobody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lockwatch
from lockwatch.core.holding import Hold
from lockwatch.core.keeper import LeaseKeeper
from lockwatch.core.lease import Lease
from lockwatch.core.table import LockTable
from tests.support import rows


def interrupted_once(patch: pytest.MonkeyPatch, owner: type, name: str, *, after: bool) -> None:
    """Have the first call of a method end in a KeyboardInterrupt: before it did its work, or `after` it."""
    method: Callable[..., Any] = getattr(owner, name)
    interrupts = [KeyboardInterrupt()]

    def interrupted(*given: Any, **named: Any) -> Any:
        if not interrupts:
            return method(*given, **named)
        if after:
            method(*given, **named)
        raise interrupts.pop()

    patch.setattr(owner, name, interrupted)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    ("owner", "name"), [(LockTable, "insert"), (LeaseKeeper, "enter"), (Hold, "_begin"), (Lease, "tell")]
)
def test_an_interrupt_on_the_way_in_leaves_no_row_and_no_lease(
    service: lockwatch.LockService, url: str, monkeypatch: pytest.MonkeyPatch, owner: type, name: str, after: bool
) -> None:
    interrupted_once(monkeypatch, owner, name, after=after)
    with pytest.raises(KeyboardInterrupt), service.hold("plan", "p1", on_lost=lambda _: None):
        pytest.fail("the body ran")
    assert (rows(url), service.leases()) == ([], [])


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(("owner", "name"), [(LeaseKeeper, "leave"), (LockTable, "end"), (LeaseKeeper, "drop")])
def test_an_interrupt_on_the_way_out_leaves_no_row_and_no_lease(
    service: lockwatch.LockService, url: str, monkeypatch: pytest.MonkeyPatch, owner: type, name: str, after: bool
) -> None:
    told: list[Lease] = []
    with pytest.raises(KeyboardInterrupt), service.hold("plan", "p1", on_lost=told.append):
        interrupted_once(monkeypatch, owner, name, after=after)
    assert (rows(url), service.leases(), told) == ([], [], [])


@pytest.mark.parametrize("after", [False, True])
def test_an_interrupt_while_the_row_is_looked_at_leaves_no_row_and_no_lease(
    service: lockwatch.LockService, url: str, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    def hold() -> None:
        with service.hold("plan", "p1", "me"):
            service.renew("plan", "p1", "me", 600)  # the lease does not know the row as it is now
            interrupted_once(monkeypatch, LockTable, "find", after=after)

    with pytest.raises(KeyboardInterrupt):
        hold()
    assert (rows(url), service.leases()) == ([], [])


def test_an_interrupt_in_an_inner_hold_ends_that_one_alone(
    service: lockwatch.LockService, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with service.hold("plan", "p1", "me") as outer:
        with pytest.raises(KeyboardInterrupt), service.hold("plan", "p1", "me"):
            interrupted_once(monkeypatch, LeaseKeeper, "leave", after=True)
        outer.check()
        assert (len(rows(url)), service.leases()) == (1, [outer])
    assert rows(url) == []


def test_an_interrupt_takes_no_lease_of_another_hold_of_that_owner_away(
    service: lockwatch.LockService, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.acquire("plan", "p1", "me")
    interrupted_once(monkeypatch, LeaseKeeper, "enter", after=True)
    with pytest.raises(KeyboardInterrupt), service.hold("plan", "p1", "me"):
        pytest.fail("the body ran")
    assert (len(rows(url)), service.leases()) == (1, [])


@pytest.mark.parametrize("on_lost", [5, "call me"])
def test_on_lost_must_be_something_to_call(service: lockwatch.LockService, on_lost: Any) -> None:
    with pytest.raises(lockwatch.ValidationError, match="on_lost"):
        service.hold("plan", "p1", on_lost=on_lost)
