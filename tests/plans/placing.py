"""Putting a plan where a test needs it, and reading it as another program would."""

from __future__ import annotations

from lockwatch.plans import Phase, PlanState
from tests.support import LONG_AGO, execute


def put(url: str, phase: Phase, state: PlanState, plan_id: str = "p1", project_id: str = "shop") -> None:
    """Insert a plan in a phase and a state; one that is processing has a manual run."""
    execute(
        url,
        "INSERT INTO plans (id, project_id, name, phase, state, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (plan_id, project_id, f"plan {plan_id}", str(phase), str(state), LONG_AGO, LONG_AGO),
    )
    if state is PlanState.PROCESSING:
        execute(
            url,
            "INSERT INTO plan_runs (plan_id, phase, owner_id, fence, is_manual, started_at) VALUES (?, ?, ?, 1, 1, ?)",
            (plan_id, str(phase), "me", LONG_AGO),
        )


def stage(url: str, plan_id: str = "p1") -> tuple[str, str]:
    """A plan's phase and state as stored."""
    ((phase, state),) = execute(url, "SELECT phase, state FROM plans WHERE id = ?", (plan_id,))
    return phase, state


def outcomes(url: str, plan_id: str = "p1") -> list[str | None]:
    """How the plan's runs ended, the oldest first."""
    return [
        outcome
        for (outcome,) in execute(url, "SELECT outcome FROM plan_runs WHERE plan_id = ? ORDER BY id", (plan_id,))
    ]
