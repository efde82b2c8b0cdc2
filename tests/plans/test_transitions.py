"""What may be done with a plan: every pair of phase and state, and every operation, against a table of its own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import product

import pytest

from lockwatch.plans import (
    Operation,
    Phase,
    Plan,
    PlanLifecycleService,
    PlanState,
    PlanTransitionError,
    Stage,
)
from lockwatch.plans.transitions import allowed, as_markdown, target
from tests.plans.placing import put, stage
from tests.support import ROOT, dump, rows

# A line for each pair: what is allowed there, and where it leads. What is not written is not allowed.
TABLE = """
action     queued       advance>strategize/queued
strategize queued       start>strategize/processing cancel>strategize/cancelled
strategize processing   complete>strategize/complete fail>strategize/errored constrain>strategize/constrained
strategize processing   cancel>strategize/cancelled
strategize complete     advance>execute/queued cancel>strategize/cancelled
strategize errored      retry>strategize/queued cancel>strategize/cancelled
strategize constrained  retry>strategize/queued cancel>strategize/cancelled
execute    queued       start>execute/processing revert>strategize/queued cancel>execute/cancelled
execute    processing   complete>execute/complete fail>execute/errored constrain>execute/constrained
execute    processing   cancel>execute/cancelled
execute    complete     advance>apply/queued revert>strategize/queued cancel>execute/cancelled
execute    errored      retry>execute/queued revert>strategize/queued cancel>execute/cancelled
execute    constrained  retry>execute/queued revert>strategize/queued cancel>execute/cancelled
apply      queued       start>apply/processing revert>strategize/queued cancel>apply/cancelled
apply      processing   complete>apply/applied fail>apply/errored constrain>apply/constrained
apply      processing   cancel>apply/cancelled
apply      errored      retry>apply/queued revert>strategize/queued cancel>apply/cancelled
apply      constrained  retry>apply/queued revert>strategize/queued cancel>apply/cancelled
"""


def _expected() -> dict[tuple[str, str, str], tuple[str, str]]:
    found = {}
    for phase, state, *steps in map(str.split, TABLE.strip().splitlines()):
        for step in steps:
            operation, _, to = step.partition(">")
            to_phase, _, to_state = to.partition("/")
            found[phase, state, operation] = (to_phase, to_state)
    return found


EXPECTED = _expected()
PAIRS = list(product(Phase, PlanState))
Call = Callable[[PlanLifecycleService, str], Plan]
CALLS: dict[Operation, Call] = {
    Operation.ADVANCE: lambda plans, plan_id: plans.advance(plan_id),
    Operation.START: lambda plans, plan_id: plans.start(plan_id),
    Operation.COMPLETE: lambda plans, plan_id: plans.complete(plan_id),
    Operation.FAIL: lambda plans, plan_id: plans.fail(plan_id, "no disk"),
    Operation.CONSTRAIN: lambda plans, plan_id: plans.constrain(plan_id, "no budget"),
    Operation.RETRY: lambda plans, plan_id: plans.retry(plan_id),
    Operation.REVERT: lambda plans, plan_id: plans.revert(plan_id),
    Operation.CANCEL: lambda plans, plan_id: plans.cancel(plan_id),
}


def _plan(phase: Phase, state: PlanState) -> Plan:
    now = datetime(2020, 1, 1, tzinfo=UTC)
    return Plan(
        id="p1", project_id="shop", name="p", phase=phase, state=state, error=None, created_at=now, updated_at=now
    )


@pytest.mark.parametrize(("phase", "state"), PAIRS)
def test_every_operation_on_every_pair_is_as_the_table_says(
    plans: PlanLifecycleService, url: str, phase: Phase, state: PlanState
) -> None:
    for operation, call in CALLS.items():
        put(url, phase, state, plan_id=operation)
        expected = EXPECTED.get((phase, state, operation))
        if expected is None:
            before = _plans_of(url)
            with pytest.raises(PlanTransitionError) as refused:
                call(plans, operation)
            assert refused.value.allowed == tuple(one for one in Operation if (phase, state, one) in EXPECTED)
            assert _plans_of(url) == before
        else:
            plan = call(plans, operation)
            assert (plan.phase, plan.state) == stage(url, operation) == expected
        assert rows(url) == []


@pytest.mark.parametrize("phase", [Phase.STRATEGIZE, Phase.EXECUTE, Phase.APPLY])
@pytest.mark.parametrize("operation", [Operation.COMPLETE, Operation.FAIL, Operation.CONSTRAIN, Operation.CANCEL])
def test_a_run_ends_with_the_state_that_its_plan_leaves_in(
    plans: PlanLifecycleService, url: str, phase: Phase, operation: Operation
) -> None:
    put(url, phase, PlanState.PROCESSING)
    plan = CALLS[operation](plans, "p1")
    (run,) = plans.history("p1")
    assert (str(run.outcome), run.error, run.is_open) == (str(plan.state), plan.error, False)
    assert run.ended_at == plan.updated_at == plans.locks.now()


def _plans_of(url: str) -> list[str]:
    return [line for line in dump(url) if line.startswith('INSERT INTO "plan')]


@pytest.mark.parametrize(("phase", "state"), PAIRS)
def test_the_pure_table_agrees(phase: Phase, state: PlanState) -> None:
    for operation in Operation:
        expected = EXPECTED.get((phase, state, operation))
        if expected is None:
            with pytest.raises(PlanTransitionError):
                target(_plan(phase, state), operation)
        else:
            assert target(_plan(phase, state), operation) == expected
    assert allowed(Stage(phase, state)) == tuple(one for one in Operation if (phase, state, one) in EXPECTED)


def test_no_operation_is_allowed_where_it_has_just_led() -> None:
    for phase, state in PAIRS:
        for operation in allowed(Stage(phase, state)):
            assert operation not in allowed(target(_plan(phase, state), operation))


def test_nothing_leads_an_action_out_of_being_queued_nor_back_to_it() -> None:
    reached = {target(_plan(phase, state), one) for phase, state in PAIRS for one in allowed(Stage(phase, state))}
    assert Phase.ACTION not in {found.phase for found in reached}


@pytest.mark.parametrize("state", [PlanState.APPLIED, PlanState.CANCELLED])
def test_applied_and_cancelled_are_final(state: PlanState) -> None:
    assert [allowed(Stage(phase, state)) for phase in Phase] == [()] * len(Phase)


def test_a_refusal_says_where_the_plan_is_and_what_is_allowed() -> None:
    with pytest.raises(PlanTransitionError) as refused:
        target(_plan(Phase.EXECUTE, PlanState.COMPLETE), Operation.START)
    assert str(refused.value) == (
        "`start` is not allowed while plan p1 is complete in phase execute; allowed: advance, revert, cancel"
    )
    with pytest.raises(PlanTransitionError, match="that is final"):
        target(_plan(Phase.APPLY, PlanState.APPLIED), Operation.REVERT)


def test_the_documented_table_is_the_one_in_use() -> None:
    page = (ROOT / "docs" / "plans.md").read_text()
    assert "\n".join(line for line in page.splitlines() if line.startswith("|")) == as_markdown()
