"""Every SQL statement on the tables of plans, with its guards in the WHERE. Nothing is executed here.

A change of a plan names the phase and state that were read: who read something else changes nothing. Moments come as
arguments, in the written form of `core.timestamps`.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Select, bindparam, insert, select, update

from lockwatch.plans.model import Phase, PlanState
from lockwatch.plans.schema import plan_runs, plans

_PLAN: Final = (
    plans.c.id,
    plans.c.project_id,
    plans.c.name,
    plans.c.phase,
    plans.c.state,
    plans.c.error,
    plans.c.created_at,
    plans.c.updated_at,
)
_RUN: Final = (
    plan_runs.c.id,
    plan_runs.c.plan_id,
    plan_runs.c.phase,
    plan_runs.c.owner_id,
    plan_runs.c.fence,
    plan_runs.c.is_manual,
    plan_runs.c.started_at,
    plan_runs.c.ended_at,
    plan_runs.c.outcome,
    plan_runs.c.error,
)

FIND: Final = select(*_PLAN).where(plans.c.id == bindparam("plan"))
"""One plan."""

INSERT: Final = insert(plans)
"""A new plan."""

MOVE: Final = (
    update(plans)
    .where(
        plans.c.id == bindparam("plan"),
        plans.c.phase == bindparam("from_phase"),
        plans.c.state == bindparam("from_state"),
    )
    .values(
        phase=bindparam("to_phase"),
        state=bindparam("to_state"),
        error=bindparam("reason"),
        updated_at=bindparam("now"),
    )
)
"""Another phase, state and error for a plan that is still where it was read to be."""

BEGIN_RUN: Final = insert(plan_runs)
"""A run that has not ended."""

END_RUN: Final = (
    update(plan_runs)
    .where(plan_runs.c.plan_id == bindparam("plan"), plan_runs.c.ended_at.is_(None))
    .values(ended_at=bindparam("now"), outcome=bindparam("how"), error=bindparam("reason"))
)
"""The end of a plan's open run."""

RUNS_OF: Final = select(*_RUN).where(plan_runs.c.plan_id == bindparam("plan")).order_by(plan_runs.c.id)
"""All runs of a plan, the oldest first."""

OPEN_RUNS: Final = (
    select(*_RUN)
    .join(plans, plans.c.id == plan_runs.c.plan_id)
    .where(
        plan_runs.c.ended_at.is_(None),
        plan_runs.c.is_manual.is_(False),
        plans.c.state == str(PlanState.PROCESSING),
    )
    .order_by(plan_runs.c.id)
)
"""The runs under way for which somebody must be holding a lock, the oldest first."""


def listed(project_id: str | None, phase: Phase | None, state: PlanState | None) -> Select[Any]:
    """The plans of a project, in a phase, in a state (None: in any), the oldest first."""
    statement = select(*_PLAN).order_by(plans.c.created_at, plans.c.id)
    if project_id is not None:
        statement = statement.where(plans.c.project_id == project_id)
    if phase is not None:
        statement = statement.where(plans.c.phase == str(phase))
    return statement if state is None else statement.where(plans.c.state == str(state))
