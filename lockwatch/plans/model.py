"""What a plan is, and one run of one of its phases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple, Self

from lockwatch.core.errors import DatabaseError, ValidationError
from lockwatch.core.model import as_text
from lockwatch.core.text import clean, shorten
from lockwatch.core.timestamps import from_text

MAX_REASON_LENGTH: Final = 1000
"""Longest reason of an error that is kept, in characters; a longer one is cut in its middle."""


class Phase(StrEnum):
    """Where a plan is on its way, in this order. An action is a template that nobody runs."""

    ACTION = "action"
    STRATEGIZE = "strategize"
    EXECUTE = "execute"
    APPLY = "apply"


class PlanState(StrEnum):
    """How far a plan is in its phase."""

    QUEUED = "queued"
    PROCESSING = "processing"
    COMPLETE = "complete"
    ERRORED = "errored"
    CONSTRAINED = "constrained"
    CANCELLED = "cancelled"
    APPLIED = "applied"


class RunOutcome(StrEnum):
    """How a run ended: in the state that it left its plan in, or without anybody there to end it."""

    COMPLETE = "complete"
    ERRORED = "errored"
    CONSTRAINED = "constrained"
    CANCELLED = "cancelled"
    APPLIED = "applied"
    ABANDONED = "abandoned"


class Stage(NamedTuple):
    """A phase and the state in it: all that decides what may be done with a plan."""

    phase: Phase
    state: PlanState

    def __str__(self) -> str:
        return f"{self.state} in phase {self.phase}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One plan, as it was read. `error` says why it is errored, constrained or cancelled. Times are aware, UTC."""

    id: str
    project_id: str
    name: str
    phase: Phase
    state: PlanState
    error: str | None
    created_at: datetime | None
    updated_at: datetime | None

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> Self:
        """The plan that a row of the table describes.

        Raises:
            DatabaseError: its phase or state is none that lockwatch knows.
        """
        plan_id, project_id, name, phase, state, error, created, updated = row
        try:
            stage = Stage(Phase(phase), PlanState(state))
        except ValueError as unknown:
            raise DatabaseError(f"plan {clean(as_text(plan_id))} cannot be read: {clean(str(unknown))}") from unknown
        return cls(
            id=as_text(plan_id),
            project_id=as_text(project_id),
            name=as_text(name),
            phase=stage.phase,
            state=stage.state,
            error=None if error is None else as_text(error),
            created_at=from_text(as_text(created)),
            updated_at=from_text(as_text(updated)),
        )

    @property
    def stage(self) -> Stage:
        """Its phase and state."""
        return Stage(self.phase, self.state)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRun:
    """One run of one phase of a plan: who ran it, under which fencing token, and how it ended. Times are aware, UTC.

    A manual run was started by hand: nobody holds the plan's lock for it, so it is never taken for abandoned.
    """

    id: int
    plan_id: str
    phase: Phase
    owner_id: str
    fence: int
    is_manual: bool
    started_at: datetime | None
    ended_at: datetime | None
    outcome: RunOutcome | None
    error: str | None

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> Self:
        """The run that a row of the table describes.

        Raises:
            DatabaseError: its phase or outcome is none that lockwatch knows.
        """
        number, plan_id, phase, owner, fence, is_manual, started, ended, outcome, error = row
        try:
            known = Phase(phase), None if outcome is None else RunOutcome(outcome)
        except ValueError as unknown:
            raise DatabaseError(f"run {number} of a plan cannot be read: {clean(str(unknown))}") from unknown
        return cls(
            id=number,
            plan_id=as_text(plan_id),
            phase=known[0],
            owner_id=as_text(owner),
            fence=fence,
            is_manual=bool(is_manual),
            started_at=from_text(as_text(started)),
            ended_at=from_text(as_text(ended)),
            outcome=known[1],
            error=None if error is None else as_text(error),
        )

    @property
    def is_open(self) -> bool:
        """Whether it has not ended."""
        return self.outcome is None


def as_reason(text: str) -> str:
    """A reason as it is kept: one line, safe on a terminal, not too long.

    Raises:
        ValidationError: it is no text, or blank.
    """
    if not isinstance(text, str):
        raise ValidationError("reason", text, "must be text")
    if not text.strip():
        raise ValidationError("reason", text, "must not be blank")
    return shorten(clean(" ".join(text.split())), MAX_REASON_LENGTH)
