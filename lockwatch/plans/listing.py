"""Plans and their runs as lines of text, safe on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import nan
from typing import Final

from lockwatch import cells
from lockwatch.core.text import clean, duration
from lockwatch.plans.model import Plan, PlanRun
from lockwatch.plans.transitions import allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of the table. Only a name has a `least` width, and is shortened to no less."""

    title: str
    text: Callable[[Plan, datetime], str]
    least: int | None = None


PLAN: Final = Column(title="PLAN", text=lambda plan, _: clean(plan.id), least=8)
PROJECT: Final = Column(title="PROJECT", text=lambda plan, _: clean(plan.project_id), least=8)
NAME: Final = Column(title="NAME", text=lambda plan, _: clean(plan.name), least=8)
PHASE: Final = Column(title="PHASE", text=lambda plan, _: plan.phase)
STATE: Final = Column(title="STATE", text=lambda plan, _: plan.state.upper())
FOR: Final = Column(title="FOR", text=lambda plan, now: duration(_since(plan.updated_at, now)))

COLUMNS: Final = (PLAN, PROJECT, NAME, PHASE, STATE, FOR)
_DROPPED_FIRST: Final = (PROJECT, FOR, NAME)


def render(plans: Sequence[Plan], now: datetime, width: int | None = None) -> list[str]:
    """A header and a line for each plan, in the order given.

    Args:
        plans: what is listed.
        now: what ages are counted to.
        width: how many cells a line may take. Columns that matter less are left out, and names shortened in the middle,
            until it does. None: everything in full, for a pipe.
    """
    texts = {column: [column.text(plan, now) for plan in plans] for column in COLUMNS}
    natural = {column: max(map(cells.width, (column.title, *shown))) for column, shown in texts.items()}
    widths = natural if width is None else _fitted(natural, width)
    lines = zip(*([column.title, *texts[column]] for column in widths), strict=True)
    return [_line(line, widths.values()) for line in lines]


def describe(plan: Plan, runs: Iterable[PlanRun]) -> list[str]:
    """One plan in full, a line for each of its facts and of its runs."""
    facts = {
        "plan": clean(plan.id),
        "name": clean(plan.name),
        "project": clean(plan.project_id),
        "phase": plan.phase,
        "state": plan.state + _because(plan.error),
        "created": _moment(plan.created_at),
        "changed": _moment(plan.updated_at),
        "allowed": ", ".join(allowed(plan.stage)) or "nothing: that is final",
    }
    lines = [f"{name:<7}{cells.GAP}{fact}" for name, fact in facts.items()]
    return lines + [f"run {run.id:<3}{cells.GAP}{_told(run)}" for run in runs]


def tell(plan: Plan) -> str:
    """Where a plan is, in one sentence."""
    return f"plan {clean(plan.id)} is {plan.stage}{_because(plan.error)}"


def _told(run: PlanRun) -> str:
    by = f"{'by hand, ' if run.is_manual else ''}by {clean(run.owner_id)} (fence {run.fence})"
    end = f"{run.outcome} {_moment(run.ended_at)}" if run.outcome else "not ended"
    return f"{run.phase} {by}, started {_moment(run.started_at)}, {end}{_because(run.error)}"


def _because(error: str | None) -> str:
    return f": {clean(error)}" if error else ""


def _moment(when: datetime | None) -> str:
    return f"{when:%Y-%m-%d %H:%M:%SZ}" if when else "–"


def _since(when: datetime | None, now: datetime) -> float:
    return nan if when is None else (now - when).total_seconds()


def _fitted(natural: Mapping[Column, int], room: int) -> dict[Column, int]:
    """The columns that are shown, and how wide: the widest names are made narrower until all fit, or none can be."""
    least = {column: min(size, column.least or size) for column, size in natural.items()}
    for column in _DROPPED_FIRST:
        if cells.line_width(least.values()) > room:
            del least[column]
    widths = {column: natural[column] for column in least}
    for _ in range(cells.line_width(widths.values()) - room):
        widest = max(widths, key=lambda column: widths[column] - least[column])
        if widths[widest] > least[widest]:
            widths[widest] -= 1
    return widths


def _line(texts: Iterable[str], widths: Iterable[int]) -> str:
    return cells.GAP.join(cells.pad(text, size) for text, size in zip(texts, widths, strict=True)).rstrip()
