"""Plans left processing by a process that died: who notices, who recovers them, and who is never taken for dead."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import Any

import pytest

import lockwatch
from lockwatch import plans as planning
from lockwatch.plans import Phase, PlanLease, PlanLifecycleService, PlanState, RunOutcome
from tests.plans.placing import outcomes, put, stage
from tests.support import ROOT, Clock, age, execute, meet, row, rows, together

WORKER = """
import sys, time
from lockwatch import plans

def work(lease):
    print(lease.lock.owner_id, flush=True)
    time.sleep(600)

with plans.connect(sys.argv[1]) as service:
    service.run_phase("p1", work, ttl_seconds=5)
"""


def _kill_a_worker(url: str) -> str:
    """Let a process run the plan's phase and kill it in its work: the owner it had."""
    with subprocess.Popen([sys.executable, "-c", WORKER, url], stdout=subprocess.PIPE, text=True, cwd=ROOT) as worker:
        assert worker.stdout is not None
        owner = worker.stdout.readline().strip()
        worker.send_signal(signal.SIGKILL)
    return owner


@pytest.mark.parametrize("phase", [Phase.STRATEGIZE, Phase.APPLY])
def test_the_plan_of_a_killed_worker_is_recovered_after_its_ttl_with_the_dead_owner_named_and_a_retry_runs(
    url: str, phase: Phase
) -> None:
    put(url, phase, PlanState.QUEUED)
    owner = _kill_a_worker(url)
    with planning.connect(url) as plans:
        assert (plans.recover_abandoned(), stage(url)) == ((), (phase, "processing"))
        for lock in plans.locks.snapshot().locks:
            age(url, lock.resource)
        assert plans.count_abandoned() == 1
        (plan,) = plans.recover_abandoned()
        assert plan.stage == stage(url) == (phase, "errored")
        assert plan.error is not None
        assert f"abandoned: {owner} (fence " in plan.error
        assert (plans.count_abandoned(), plans.recover_abandoned()) == (0, ())
        plans.retry("p1")
        plans.run_phase("p1", lambda _lease: None)
    assert outcomes(url) == ["abandoned", "applied" if phase is Phase.APPLY else "complete"]
    assert rows(url) == []


@pytest.fixture
def abandoned(plans: PlanLifecycleService, url: str, clock: Clock) -> str:
    """A plan whose worker lost its lease in its work, and its owner."""
    put(url, Phase.EXECUTE, PlanState.QUEUED)
    owners: list[str] = []

    def work(lease: PlanLease) -> None:
        owners.append(lease.lock.owner_id)
        clock.advance(3600)

    with pytest.raises(lockwatch.LockExpiredError):
        plans.run_phase("p1", work)
    return owners[0]


def leave_its_lock(url: str, acquired_at: str, expires_at: str) -> None:
    """Put the row of the run's lease back, as a killed process leaves it."""
    left = "INSERT OR REPLACE INTO locks SELECT fence, owner_id, 'plan', plan_id, ?, ? FROM plan_runs"
    execute(url, left, (acquired_at, expires_at))


@pytest.mark.usefixtures("abandoned")
@pytest.mark.parametrize("left", ["an expired row", "no row", "a row of another grant"])
def test_a_run_is_abandoned_when_its_very_lease_is_gone_or_expired(
    plans: PlanLifecycleService, url: str, clock: Clock, left: str
) -> None:
    if left == "no row":
        execute(url, "DELETE FROM locks")
    elif left == "a row of another grant":
        plans.locks.acquire("plan", "p1", "other")
    else:
        leave_its_lock(url, clock.text(-60), clock.text(0))
    (run,) = plans.find_abandoned()
    assert (run.plan_id, run.phase, run.is_open) == ("p1", Phase.EXECUTE, True)
    assert plans.count_abandoned() == 1


@pytest.mark.usefixtures("abandoned")
def test_a_plan_that_somebody_holds_is_left_alone_until_it_is_free(plans: PlanLifecycleService, url: str) -> None:
    plans.locks.acquire("plan", "p1", "operator")
    before = rows(url)
    assert plans.recover_abandoned() == ()
    assert (rows(url), stage(url)) == (before, ("execute", "processing"))
    plans.locks.release("plan", "p1", "operator")
    assert [plan.id for plan in plans.recover_abandoned()] == ["p1"]


@pytest.mark.usefixtures("abandoned")
def test_a_stale_lock_may_be_left_to_be_seen_for_a_while_before_its_plan_is_recovered(
    plans: PlanLifecycleService, url: str, clock: Clock
) -> None:
    leave_its_lock(url, clock.text(-600), clock.text(-299))
    before = rows(url)
    assert (plans.count_abandoned(), plans.recover_abandoned(grace_seconds=300)) == (1, ())
    assert (rows(url), stage(url)) == (before, ("execute", "processing"))
    clock.advance(1)
    assert [plan.id for plan in plans.recover_abandoned(grace_seconds=300)] == ["p1"]


@pytest.mark.usefixtures("abandoned")
def test_a_plan_whose_stale_lock_was_purged_is_recovered_without_grace(
    plans: PlanLifecycleService, url: str, clock: Clock
) -> None:
    leave_its_lock(url, clock.text(-60), clock.text(0))
    assert all(outcome.is_done for outcome in plans.locks.purge_exact(plans.locks.snapshot().stale))
    assert [plan.id for plan in plans.recover_abandoned(grace_seconds=1e6)] == ["p1"]


def test_what_was_recovered_says_so_in_plan_and_run(plans: PlanLifecycleService, abandoned: str, clock: Clock) -> None:
    clock.advance(10)
    (plan,) = plans.recover_abandoned()
    (run,) = plans.history("p1")
    assert plan == plans.get("p1")
    assert (
        plan.error == run.error == (f"abandoned: {abandoned} (fence {run.fence}) was gone before its execute had ended")
    )
    assert (run.outcome, run.ended_at) == (RunOutcome.ABANDONED, clock.now)


def test_a_live_run_is_not_abandoned(plans: PlanLifecycleService, url: str, clock: Clock) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)

    def work(_lease: PlanLease) -> None:
        clock.advance(299.9)
        assert (plans.count_abandoned(), plans.recover_abandoned()) == (0, ())

    assert plans.run_phase("p1", work).state is PlanState.COMPLETE


def test_a_run_whose_lease_cannot_be_read_is_not_taken_for_abandoned(plans: PlanLifecycleService, url: str) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)

    def work(_lease: PlanLease) -> None:
        age(url, "plan/p1", "soon")
        assert (plans.count_abandoned(), plans.recover_abandoned()) == (0, ())

    with pytest.raises(lockwatch.LockExpiredError):
        plans.run_phase("p1", work)


def test_a_plan_that_was_started_by_hand_is_never_taken_for_abandoned(
    plans: PlanLifecycleService, url: str, clock: Clock
) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)
    plans.start("p1")
    clock.advance(1_000_000)
    assert (plans.count_abandoned(), plans.recover_abandoned()) == (0, ())
    assert plans.complete("p1").state is PlanState.COMPLETE


@pytest.mark.usefixtures("abandoned")
def test_a_run_that_ended_between_the_look_and_the_lock_is_left_as_it_is(
    plans: PlanLifecycleService, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = plans.find_abandoned()
    plans.recover_abandoned()
    monkeypatch.setattr(plans, "find_abandoned", lambda: seen)
    assert plans.recover_abandoned() == ()
    assert outcomes(url) == ["abandoned"]


@pytest.mark.usefixtures("abandoned")
def test_a_run_that_another_run_followed_between_the_look_and_the_lock_is_left_as_it_is(
    plans: PlanLifecycleService, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = plans.find_abandoned()
    plans.recover_abandoned()
    plans.retry("p1")
    plans.start("p1")
    monkeypatch.setattr(plans, "find_abandoned", lambda: seen)
    assert plans.recover_abandoned() == ()
    assert outcomes(url) == ["abandoned", None]


def test_one_plan_that_went_away_does_not_keep_the_others_from_being_recovered(
    plans: PlanLifecycleService, url: str, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    for plan_id in ("p1", "p2"):
        put(url, Phase.EXECUTE, PlanState.QUEUED, plan_id)
        with pytest.raises(lockwatch.LockExpiredError):
            plans.run_phase(plan_id, lambda _lease: clock.advance(3600))
    seen = plans.find_abandoned()
    execute(url, "DELETE FROM plans WHERE id = 'p1'")
    monkeypatch.setattr(plans, "find_abandoned", lambda: seen)
    assert [plan.id for plan in plans.recover_abandoned()] == ["p2"]


ROUNDS = 10


def _recover(url: str) -> list[list[str]]:
    recovered = []
    with planning.connect(url) as plans:
        for _ in range(ROUNDS):
            meet()
            recovered.append([plan.id for plan in plans.recover_abandoned()])
            meet()
            if recovered[-1]:
                plans.retry("p1")
                execute(
                    url,
                    "INSERT INTO plan_runs (plan_id, phase, owner_id, fence, is_manual, started_at)"
                    " VALUES ('p1', 'execute', 'dead', 1, 0, '2020')",
                )
                execute(url, "UPDATE plans SET state = 'processing'")
    return recovered


def test_of_two_processes_that_recover_at_once_one_recovers(url: str) -> None:
    put(url, Phase.EXECUTE, PlanState.PROCESSING)
    execute(url, "UPDATE plan_runs SET is_manual = 0")
    first, second = together(_recover, (url,), (url,))
    assert [sorted(a + b) for a, b in zip(first, second, strict=True)] == [["p1"]] * ROUNDS
    assert outcomes(url) == ["abandoned"] * ROUNDS + [None]
    assert row(url, "plan/p1") is None


def _execute(url: str) -> str:
    with planning.connect(url) as plans:
        meet()
        try:
            plans.run_phase("p1", lambda _lease: meet())
        except lockwatch.LockConflictError as conflict:
            meet()
            return f"refused by {conflict.holder.owner_id}"
        return "ran"


def test_of_two_processes_that_execute_one_plan_at_once_one_runs_and_its_history_shows_one_run(url: str) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)
    answers = together(_execute, (url,), (url,))
    with planning.connect(url) as plans:
        (run,) = plans.history("p1")
    assert sorted(answers) == ["ran", f"refused by {run.owner_id}"]
    assert (run.outcome, stage(url)) == (RunOutcome.COMPLETE, ("execute", "complete"))


def test_a_run_that_ends_while_it_is_looked_at_is_not_abandoned(
    plans: PlanLifecycleService, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(url, Phase.EXECUTE, PlanState.PROCESSING)
    execute(url, "UPDATE plan_runs SET is_manual = 0")
    assert plans.count_abandoned() == 1

    def get(*_: str) -> None:
        execute(url, "UPDATE plan_runs SET ended_at = started_at, outcome = 'complete'")

    monkeypatch.setattr(plans.locks, "get", get)
    assert plans.find_abandoned() == ()


@pytest.mark.parametrize("grace_seconds", [-1, float("nan"), float("inf"), True, "300"])
def test_a_grace_that_is_no_number_of_seconds_is_refused(plans: PlanLifecycleService, grace_seconds: Any) -> None:
    with pytest.raises(lockwatch.ValidationError, match="grace_seconds"):
        plans.recover_abandoned(grace_seconds=grace_seconds)
