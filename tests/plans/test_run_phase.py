"""A phase's work, held by a heartbeat: what becomes of the plan when it ends, raises, or loses its lease."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

import lockwatch
from lockwatch.core.loss import Loss
from lockwatch.database import Database
from lockwatch.plans import Phase, PlanConstrainedError, PlanLease, PlanLifecycleService, PlanState, RunOutcome
from tests.plans.placing import outcomes, put, stage
from tests.support import Clock, execute, raw, row, rows


def test_work_runs_under_the_plans_lock_and_its_end_completes_the_phase(plans: PlanLifecycleService, url: str) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)

    def work(lease: PlanLease) -> None:
        lease.check()
        assert stage(url) == ("execute", "processing")
        (run,) = plans.history("p1")
        lock = plans.locks.get("plan", "p1")
        assert lock is not None
        assert (run.owner_id, run.fence, run.is_manual, run.is_open) == (lock.owner_id, lock.id, False, True)
        assert (lease.fence, lease.lock.owner_id, lease.project) == (run.fence, run.owner_id, None)
        assert 0 < lease.remaining() <= 60

    plan = plans.run_phase("p1", work, ttl_seconds=60)
    assert plan.stage == stage(url) == ("execute", "complete")
    assert (outcomes(url), rows(url)) == (["complete"], [])


def test_an_apply_holds_its_project_too_all_along_and_ends_applied(plans: PlanLifecycleService, url: str) -> None:
    put(url, Phase.APPLY, PlanState.QUEUED)
    held: list[str] = []
    plans.run_phase("p1", lambda _lease: held.extend(lock.resource for lock in plans.locks.snapshot().locks))
    assert held == ["plan/p1", "project/shop"]
    assert (stage(url), outcomes(url), rows(url)) == (("apply", "applied"), ["applied"], [])


def test_both_locks_of_an_apply_have_one_owner(plans: PlanLifecycleService, url: str) -> None:
    put(url, Phase.APPLY, PlanState.QUEUED)
    owners: set[str] = set()
    plans.run_phase("p1", lambda _lease: owners.update(lock.owner_id for lock in plans.locks.snapshot().locks))
    assert len(owners) == 1


def test_two_plans_of_one_project_are_not_applied_at_once(plans: PlanLifecycleService, url: str) -> None:
    put(url, Phase.APPLY, PlanState.QUEUED)
    put(url, Phase.APPLY, PlanState.QUEUED, plan_id="p2")

    def work(_lease: PlanLease) -> None:
        with pytest.raises(lockwatch.LockConflictError, match="project/shop"):
            plans.run_phase("p2", print)
        assert row(url, "plan/p2") is None

    plans.run_phase("p1", work)
    assert (stage(url), stage(url, "p2")) == (("apply", "applied"), ("apply", "queued"))


def test_work_that_raises_leaves_the_plan_errored_with_the_reason_and_a_retry_runs(
    plans: PlanLifecycleService, url: str
) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)

    def work(_lease: PlanLease) -> None:
        raise OSError("no disk")

    with pytest.raises(OSError, match=r"^no disk$") as raised:
        plans.run_phase("p1", work)
    assert not hasattr(raised.value, "__notes__")
    assert (plans.get("p1").state, plans.get("p1").error) == (PlanState.ERRORED, "OSError: no disk")
    plans.retry("p1")
    plans.run_phase("p1", lambda _lease: None)
    assert (outcomes(url), rows(url)) == (["errored", "complete"], [])


def test_work_that_is_interrupted_leaves_the_plan_errored(plans: PlanLifecycleService, url: str) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)

    def work(_lease: PlanLease) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        plans.run_phase("p1", work)
    assert plans.get("p1").error == "KeyboardInterrupt"


def test_work_that_meets_a_constraint_leaves_the_plan_constrained(plans: PlanLifecycleService, url: str) -> None:
    put(url, Phase.APPLY, PlanState.QUEUED)

    def work(_lease: PlanLease) -> None:
        raise PlanConstrainedError("the budget is spent")

    with pytest.raises(PlanConstrainedError):
        plans.run_phase("p1", work)
    assert (plans.get("p1").state, plans.get("p1").error) == (PlanState.CONSTRAINED, "the budget is spent")
    assert (outcomes(url), rows(url)) == (["constrained"], [])


Steal = Callable[[], object]


@pytest.fixture
def steal(plans: PlanLifecycleService, clock: Clock) -> Steal:
    """What happens to a worker that is paused past its TTL: the time passes, and somebody takes the plan over."""

    def _steal() -> object:
        clock.advance(3600)
        return plans.locks.acquire("plan", "p1", "other")

    return _steal


def test_the_end_of_work_whose_lease_was_taken_over_is_not_written(
    plans: PlanLifecycleService, url: str, steal: Steal
) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)
    with pytest.raises(lockwatch.LockExpiredError) as lost:
        plans.run_phase("p1", lambda _lease: steal())
    assert (lost.value.reason, lost.value.holder and lost.value.holder.owner_id) == ("taken over", "other")
    assert (stage(url), outcomes(url)) == (("execute", "processing"), [None])
    assert [lock.owner_id for lock in plans.locks.snapshot().locks] == ["other"]


def test_the_end_of_work_whose_lease_expired_is_not_written_though_nobody_took_it(
    plans: PlanLifecycleService, url: str, clock: Clock
) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)
    with pytest.raises(lockwatch.LockExpiredError) as lost:
        plans.run_phase("p1", lambda _lease: clock.advance(3600))
    assert lost.value.reason is lockwatch.LossReason.EXPIRED
    assert (stage(url), outcomes(url)) == (("execute", "processing"), [None])


def test_what_work_raises_is_never_hidden_by_the_loss_of_its_lease(
    plans: PlanLifecycleService, url: str, steal: Steal
) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)

    def work(_lease: PlanLease) -> None:
        steal()
        raise OSError("no disk")

    with pytest.raises(OSError, match="no disk") as raised:
        plans.run_phase("p1", work)
    (note,) = raised.value.__notes__
    assert note.startswith("lockwatch could not write that the run ended so: the lock of ")
    assert (stage(url), outcomes(url)) == (("execute", "processing"), [None])


def test_a_write_of_work_that_was_paused_past_its_ttl_is_refused_and_rolled_back(
    plans: PlanLifecycleService, url: str, steal: Steal
) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)
    execute(url, "CREATE TABLE results (value TEXT)")
    engine = Database.from_url(url).transactional_engine()

    def write(lease: PlanLease, value: str) -> None:
        with engine.begin() as connection:
            connection.execute(sa.text("INSERT INTO results VALUES (:value)"), {"value": value})
            lease.guard(connection)

    def work(lease: PlanLease) -> None:
        write(lease, "in time")
        steal()
        write(lease, "too late")

    with pytest.raises(lockwatch.LockExpiredError):
        plans.run_phase("p1", work)
    assert execute(url, "SELECT value FROM results") == [("in time",)]
    assert stage(url) == ("execute", "processing")


@pytest.mark.parametrize("resource", ["plan/p1", "project/shop"])
def test_work_of_an_apply_is_told_when_either_lock_is_lost(
    plans: PlanLifecycleService, url: str, resource: str
) -> None:
    put(url, Phase.APPLY, PlanState.QUEUED)

    def work(lease: PlanLease) -> None:
        assert lease.project is not None
        assert not lease.lost.is_set()
        lost = lease.plan if resource == "plan/p1" else lease.project
        lost.lose(Loss(reason=lockwatch.LossReason.REMOVED))
        assert lease.lost.wait(30)
        assert (lease.is_lost(), lease.lost_reason, lease.remaining()) == (True, lost.lost_reason, 0)
        with pytest.raises(lockwatch.LockExpiredError, match=resource):
            lease.check()

    with pytest.raises(lockwatch.LockExpiredError, match=resource):
        plans.run_phase("p1", work)
    assert (stage(url), outcomes(url)) == (("apply", "processing"), [None])


@pytest.mark.parametrize("resource", ["plan", "project"])
def test_an_apply_needs_both_leases_for_its_end(plans: PlanLifecycleService, url: str, resource: str) -> None:
    put(url, Phase.APPLY, PlanState.QUEUED)
    with pytest.raises(lockwatch.LockExpiredError, match=f"{resource}/"):
        plans.run_phase("p1", lambda _lease: execute(url, "DELETE FROM locks WHERE resource_type = ?", (resource,)))
    assert stage(url) == ("apply", "processing")


def test_the_end_is_written_as_soon_as_a_busy_database_allows(
    plans: PlanLifecycleService, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)
    tries: list[int] = []

    def work(lease: PlanLease) -> None:
        guard = lease.plan.guard

        def busy_once(connection: object) -> None:
            tries.append(1)
            if len(tries) == 1:
                raise lockwatch.DatabaseBusyError("busy")
            guard(connection)  # type: ignore[arg-type]

        monkeypatch.setattr(lease.plan, "guard", busy_once)

    assert plans.run_phase("p1", work).state is PlanState.COMPLETE
    assert len(tries) == 2


def test_a_database_that_stays_busy_is_told(
    plans: PlanLifecycleService, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)

    def busy(_connection: object) -> None:
        raise lockwatch.DatabaseBusyError("busy")

    def work(lease: PlanLease) -> None:
        monkeypatch.setattr(lease.plan, "guard", busy)

    with pytest.raises(lockwatch.DatabaseBusyError):
        plans.run_phase("p1", work)
    assert stage(url) == ("execute", "processing")


def test_reading_plans_waits_for_no_writer(plans: PlanLifecycleService, url: str) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)
    with raw(url) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(lambda: (plans.list(), plans.history("p1"))).result(timeout=30) == (
                (plans.get("p1"),),
                (),
            )


def test_a_run_says_how_it_ended(plans: PlanLifecycleService, url: str) -> None:
    put(url, Phase.STRATEGIZE, PlanState.QUEUED)
    plans.run_phase("p1", lambda _lease: None)
    (run,) = plans.history("p1")
    assert (run.plan_id, run.phase, run.outcome, run.error) == ("p1", Phase.STRATEGIZE, RunOutcome.COMPLETE, None)
