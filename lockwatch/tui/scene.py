"""All that the screen shows at one moment."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final

from lockwatch.core.model import Lock
from lockwatch.tui.activity import Activity
from lockwatch.tui.board import Board
from lockwatch.tui.clock import Steady
from lockwatch.tui.freshness import PATIENCE_SECS, Freshness, Link
from lockwatch.tui.look import Look

if TYPE_CHECKING:
    from lockwatch.plans.model import Plan

PLAN_TYPE: Final = "plan"
"""The type of the resources that are plans."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenPlan:
    """A plan, and since when that is how it was, by the steady clock (s)."""

    plan: Plan
    read_at: float


@dataclass(slots=True, kw_only=True)
class Scene:
    """The board, how fresh it is, the clock that tells, and what happened. `read_only` says why nothing can be done."""

    look: Look
    freshness: Freshness
    steady: Steady
    board: Board = field(default_factory=Board)
    activity: Activity = field(default_factory=Activity)
    read_only: str | None = None
    seen_plan: SeenPlan | None = None
    """What was read last of the plans, perhaps of another than that under the cursor now."""
    has_plans: bool = False
    """Whether any plan was ever read."""

    def now(self) -> datetime | None:
        """The moment by the clock that judges; None before the first answer."""
        return self.freshness.now(self.steady())

    def age(self) -> float:
        """How old the data is, in seconds."""
        return self.freshness.age(self.steady())

    def link(self) -> Link:
        """Whether the screen may be believed."""
        return self.freshness.link(self.steady())

    def refusal(self) -> str | None:
        """Why nothing can be done now; None if it can."""
        if self.read_only is not None:
            return f"read-only: {self.read_only}"
        match self.link():
            case Link.LIVE:
                return None
            case Link.CONNECTING:
                return "not connected yet"
            case Link.PAUSED:
                return "PAUSED: what is shown may be old; z goes on"
            case Link.DISCONNECTED:
                return f"DISCONNECTED: {self.freshness.reason()}"

    def target(self) -> Lock | None:
        """The lease under the cursor; None if there is none, or it went."""
        lock = self.board.selected
        return None if lock is None or self.board.ghost(lock) else lock

    def plan_id(self) -> str | None:
        """Which plan the lock under the cursor is of; None if it is of something else."""
        lock = self.board.selected
        return lock.resource_id if lock is not None and lock.resource_type == PLAN_TYPE else None

    def plan(self) -> Plan | None:
        """The plan of the lock under the cursor; None if it was not read, or long before the locks were."""
        seen, polled = self.seen_plan, self.freshness.polled
        if seen is None or polled is None or seen.plan.id != self.plan_id():
            return None
        return seen.plan if polled - seen.read_at <= self.freshness.every + PATIENCE_SECS else None

    def note_plan(self, plan: Plan | None, read_at: float) -> bool:
        """Take in what was found when a plan was looked for: whether that changes anything that is shown."""
        before = self.plan()
        self.seen_plan = None if plan is None else SeenPlan(plan=plan, read_at=read_at)
        self.has_plans = self.has_plans or plan is not None
        return self.plan() != before
