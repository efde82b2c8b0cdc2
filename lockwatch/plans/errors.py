"""What can go wrong with plans: a branch of the tree in `core.errors`.

    LockwatchError              1
      PlanNotFoundError         1   there is no plan of that id
      PlanExistsError           1   there is one already
      PlanTransitionError       1   the plan's phase and state do not allow it; nothing was changed
      PlanConstrainedError      1   raised by work that met a constraint: its run ends constrained, not errored

That somebody else works on a plan is a LockConflictError; that a lease was lost meanwhile, a LockExpiredError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockwatch.core.errors import LockwatchError
from lockwatch.core.text import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockwatch.plans.model import Plan
    from lockwatch.plans.transitions import Operation


class PlanNotFoundError(LockwatchError):
    """There is no plan of that id."""

    def __init__(self, plan_id: str) -> None:
        super().__init__(plan_id)
        self.plan_id = plan_id

    def __str__(self) -> str:
        return f"there is no plan {clean(self.plan_id)}"


class PlanExistsError(LockwatchError):
    """There is a plan of that id already: `plan` is the one."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.plan = plan

    def __str__(self) -> str:
        return f"there is a plan {clean(self.plan.id)} already: {clean(self.plan.name)}, {self.plan.stage}"


class PlanTransitionError(LockwatchError):
    """The plan's phase and state do not allow the operation; `allowed` are those that they allow."""

    def __init__(self, plan: Plan, operation: Operation, allowed: Sequence[Operation]) -> None:
        super().__init__(plan, operation, allowed)
        self.plan = plan
        self.operation = operation
        self.allowed = tuple(allowed)

    def __str__(self) -> str:
        allowed = f"allowed: {', '.join(self.allowed)}" if self.allowed else "that is final"
        return f"`{self.operation}` is not allowed while plan {clean(self.plan.id)} is {self.plan.stage}; {allowed}"


class PlanConstrainedError(LockwatchError):
    """To be raised by work that met a constraint: its run ends constrained, with this message as the reason."""
