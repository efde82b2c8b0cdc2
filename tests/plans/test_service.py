"""Plans made, found and moved on: whose lock is taken, when it is given back, and what stays as it was."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

import lockwatch
from lockwatch import plans as planning
from lockwatch.core.holding import Hold
from lockwatch.core.service import LockService
from lockwatch.plans import Phase, PlanExistsError, PlanLifecycleService, PlanNotFoundError, PlanState, RunOutcome
from lockwatch.plans.model import MAX_REASON_LENGTH
from tests.plans.placing import outcomes, put, stage
from tests.support import START, Clock, execute, rows


def test_a_new_plan_is_a_queued_action_and_its_lock_is_given_back(plans: PlanLifecycleService, url: str) -> None:
    plan = plans.create("import customers", "shop", "p1")
    assert (plan.id, plan.name, plan.project_id) == ("p1", "import customers", "shop")
    assert (plan.stage, plan.error) == ((Phase.ACTION, PlanState.QUEUED), None)
    assert plan.created_at == plan.updated_at == START
    assert plans.get("p1") == plan
    assert rows(url) == []


def test_plans_without_an_id_get_different_ones(plans: PlanLifecycleService) -> None:
    assert plans.create("one", "shop").id != plans.create("two", "shop").id


def test_a_second_plan_of_an_id_is_refused_and_the_first_stays(plans: PlanLifecycleService) -> None:
    first = plans.create("first", "shop", "p1")
    with pytest.raises(PlanExistsError, match="there is a plan p1 already: first, queued in phase action") as refused:
        plans.create("second", "other", "p1")
    assert refused.value.plan == first
    assert plans.list() == (first,)


@pytest.mark.parametrize("name", ["", " x", "a\nb", "x" * 256, None, 7])
def test_names_keep_to_the_rules_of_the_core(plans: PlanLifecycleService, name: str) -> None:
    calls: list[Callable[[], object]] = [
        lambda: plans.create(name, "shop", "p1"),
        lambda: plans.create("plan", name, "p1"),
        lambda: plans.get(name),
        lambda: plans.start(name),
        lambda: plans.run_phase(name, print),
    ]
    for call in calls:
        with pytest.raises(lockwatch.ValidationError):
            call()
    assert plans.list() == ()


@pytest.mark.parametrize("name", ["", " x", "a\nb", "x" * 247, 7])
def test_a_worker_of_a_name_that_makes_no_owner_is_refused(url: str, name: str) -> None:
    with pytest.raises(lockwatch.ValidationError, match="worker"):
        planning.connect(url, worker=name)


def test_each_call_of_a_named_worker_is_an_owner_of_its_own_that_says_whose_it_is(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owners: list[str] = []
    name = "worker-3@build-1:4242".ljust(246, "x")
    with planning.connect(url, worker=name) as plans:
        hold = plans.locks.hold

        def recorded(resource_type: str, resource_id: str, owner_id: str, **options: float) -> Hold:
            owners.append(owner_id)
            return hold(resource_type, resource_id, owner_id, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(plans.locks, "hold", recorded)
        plans.create("plan", "shop", "p1")
        plans.advance("p1")
        plans.run_phase("p1", lambda lease: owners.append(lease.lock.owner_id))
    assert [owner.rpartition(":")[0] for owner in owners] == [name] * 4
    assert owners[2] == owners[3]
    assert len(set(owners)) == 3


@pytest.mark.parametrize("reason", ["", " \n", None, 7])
def test_a_failure_needs_a_reason(plans: PlanLifecycleService, url: str, reason: str) -> None:
    put(url, Phase.EXECUTE, PlanState.PROCESSING)
    with pytest.raises(lockwatch.ValidationError, match="reason"):
        plans.fail("p1", reason)
    assert stage(url) == ("execute", "processing")


def test_a_reason_is_kept_in_one_harmless_line_of_limited_length(plans: PlanLifecycleService, url: str) -> None:
    put(url, Phase.EXECUTE, PlanState.PROCESSING)
    assert plans.fail("p1", "no\n  disk \x1b[2J\udcff").error == "no disk ␛[2J\ufffd"
    put(url, Phase.EXECUTE, PlanState.PROCESSING, plan_id="p2")
    assert len(plans.fail("p2", "x" * 5000).error or "") == MAX_REASON_LENGTH


def test_a_retry_and_a_revert_forget_the_error(plans: PlanLifecycleService, url: str) -> None:
    put(url, Phase.EXECUTE, PlanState.PROCESSING)
    plans.fail("p1", "no disk")
    assert plans.retry("p1").error is None
    plans.start("p1")
    plans.fail("p1", "no disk")
    assert plans.revert("p1").error is None
    assert plans.get("p1").stage == (Phase.STRATEGIZE, PlanState.QUEUED)
    assert [run.error for run in plans.history("p1")] == ["no disk", "no disk"]


def test_a_plan_that_is_not_there_is_said_so_and_its_lock_is_given_back(plans: PlanLifecycleService, url: str) -> None:
    for call in (plans.get, plans.history, plans.start, plans.cancel):
        with pytest.raises(PlanNotFoundError, match="there is no plan p9"):
            call("p9")
    assert rows(url) == []


def test_plans_are_listed_by_project_phase_and_state_the_oldest_first(
    plans: PlanLifecycleService, clock: Clock
) -> None:
    for number, project in enumerate(("shop", "shop", "mail")):
        plans.create("plan", project, f"p{9 - number}")
        clock.advance(1)
    plans.advance("p8")
    assert [plan.id for plan in plans.list()] == ["p9", "p8", "p7"]
    assert [plan.id for plan in plans.list(project_id="shop")] == ["p9", "p8"]
    assert [plan.id for plan in plans.list(phase=Phase.ACTION)] == ["p9", "p7"]
    assert [plan.id for plan in plans.list(project_id="shop", phase=Phase.ACTION, state=PlanState.QUEUED)] == ["p9"]
    assert plans.list(state=PlanState.ERRORED) == ()


@pytest.mark.parametrize("project", ["", " shop", "sh\0op", "shop\udcff", "x" * 256])
def test_a_project_that_there_cannot_be_is_refused_when_plans_are_listed(
    plans: PlanLifecycleService, project: str
) -> None:
    with pytest.raises(lockwatch.ValidationError, match=r"^project_id: "):
        plans.list(project_id=project)


def test_a_transition_is_refused_while_somebody_else_holds_the_plan(plans: PlanLifecycleService, url: str) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)
    plans.locks.acquire("plan", "p1", "other")
    before = rows(url)
    for call in (plans.start, plans.cancel, plans.revert):
        with pytest.raises(lockwatch.LockConflictError) as refused:
            call("p1")
        assert refused.value.holder.owner_id == "other"
    with pytest.raises(lockwatch.LockConflictError):
        plans.create("again", "shop", "p1")
    assert stage(url) == ("execute", "queued")
    assert rows(url) == before


def test_a_transition_waits_for_the_holder_if_asked_to(plans: PlanLifecycleService, url: str) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)
    plans.locks.acquire("plan", "p1", "other")
    threading.Timer(0.2, plans.locks.release, ("plan", "p1", "other")).start()
    assert plans.start("p1", wait_seconds=30).state is PlanState.PROCESSING


def test_two_calls_in_one_process_exclude_each_other(plans: PlanLifecycleService, url: str) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)
    refused = []

    def work(_lease: object) -> None:
        for call in (plans.start, plans.cancel, lambda plan_id: plans.run_phase(plan_id, print)):
            with pytest.raises(lockwatch.LockConflictError) as conflict:
                call("p1")
            refused.append(conflict.value.holder.owner_id)

    plans.run_phase("p1", work)
    (run,) = plans.history("p1")
    assert refused == [run.owner_id] * 3


def test_of_many_threads_that_start_one_plan_one_does(plans: PlanLifecycleService, url: str) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)
    barrier, answers = threading.Barrier(8), []

    def start() -> None:
        barrier.wait(30)
        try:
            answers.append(plans.start("p1", wait_seconds=30).state)
        except lockwatch.PlanTransitionError as refused:
            answers.append(refused.plan.state)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert answers == [PlanState.PROCESSING] * 8
    assert outcomes(url) == [None]


def test_a_manual_run_is_recorded_with_who_started_it_and_ends_with_what_completes_it(
    plans: PlanLifecycleService, url: str, clock: Clock
) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)
    plans.start("p1")
    (run,) = plans.history("p1")
    assert (run.phase, run.is_manual, run.is_open, run.started_at) == (Phase.EXECUTE, True, True, START)
    assert run.owner_id.count(":") == 2
    assert run.fence > 0
    clock.advance(60)
    plans.complete("p1")
    (run,) = plans.history("p1")
    assert (run.outcome, run.ended_at) == (RunOutcome.COMPLETE, START + timedelta(seconds=60))


@contextmanager
def _order_of_locks(plans: PlanLifecycleService, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    taken: list[str] = []
    hold = LockService.hold

    def noted(self: LockService, resource_type: str, resource_id: str, *rest: object, **more: object) -> object:
        taken.append(f"{resource_type}/{resource_id}")
        return hold(self, resource_type, resource_id, *rest, **more)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(LockService, "hold", noted)
        yield taken
    assert plans.locks.snapshot().locks == ()


def test_to_start_and_to_complete_an_apply_takes_the_projects_lock_after_the_plans(
    plans: PlanLifecycleService, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(url, Phase.APPLY, PlanState.QUEUED)
    with _order_of_locks(plans, monkeypatch) as taken:
        plans.start("p1")
        plans.complete("p1")
    assert taken == ["plan/p1", "project/shop"] * 2


def test_other_transitions_leave_the_project_alone(
    plans: PlanLifecycleService, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)
    put(url, Phase.APPLY, PlanState.PROCESSING, plan_id="p2")
    with _order_of_locks(plans, monkeypatch) as taken:
        plans.start("p1")
        plans.complete("p1")
        plans.fail("p2", "no disk")
        plans.retry("p2")
        plans.cancel("p2")
    assert taken == ["plan/p1"] * 2 + ["plan/p2"] * 3


def test_an_apply_whose_project_is_held_gives_the_plan_back_and_changes_nothing(
    plans: PlanLifecycleService, url: str
) -> None:
    put(url, Phase.APPLY, PlanState.QUEUED)
    plans.locks.acquire("project", "shop", "other")
    before = rows(url)
    for call in (plans.start, lambda plan_id: plans.run_phase(plan_id, print)):
        with pytest.raises(lockwatch.LockConflictError) as refused:
            call("p1")
        assert refused.value.holder.resource == "project/shop"
    assert rows(url) == before
    assert (stage(url), outcomes(url)) == (("apply", "queued"), [])


def test_a_wait_is_for_both_locks_of_an_apply_together(plans: PlanLifecycleService, url: str) -> None:
    put(url, Phase.APPLY, PlanState.QUEUED)
    plans.locks.acquire("project", "shop", "other")
    threading.Timer(0.2, plans.locks.release, ("project", "shop", "other")).start()
    assert plans.run_phase("p1", lambda _lease: None, wait_seconds=30).state is PlanState.APPLIED


def test_a_plan_changed_without_its_lock_is_not_overwritten(
    plans: PlanLifecycleService, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)
    now = plans.locks.now

    def changed_meanwhile() -> object:
        execute(url, "UPDATE plans SET state = 'cancelled'")
        return now()

    monkeypatch.setattr(plans.locks, "now", changed_meanwhile)
    with pytest.raises(lockwatch.PlanTransitionError, match="while plan p1 is cancelled in phase execute"):
        plans.start("p1")
    assert (stage(url), outcomes(url)) == (("execute", "cancelled"), [])


def test_the_lock_is_given_back_when_the_write_fails(plans: PlanLifecycleService, url: str) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)
    execute(url, "CREATE TRIGGER no BEFORE UPDATE ON plans BEGIN SELECT RAISE(ABORT, 'not today'); END")
    with pytest.raises(lockwatch.DatabaseError, match="not today"):
        plans.start("p1")
    assert (stage(url), outcomes(url), rows(url)) == (("execute", "queued"), [], [])


def test_a_transition_whose_lease_is_taken_away_writes_nothing(
    plans: PlanLifecycleService, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)
    now = plans.locks.now

    def robbed() -> object:
        execute(url, "DELETE FROM locks")
        return now()

    monkeypatch.setattr(plans.locks, "now", robbed)
    with pytest.raises(lockwatch.LockExpiredError) as lost:
        plans.start("p1")
    assert lost.value.reason is lockwatch.LossReason.REMOVED
    assert (stage(url), outcomes(url)) == (("execute", "queued"), [])


def test_what_was_written_is_told_as_done_though_the_lease_is_lost_on_the_way_out(
    plans: PlanLifecycleService, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lockwatch.core.lease import Lease
    from lockwatch.core.loss import Loss
    from lockwatch.plans import turn

    put(url, Phase.EXECUTE, PlanState.QUEUED)
    guarded, leases = turn.guarded, []

    def lost_after(store: object, lease: object, write: object) -> object:
        done = guarded(store, lease, write)  # type: ignore[arg-type]
        found = lease.plan  # type: ignore[attr-defined]
        assert isinstance(found, Lease)
        found.lose(Loss(reason=lockwatch.LossReason.SHUTTING_DOWN))
        leases.append(found)
        return done

    monkeypatch.setattr(turn, "guarded", lost_after)
    assert plans.start("p1").state is PlanState.PROCESSING
    assert [lease.is_lost() for lease in leases] == [True]
