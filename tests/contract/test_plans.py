"""Plans on every database: moved on under their locks, by one at a time, and found again when their process died."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import lockwatch
from lockwatch import plans
from lockwatch.plans import Phase, PlanLease, PlanLifecycleService, PlanState, RunOutcome
from tests.contract.sites import Site
from tests.support import meet, together


@pytest.fixture
def planning(site: Site) -> Iterator[PlanLifecycleService]:
    with plans.connect(site.url) as opened:
        yield opened


def test_a_plan_goes_through_all_its_phases(planning: PlanLifecycleService, site: Site) -> None:
    plan = planning.create("Jób 😀", project_id="shop")
    for _ in range(3):
        planning.advance(plan.id)
        done = planning.run_phase(plan.id, lambda lease: lease.check())
    assert (done.phase, done.state) == (Phase.APPLY, PlanState.APPLIED)
    assert [run.outcome for run in planning.history(plan.id)] == [
        RunOutcome.COMPLETE,
        RunOutcome.COMPLETE,
        RunOutcome.APPLIED,
    ]
    assert planning.list(project_id="shop", state=PlanState.APPLIED) == (done,)
    assert site.rows() == []


def test_plans_whose_ids_are_only_alike_are_two(planning: PlanLifecycleService) -> None:
    ids = ["Job", "job", "jób"]
    for plan_id in ids:
        planning.create(f"plan {plan_id}", project_id="shop", plan_id=plan_id)
    assert [planning.get(plan_id).name for plan_id in ids] == [f"plan {plan_id}" for plan_id in ids]


def test_a_failed_phase_is_errored_with_the_reason_and_can_be_retried(planning: PlanLifecycleService) -> None:
    plan = planning.create("x", project_id="shop")
    planning.advance(plan.id)

    def fail(_lease: PlanLease) -> None:
        raise ZeroDivisionError("by 😀")

    with pytest.raises(ZeroDivisionError):
        planning.run_phase(plan.id, fail)
    assert (planning.get(plan.id).state, planning.get(plan.id).error) == (
        PlanState.ERRORED,
        "ZeroDivisionError: by 😀",
    )
    assert planning.retry(plan.id).state is PlanState.QUEUED


def _run(url: str, plan_id: str) -> str:
    def work(_lease: PlanLease) -> None:
        meet()

    with plans.connect(url) as planning:
        planning.get(plan_id)
        meet()
        try:
            planning.run_phase(plan_id, work)
        except lockwatch.LockConflictError:
            meet()
            return "refused"
        return "ran"


def test_of_two_that_run_a_plan_at_once_one_does(planning: PlanLifecycleService, site: Site) -> None:
    plan = planning.create("x", project_id="shop")
    planning.advance(plan.id)
    assert sorted(together(_run, (site.url, plan.id), (site.url, plan.id))) == ["ran", "refused"]
    assert len(planning.history(plan.id)) == 1


def test_a_plan_whose_process_died_is_recovered_after_the_ttl(planning: PlanLifecycleService, site: Site) -> None:
    plan = planning.create("x", project_id="shop")
    planning.advance(plan.id)

    def die(_lease: PlanLease) -> None:
        site.execute("DELETE FROM locks")

    with pytest.raises(lockwatch.LockExpiredError):
        planning.run_phase(plan.id, die)
    assert planning.get(plan.id).state is PlanState.PROCESSING
    (recovered,) = planning.recover_abandoned()
    assert recovered.state is PlanState.ERRORED
    assert "abandoned" in str(recovered.error)
    assert planning.recover_abandoned() == ()


def test_a_database_without_the_tables_of_plans_says_so(new_site: Site) -> None:
    new_site.make_table(new_site.numbered)
    with plans.connect(new_site.url) as planning:
        assert not planning.is_available()
        with pytest.raises(lockwatch.DatabaseError, match="no tables of plans yet"):
            planning.list()
