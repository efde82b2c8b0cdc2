"""Many leases at once, and a few against a model."""

from __future__ import annotations

import contextlib
import random
import time

import pytest

import lockwatch
from lockwatch.core.holding import Hold
from lockwatch.core.lease import Lease
from tests.core.leases.leasing import (
    Times,
    eventually,
    lease_threads,
)

# Many


def test_a_thousand_leases_of_one_process_are_all_renewed_in_time(service: lockwatch.LockService, times: Times) -> None:
    with contextlib.ExitStack() as holds:
        leases = [
            holds.enter_context(service.hold("plan", f"p{number}", "a", ttl_seconds=300)) for number in range(1000)
        ]
        for _ in range(4):
            times.advance(100)
            assert eventually(lambda: min(lease.remaining() for lease in leases) == 300)
        assert not any(lease.is_lost() for lease in leases)
        assert {lock.remaining(times.wall()) for lock in service.snapshot().locks} == {300}


# Against a model


class Model:
    """Holds of two owners on two resources by one service, with a hostile world around it."""

    def __init__(self, service: lockwatch.LockService, times: Times, dice: random.Random) -> None:
        self.service, self.times, self.dice = service, times, dice
        self.held: list[tuple[str, Hold, Lease]] = []
        self.refusals: list[tuple[str, str]] = []

    def has_row(self, name: str, lease: Lease) -> bool:
        found = self.service.get("plan", name)
        return found is not None and found.id == lease.fence

    def enter(self) -> None:
        name, owner = self.dice.choice(["p1", "p2"]), self.dice.choice(["a", "b"])
        hold = self.service.hold("plan", name, owner, ttl_seconds=self.dice.choice([5.0, 30.0]))
        try:
            lease = hold.__enter__()
        except lockwatch.LockConflictError as conflict:
            self.refusals.append((owner, conflict.holder.owner_id))
            return
        assert lease.is_lost() or self.has_row(name, lease)
        self.held.append((name, hold, lease))

    def leave(self) -> None:
        if not self.held:
            return
        name, hold, lease = self.held.pop(self.dice.randrange(len(self.held)))
        with contextlib.suppress(lockwatch.LockExpiredError):
            hold.__exit__(None, None, None)
        if any(other is lease for _, _, other in self.held):
            assert lease.is_lost() or not lease._has_ended
        else:
            assert not self.has_row(name, lease)

    def pass_time(self) -> None:
        for _ in range(self.dice.randrange(1, 4)):
            self.times.advance(self.dice.choice([0.5, 1.5]))
            time.sleep(0.015)

    def sleep(self) -> None:
        self.times.advance(self.dice.choice([6, 31]))

    def rob(self) -> None:
        lock = self.service.get("plan", self.dice.choice(["p1", "p2"]))
        if lock is not None:
            self.service.release_exact(lock)

    def step(self) -> None:
        self.dice.choices([self.enter, self.leave, self.pass_time, self.sleep, self.rob], weights=[6, 5, 3, 1, 1])[0]()


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_a_lease_that_is_not_lost_has_its_row_within_a_heartbeat(
    service: lockwatch.LockService, times: Times, seed: int
) -> None:
    model = Model(service, times, random.Random(seed))  # noqa: S311 to be the same again
    for _ in range(60):
        model.step()
    for _ in range(4):  # a heartbeat of the longest of them: all is known then
        times.advance(2.5)
        time.sleep(0.015)
    assert all(asked != holder for asked, holder in model.refusals)
    assert eventually(lambda: all(lease.is_lost() or model.has_row(name, lease) for name, _, lease in model.held))
    while model.held:
        model.leave()
    assert not service.snapshot().locks
    assert eventually(lambda: not lease_threads())
