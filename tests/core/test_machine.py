"""The service against a small model of it, in any order of calls, by hypothesis.

Several owners and resources, a clock that moves, two services and a watcher on one file, and rows that another
program edits, deletes and inserts, with timestamps of its own forms or of none.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import lockwatch
from lockwatch import Lock, OutcomeKind
from tests.support import Clock, execute

OWNERS = st.sampled_from(["a", "b", "ç😀", "a%"])
RESOURCES = st.sampled_from(["p1", "P1", "p\u00e9", "%"])
TTLS = st.sampled_from([5, 7.5, 60, 300, 3600])
UNREADABLE = ["", "soon", "2020-02-30T00:00:00Z", "1583000000"]


@dataclasses.dataclass
class Row:
    """What the model knows of a row: a lock without the time it was acquired at."""

    id: int
    owner: str
    expires: datetime | None
    text: str


def _forms(moment: datetime) -> list[str]:
    elsewhere = moment.astimezone(timezone(timedelta(hours=-5, minutes=-30)))
    naive = moment.replace(tzinfo=None)
    return [
        elsewhere.isoformat(),
        moment.isoformat(),
        naive.isoformat(" "),
        f"{naive.isoformat()}Z",
        f"{naive.isoformat(timespec='microseconds')}Z",
        naive.isoformat().replace("-", "").replace(":", ""),
    ]


class Locks(RuleBasedStateMachine):
    """One file of locks; `self.rows` is what must be in it."""

    template: Path

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "locks.db"
        shutil.copyfile(self.template, path)
        self.url = f"sqlite:///{path}"
        self.clock = Clock()
        self.services = [lockwatch.connect(self.url, clock=self.clock) for _ in range(2)]
        self.watcher = self.services[0].watcher()
        self.rows: dict[str, Row] = {}
        self.greatest = 0
        self.seen: list[Lock] = []

    @initialize(data=st.data())
    def start(self, data: st.DataObject) -> None:
        self.data = data

    def teardown(self) -> None:
        for service in self.services:
            service.close()
        self.watcher.close()
        self.folder.cleanup()

    # Helpers of the model

    def service(self) -> lockwatch.LockService:
        return self.services[self.data.draw(st.integers(0, 1))]

    def live(self, resource: str) -> Row | None:
        """The row, if nobody else may have the resource: unreadable ones never end."""
        found = self.rows.get(resource)
        return found if found and (found.expires is None or found.expires > self.clock.now) else None

    def stale(self) -> set[str]:
        return {name for name in self.rows if not self.live(name)}

    def granted(self, resource: str, owner: str, ttl: float, lock: Lock) -> None:
        assert lock.id > self.greatest
        self.greatest = lock.id
        assert lock.acquired_at == self.clock.now
        assert lock.expires_at == self.clock.now + timedelta(seconds=ttl)
        self.rows[resource] = Row(lock.id, owner, lock.expires_at, lock.expires_text)

    def extended(self, found: Row, ttl: float, lock: Lock) -> None:
        assert found.expires is not None
        wanted = max(found.expires, self.clock.now + timedelta(seconds=ttl))
        assert (lock.id, lock.owner_id, lock.expires_at) == (found.id, found.owner, wanted)
        found.expires, found.text = wanted, lock.expires_text

    def same(self, lock: Lock) -> bool:
        """Whether a lock that was seen is still the very row."""
        found = self.rows.get(lock.resource_id)
        return found is not None and (found.id, found.owner, found.text) == (lock.id, lock.owner_id, lock.expires_text)

    # The clock

    @rule(seconds=st.sampled_from([0.000001, 1, 4.999999, 5, 30, 301, 4000, -0.000001, -20, -4000]))
    def the_clock_moves(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @precondition(lambda self: any(row.expires and row.expires > self.clock.now for row in self.rows.values()))
    @rule(data=st.data())
    def time_passes_to_an_expiry(self, data: st.DataObject) -> None:
        coming = sorted(row.expires for row in self.rows.values() if row.expires and row.expires > self.clock.now)
        self.clock.now = data.draw(st.sampled_from(coming)) - timedelta(microseconds=data.draw(st.integers(0, 1)))

    # Owners

    @rule(resource=RESOURCES, owner=OWNERS, ttl=TTLS)
    def acquire(self, resource: str, owner: str, ttl: float) -> None:
        found = self.live(resource)
        if found is None:
            self.granted(resource, owner, ttl, self.service().acquire("plan", resource, owner, ttl))
        elif found.owner == owner and found.expires:
            self.extended(found, ttl, self.service().acquire("plan", resource, owner, ttl))
        else:
            with pytest.raises(lockwatch.LockConflictError) as refused:
                self.service().acquire("plan", resource, owner, ttl)
            assert self.same(refused.value.holder)

    @rule(resource=RESOURCES, owner=OWNERS, ttl=TTLS)
    def renew(self, resource: str, owner: str, ttl: float) -> None:
        found = self.live(resource)
        if found and found.owner == owner and found.expires:
            self.extended(found, ttl, self.service().renew("plan", resource, owner, ttl))
        else:
            with pytest.raises(lockwatch.LockExpiredError):
                self.service().renew("plan", resource, owner, ttl)

    @rule(resource=RESOURCES, owner=OWNERS)
    def release(self, resource: str, owner: str) -> None:
        found = self.rows.get(resource)
        mine = found is not None and found.owner == owner and found.expires is not None
        expected = mine and self.live(resource) is not None
        assert self.service().release("plan", resource, owner) is expected
        if mine:
            del self.rows[resource]

    @rule(owner=OWNERS)
    def release_all(self, owner: str) -> None:
        mine = [name for name, row in self.rows.items() if row.owner == owner and row.expires]
        assert self.service().release_all_for_owner(owner) == len(mine)
        for name in mine:
            del self.rows[name]

    @rule()
    def clean_up(self) -> None:
        stale = self.stale()
        assert self.service().count_stale_locks() == len(stale)
        assert self.service().cleanup_expired() == len(stale)
        for name in stale:
            del self.rows[name]

    # Another program

    @rule(resource=RESOURCES, owner=OWNERS, ahead=st.integers(-60, 600), data=st.data())
    def another_program_inserts(self, resource: str, owner: str, ahead: int, data: st.DataObject) -> None:
        if resource in self.rows:
            return
        text = self.foreign_text(ahead, data)
        ((number,),) = execute(
            self.url,
            "INSERT INTO locks (owner_id, resource_type, resource_id, acquired_at, expires_at)"
            " VALUES (?, 'plan', ?, 'once', ?) RETURNING id",
            (owner, resource, text),
        )
        assert number > self.greatest
        self.greatest = number
        expires = None if text in UNREADABLE else self.clock.now + timedelta(seconds=ahead)
        self.rows[resource] = Row(number, owner, expires, text)

    @precondition(lambda self: self.rows)
    @rule(ahead=st.integers(-60, 600), data=st.data())
    def another_program_edits_an_expiry(self, ahead: int, data: st.DataObject) -> None:
        resource = data.draw(st.sampled_from(sorted(self.rows)))
        text = self.foreign_text(ahead, data)
        execute(self.url, "UPDATE locks SET expires_at = ? WHERE resource_id = ?", (text, resource))
        found = self.rows[resource]
        found.text = text
        found.expires = None if text in UNREADABLE else self.clock.now + timedelta(seconds=ahead)

    @precondition(lambda self: self.rows)
    @rule(owner=OWNERS, data=st.data())
    def another_program_edits_an_owner(self, owner: str, data: st.DataObject) -> None:
        resource = data.draw(st.sampled_from(sorted(self.rows)))
        execute(self.url, "UPDATE locks SET owner_id = ? WHERE resource_id = ?", (owner, resource))
        self.rows[resource].owner = owner

    @precondition(lambda self: self.rows)
    @rule(data=st.data())
    def another_program_deletes(self, data: st.DataObject) -> None:
        resource = data.draw(st.sampled_from(sorted(self.rows)))
        execute(self.url, "DELETE FROM locks WHERE resource_id = ?", (resource,))
        del self.rows[resource]

    @precondition(lambda self: self.rows)
    @rule(further=st.integers(1, 1000), data=st.data())
    def another_program_inserts_an_id_far_ahead(self, further: int, data: st.DataObject) -> None:
        resource = data.draw(st.sampled_from(sorted(self.rows)))
        found = self.rows[resource]
        execute(self.url, "DELETE FROM locks WHERE resource_id = ?", (resource,))
        self.greatest += further
        execute(
            self.url,
            "INSERT INTO locks VALUES (?, ?, 'plan', ?, 'once', ?)",
            (self.greatest, found.owner, resource, found.text),
        )
        found.id = self.greatest

    def foreign_text(self, ahead: int, data: st.DataObject) -> str:
        moment = self.clock.now + timedelta(seconds=ahead)
        return data.draw(st.sampled_from(_forms(moment) + UNREADABLE))

    # Operators

    @rule()
    def look(self) -> None:
        self.seen = list(self.service().snapshot().locks) + self.seen[:6]

    @precondition(lambda self: self.seen)
    @rule(data=st.data())
    def release_exact(self, data: st.DataObject) -> None:
        seen = data.draw(st.sampled_from(self.seen))
        outcome = self.service().release_exact(seen)
        assert outcome.is_done == self.same(seen)
        self.check_refusal(seen, outcome)
        if outcome.is_done:
            del self.rows[seen.resource_id]

    @precondition(lambda self: self.seen)
    @rule(ttl=TTLS, data=st.data())
    def renew_exact(self, ttl: float, data: st.DataObject) -> None:
        seen = data.draw(st.sampled_from(self.seen))
        outcome = self.service().renew_exact(seen, ttl)
        found = self.rows.get(seen.resource_id)
        live = self.same(seen) and seen.is_readable and not seen.is_expired(self.clock.now)
        assert outcome.is_done == live
        if live:
            assert found is not None
            assert outcome.now is not None
            self.extended(found, ttl, outcome.now)
        elif self.same(seen):
            assert outcome.kind is (OutcomeKind.EXPIRED if seen.is_readable else OutcomeKind.UNREADABLE)
        else:
            self.check_refusal(seen, outcome)

    @precondition(lambda self: self.seen)
    @rule(data=st.data())
    def purge_exact(self, data: st.DataObject) -> None:
        locks = data.draw(st.lists(st.sampled_from(self.seen), unique_by=lambda lock: (lock.id, lock.expires_text)))
        for seen, outcome in zip(locks, self.service().purge_exact(iter(locks)), strict=True):
            assert outcome.seen == seen
            assert outcome.is_done == (self.same(seen) and seen.is_expired(self.clock.now))
            if outcome.is_done:
                del self.rows[seen.resource_id]
            elif self.same(seen):
                assert outcome.kind is (OutcomeKind.NOT_EXPIRED if seen.is_readable else OutcomeKind.UNREADABLE)
            else:
                self.check_refusal(seen, outcome)

    def check_refusal(self, seen: Lock, outcome: lockwatch.Outcome) -> None:
        if outcome.is_done:
            return
        found = self.rows.get(seen.resource_id)
        assert (outcome.now is None) == (outcome.kind is OutcomeKind.GONE) == (found is None)
        if found is None or outcome.now is None:
            return
        assert self.same(outcome.now)
        assert (outcome.kind is OutcomeKind.TAKEN_OVER) == ((found.id, found.owner) != (seen.id, seen.owner_id))

    # What always holds

    @invariant()
    def the_table_is_what_the_model_says(self) -> None:
        seen = self.watcher.look()
        assert seen.taken_at == self.clock.now
        found = {
            lock.resource_id: Row(lock.id, lock.owner_id, lock.expires_at, lock.expires_text) for lock in seen.locks
        }
        assert found == self.rows
        assert {lock.resource_id for lock in self.service().snapshot().stale} == self.stale()
        assert [lock.id for lock in seen.locks] == sorted(lock.id for lock in seen.locks)

    @rule(resource=RESOURCES)
    def get(self, resource: str) -> None:
        lock = self.service().get("plan", resource)
        assert (lock is None) == (resource not in self.rows)
        assert lock is None or self.same(lock)


def test_the_service_does_what_the_model_does(upgraded_database: Path) -> None:
    machine: Any = type("LocksHere", (Locks,), {"template": upgraded_database})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=int(os.environ.get("LOCKWATCH_TEST_EXAMPLES", "60")),
            stateful_step_count=30,
            suppress_health_check=list(HealthCheck),
        ),
    )
