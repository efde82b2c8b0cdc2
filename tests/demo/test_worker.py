from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import pytest

from lockwatch import Lock, LockExpiredError, LockService
from lockwatch.core import holding
from lockwatch.core.model import Key
from lockwatch.database import Database
from lockwatch.demo import worker
from lockwatch.demo.scene import STUCK_ON, Part, Role, Task, worker_of
from lockwatch.plans import Phase, PlanLease, PlanLifecycleService, PlanState, RunOutcome
from tests.demo.playing import DEADLINE_SECS, until
from tests.support import Clock, insert_row, path_of

A = Key("plan", "a-1")
B = Key("plan", "b-1")
SHOP = Key("project", "shop")
TTL = 5
SHORT = 0.03

Plans: TypeAlias = Callable[[str], PlanLifecycleService]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "POLL_SECS", 0.01)


@pytest.fixture
def quick_heartbeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many renewals in the real time that a TTL takes, since it is a movable clock that lets it run out."""
    monkeypatch.setattr(holding, "HEARTBEAT_SHARE", 0.1 / TTL)


@pytest.fixture
def plans_of(service: LockService, url: str) -> Plans:
    """The plans, as a worker of some name works on them."""
    engine = Database.from_url(url).transactional_engine()
    return lambda name: PlanLifecycleService(service, engine, worker=name)


def part(
    *slugs: str, role: Role = Role.STEADY, work: float = 3600, project: str = "shop", phase: Phase = Phase.EXECUTE
) -> Part:
    """A part whose tasks take `work` seconds."""
    tasks = tuple(
        Task(name=f"do {slug}", slug=slug, project_id=project, ttl_seconds=TTL, work_seconds=work, phase=phase)
        for slug in slugs
    )
    return Part(number=1, host="here", role=role, tasks=tasks, rest_seconds=0.01)


@contextmanager
def playing(plans_of: Plans, played: Part, name: str = "me") -> Iterator[threading.Thread]:
    ended = threading.Event()
    thread = threading.Thread(target=worker.Worker(plans_of(name), ended).play, args=(played,))
    thread.start()
    try:
        yield thread
    finally:
        ended.set()
        thread.join(DEADLINE_SECS)
    assert not thread.is_alive()


def taken(service: LockService, key: Key, name: str = "me", after: int = 0) -> Lock:
    """The lock under which a worker works, by a fence greater than `after`; its other locks last longer."""
    found: list[Lock] = []

    def is_taken() -> bool:
        lock = service.get(*key)
        is_it = lock and worker_of(lock.owner_id) == name and lock.id > after
        found[:] = [lock] if lock and is_it and lock.remaining(service.now()) <= TTL else []
        return bool(found)

    assert until(is_taken), f"{name} never took {key}: {service.get(*key)}"
    return found[0]


def has_begun(plans_of: Plans, plan_id: str) -> bool:
    """Whether work on a plan is under way: it begins a moment after its lock was taken."""
    return until(lambda: plans_of("other").get(plan_id).state is PlanState.PROCESSING)


def left_by_dead_worker(plans: PlanLifecycleService, url: str, clock: Clock, slug: str = "a") -> Lock:
    """A plan whose worker died in its phase execute, and the lock that went stale just now."""
    plan_id, begun = f"{slug}-1", clock.text()
    plans.create(f"do {slug}", "shop", plan_id)
    plans.advance(plan_id)
    plans.run_phase(plan_id, lambda _lease: None)
    plans.advance(plan_id)
    locks = []

    def die(lease: PlanLease) -> None:
        locks.append(lease.lock)
        clock.advance(TTL)

    with pytest.raises(LockExpiredError):
        plans.run_phase(plan_id, die, ttl_seconds=TTL)
    insert_row(
        url, f"plan/{plan_id}", locks[0].owner_id, acquired_at=begun, expires_at=clock.text(), lock_id=locks[0].id
    )
    return plans.locks.snapshot().stale[-1]


def test_a_worker_does_its_tasks_in_turn_and_again_each_time_as_a_new_plan(
    service: LockService, plans_of: Plans
) -> None:
    with playing(plans_of, part("a", "b", work=SHORT)):
        first = taken(service, A)
        second = taken(service, B, after=first.id)
        taken(service, Key("plan", "a-2"), after=second.id)
    done = plans_of("other").get("a-1")
    assert (done.name, done.project_id) == ("do a", "shop")
    assert done.stage == (Phase.EXECUTE, PlanState.COMPLETE)


def test_what_is_applied_goes_through_all_phases_and_holds_plan_and_project(
    service: LockService, plans_of: Plans
) -> None:
    with playing(plans_of, part("a", phase=Phase.APPLY, work=0.3)):
        project = taken(service, SHOP)
        assert taken(service, A).owner_id == project.owner_id
        taken(service, Key("plan", "a-2"), after=project.id)
    assert plans_of("other").get("a-1").state is PlanState.APPLIED
    phases = [run.phase for run in plans_of("other").history("a-1")]
    assert phases == [Phase.STRATEGIZE, Phase.EXECUTE, Phase.APPLY]


@pytest.mark.usefixtures("quick_heartbeats")
def test_a_lock_is_renewed_while_its_worker_works(service: LockService, plans_of: Plans, clock: Clock) -> None:
    with playing(plans_of, part("a")):
        lock = taken(service, A)
        clock.advance(TTL - 1)
        assert until(lambda: (service.get(*A) or lock).expires_at != lock.expires_at)
        assert taken(service, A).remaining(clock()) == TTL


@pytest.mark.parametrize("key", [A, SHOP])
def test_what_another_holds_is_passed_over(service: LockService, plans_of: Plans, key: Key) -> None:
    other = service.acquire(*key, "other")
    mine = (part("a", phase=Phase.APPLY), part("b", project="other"))
    both = Part(number=1, host="here", role=Role.STEADY, tasks=(*mine[0].tasks, *mine[1].tasks), rest_seconds=0.01)
    with playing(plans_of, both):
        taken(service, B)
        assert [lock.key for lock in service.snapshot().locks] == [key, B]
    assert service.get(*key) == other


def test_a_plan_that_somebody_started_by_hand_is_passed_over(service: LockService, plans_of: Plans) -> None:
    by_hand = plans_of("other")
    by_hand.create("do a", "shop", "a-1")
    by_hand.advance("a-1")
    started = by_hand.start("a-1")
    with playing(plans_of, part("a", "b")):
        taken(service, B)
    assert by_hand.get("a-1") == started


def test_a_dead_workers_lock_is_left_to_be_seen_and_its_plan_is_recovered_after_five_minutes(
    service: LockService, plans_of: Plans, url: str, clock: Clock
) -> None:
    dead = left_by_dead_worker(plans_of("dead"), url, clock)
    clock.advance(worker.LEAVE_STALE_SECS)
    with playing(plans_of, part("a", "b", work=SHORT)):
        first = taken(service, B)
        taken(service, Key("plan", "b-2"), after=first.id)
        assert service.get(*A) == dead
        clock.advance(1)
        taken(service, A)
    outcomes = [run.outcome for run in plans_of("other").history("a-1")]
    assert outcomes[:2] == [RunOutcome.COMPLETE, RunOutcome.ABANDONED]
    assert len(outcomes) == 3


def test_a_dead_workers_plan_is_recovered_as_soon_as_its_lock_is_purged_and_no_other_is(
    service: LockService, plans_of: Plans, url: str, clock: Clock
) -> None:
    left, purged = (left_by_dead_worker(plans_of("dead"), url, clock, slug) for slug in "ab")
    with playing(plans_of, part("a", "b", "c", work=SHORT)):
        taken(service, Key("plan", "c-2"))
        assert service.snapshot().stale == (left, purged)
        assert [outcome.is_done for outcome in service.purge_exact([purged])] == [True]
        taken(service, B)
        assert service.get(*A) == left


def test_a_dead_workers_lock_on_a_project_is_left_to_be_seen_too(
    service: LockService, plans_of: Plans, url: str, clock: Clock
) -> None:
    insert_row(url, str(SHOP), "dead", acquired_at=clock.text(-TTL), expires_at=clock.text())
    dead = service.get(*SHOP)
    with playing(plans_of, part("a", phase=Phase.APPLY)):
        assert until(lambda: any(plan.phase is Phase.APPLY for plan in plans_of("other").list()))
        assert until(lambda: service.snapshot().locks == (dead,))
        assert not until(lambda: service.snapshot().locks != (dead,), seconds=10 * SHORT)
        clock.advance(worker.LEAVE_STALE_SECS + 1)
        taken(service, SHOP)


@pytest.mark.usefixtures("quick_heartbeats")
def test_a_worker_whose_lock_was_released_by_an_operator_goes_on_with_other_work(
    service: LockService, plans_of: Plans, caplog: pytest.LogCaptureFixture
) -> None:
    with playing(plans_of, part("a", "b")):
        lock = taken(service, A)
        assert has_begun(plans_of, "a-1")
        assert service.release_exact(lock).is_done
        taken(service, B)
    lost = f"the lock of {lock.owner_id} on plan/a-1 is not there any more: it was released or removed"
    assert lost in caplog.text
    assert plans_of("other").find_abandoned()[0].plan_id == "a-1"


def test_a_worker_outlives_its_database(
    service: LockService, plans_of: Plans, url: str, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    path = path_of(url)
    with playing(plans_of, part("a", "b", work=SHORT)):
        before = taken(service, A)
        away = path.rename(path.with_name("away.db"))
        assert until(lambda: "there is no database file" in caplog.text)
        clock.advance(60)
        away.rename(path)
        assert until(lambda: any(lock.id > before.id for lock in service.snapshot().locks))


@pytest.mark.parametrize("key", [STUCK_ON, A])
def test_a_stuck_worker_holds_its_locks_and_does_nothing_until_one_is_taken_away(
    service: LockService, plans_of: Plans, clock: Clock, key: Key
) -> None:
    stuck = part("a", role=Role.STUCK, project=STUCK_ON.resource_id, phase=Phase.APPLY)
    with playing(plans_of, stuck) as thread:
        locks = (taken(service, A), taken(service, STUCK_ON))
        assert has_begun(plans_of, "a-1")
        clock.advance(TTL - 1)
        assert not until(lambda: service.snapshot().locks != locks, seconds=10 * SHORT)
        service.release_exact(next(lock for lock in locks if lock.key == key))
        assert until(lambda: not thread.is_alive())
    assert service.snapshot().locks == ()
    assert plans_of("other").count_abandoned() == 1


def test_the_waiting_worker_takes_what_is_released_then_lets_another_get_stuck_again(
    service: LockService, plans_of: Plans
) -> None:
    stuck = service.acquire(*STUCK_ON, "stuck-1")
    waiting = part("a", role=Role.WAITING, work=0.2, project=STUCK_ON.resource_id, phase=Phase.APPLY)
    with playing(plans_of, waiting, "waiting"):
        assert not until(lambda: service.get(*STUCK_ON) != stuck, seconds=5 * SHORT)
        service.release_exact(stuck)
        done = taken(service, STUCK_ON, "waiting")
        assert until(lambda: service.get(*STUCK_ON) is None)
        assert not until(lambda: service.get(*STUCK_ON), seconds=5 * SHORT)
        stuck = service.acquire(*STUCK_ON, "stuck-2")
        assert not until(lambda: service.get(*STUCK_ON) != stuck, seconds=5 * SHORT)
        service.release_exact(stuck)
        taken(service, STUCK_ON, "waiting", after=done.id)
