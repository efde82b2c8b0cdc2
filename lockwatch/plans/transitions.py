"""Which operation leads a plan from where to where: the one table of it, as data.

A plan goes forward one phase at a time, once it is complete. Execute and apply may be reverted, to strategize only.
What is errored or constrained can be retried in its phase. Applied and cancelled are final. An action is a template:
it is only ever queued, and leaves its phase without a run. No operation is allowed where it has just led, so that one
that is sent twice is done once.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import product
from typing import Final, NamedTuple

from lockwatch.plans.errors import PlanTransitionError
from lockwatch.plans.model import Phase, Plan, PlanState, Stage


class Operation(StrEnum):
    """What can be done with a plan."""

    ADVANCE = "advance"
    START = "start"
    COMPLETE = "complete"
    FAIL = "fail"
    CONSTRAIN = "constrain"
    RETRY = "retry"
    REVERT = "revert"
    CANCEL = "cancel"


class Rule(NamedTuple):
    """An operation is allowed in each of `phases`, in each of `states`, and leads to `phase` (None: the same)."""

    operation: Operation
    phases: tuple[Phase, ...]
    states: tuple[PlanState, ...]
    phase: Phase | None
    state: PlanState


_ACTION, _STRATEGIZE, _EXECUTE, _APPLY = Phase
_RUN: Final = (_STRATEGIZE, _EXECUTE, _APPLY)
_QUEUED, _PROCESSING, _COMPLETE, _ERRORED, _CONSTRAINED, _CANCELLED, _APPLIED = PlanState

RULES: Final = (
    Rule(Operation.ADVANCE, (_ACTION,), (_QUEUED,), _STRATEGIZE, _QUEUED),
    Rule(Operation.ADVANCE, (_STRATEGIZE,), (_COMPLETE,), _EXECUTE, _QUEUED),
    Rule(Operation.ADVANCE, (_EXECUTE,), (_COMPLETE,), _APPLY, _QUEUED),
    Rule(Operation.START, _RUN, (_QUEUED,), None, _PROCESSING),
    Rule(Operation.COMPLETE, (_STRATEGIZE, _EXECUTE), (_PROCESSING,), None, _COMPLETE),
    Rule(Operation.COMPLETE, (_APPLY,), (_PROCESSING,), None, _APPLIED),
    Rule(Operation.FAIL, _RUN, (_PROCESSING,), None, _ERRORED),
    Rule(Operation.CONSTRAIN, _RUN, (_PROCESSING,), None, _CONSTRAINED),
    Rule(Operation.RETRY, _RUN, (_ERRORED, _CONSTRAINED), None, _QUEUED),
    Rule(Operation.REVERT, (_EXECUTE,), (_QUEUED, _COMPLETE, _ERRORED, _CONSTRAINED), _STRATEGIZE, _QUEUED),
    Rule(Operation.REVERT, (_APPLY,), (_QUEUED, _ERRORED, _CONSTRAINED), _STRATEGIZE, _QUEUED),
    Rule(Operation.CANCEL, (_STRATEGIZE, _EXECUTE), (_QUEUED, _PROCESSING, _COMPLETE), None, _CANCELLED),
    Rule(Operation.CANCEL, (_APPLY,), (_QUEUED, _PROCESSING), None, _CANCELLED),
    Rule(Operation.CANCEL, _RUN, (_ERRORED, _CONSTRAINED), None, _CANCELLED),
)
"""All that is allowed. The operations that reach the project itself are in CHANGES_PROJECT."""

CHANGES_PROJECT: Final = frozenset({(_APPLY, Operation.START), (_APPLY, Operation.COMPLETE)})
"""What changes the plan's project, and so needs the project's lock beside the plan's."""

_TARGETS: Final = {
    (Stage(phase, state), rule.operation): Stage(rule.phase or phase, rule.state)
    for rule in RULES
    for phase, state in product(rule.phases, rule.states)
}


def allowed(stage: Stage) -> tuple[Operation, ...]:
    """The operations that a plan's phase and state allow; none where that is final."""
    return tuple(operation for operation in Operation if (stage, operation) in _TARGETS)


def target(plan: Plan, operation: Operation) -> Stage:
    """Where an operation leads a plan.

    Raises:
        PlanTransitionError: it is not allowed.
    """
    try:
        return _TARGETS[plan.stage, operation]
    except KeyError:
        raise PlanTransitionError(plan, operation, allowed(plan.stage)) from None


def as_markdown() -> str:
    """The table for people, in Markdown."""
    lines = ["| operation | in phase | when | leads to |", "|---|---|---|---|"]
    for rule in RULES:
        to = f"{rule.state}, in {rule.phase}" if rule.phase else str(rule.state)
        lines.append(f"| `{rule.operation}` | {', '.join(rule.phases)} | {', '.join(rule.states)} | {to} |")
    return "\n".join(lines)
