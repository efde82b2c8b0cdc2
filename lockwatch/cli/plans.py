"""The verbs of plans: `plans list`, `plans show`, and those that make one or move it on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from operator import methodcaller
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar

import typer

from lockwatch.cli.answers import moment, say, say_json, terminal_width
from lockwatch.cli.opening import chosen, named, why_to_read
from lockwatch.cli.options import DatabaseOption, JsonOption, OnOption
from lockwatch.core.errors import ValidationError

if TYPE_CHECKING:
    from lockwatch.plans import Plan, PlanLifecycleService, PlanRun

E = TypeVar("E", bound=StrEnum)

PlanArgument: TypeAlias = Annotated[str, typer.Argument(metavar="PLAN", help="The plan's id.", show_default=False)]
ReasonOption: TypeAlias = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why.", show_default=False)]
WaitOption: TypeAlias = Annotated[
    float, typer.Option("--wait", metavar="SECONDS", help="How long to wait for who holds the plan or its project.")
]

MOVES: Final = {
    "advance": "Queue a complete plan, or an action, in the next phase.",
    "start": "Mark a queued plan as processing, by hand.",
    "complete": "End a run well: complete, or applied.",
    "retry": "Queue an errored or constrained plan again.",
    "revert": "Queue a plan in strategize again.",
}
"""Operations that need no reason, and what they do."""
ENDS: Final = {"fail": "End a run badly: errored.", "constrain": "End a run that met a constraint."}
"""Operations that need one."""

app = typer.Typer(help="Plans, and moving them through their phases.", rich_markup_mode=None)


@app.command("list")
def list_plans(
    ctx: typer.Context,
    project: Annotated[str | None, typer.Option("--project", metavar="ID", help="Only of this project.")] = None,
    phase: Annotated[str | None, typer.Option("--phase", metavar="PHASE", help="Only in this phase.")] = None,
    state: Annotated[str | None, typer.Option("--state", metavar="STATE", help="Only in this state.")] = None,
    database: DatabaseOption = None,
    on: OnOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print all plans, the oldest first."""
    from lockwatch.plans import Phase, PlanState
    from lockwatch.plans.listing import render

    phase, state = _one_of(Phase, "phase", phase), _one_of(PlanState, "state", state)
    with _open(ctx, database, on) as service:
        plans = service.list(project_id=project, phase=phase, state=state)
        now = service.locks.now()
    if as_json:
        say_json({"taken_at": moment(now), "plans": [_fields(plan) for plan in plans]})
    else:
        say(*render(plans, now, terminal_width()))


@app.command()
def show(
    ctx: typer.Context,
    plan: PlanArgument,
    database: DatabaseOption = None,
    on: OnOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print one plan, what is allowed now, and its runs."""
    from lockwatch.plans.listing import describe

    with _open(ctx, database, on) as service:
        found, runs = service.get(plan), service.history(plan)
    if as_json:
        say_json({**_fields(found), "runs": [_run_fields(run) for run in runs]})
    else:
        say(*describe(found, runs))


@app.command()
def create(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What people call it.", show_default=False)],
    project: Annotated[
        str, typer.Option("--project", metavar="ID", help="The project that it changes.", show_default=False)
    ],
    plan_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Its id; a random one if not given.")
    ] = None,
    database: DatabaseOption = None,
    on: OnOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a plan: an action, for `advance` to take on."""
    _do(ctx, database, on, as_json, methodcaller("create", name, project, plan_id))


def _move(operation: str) -> Callable[..., None]:
    def verb(
        ctx: typer.Context,
        plan: PlanArgument,
        wait: WaitOption = 0,
        database: DatabaseOption = None,
        on: OnOption = None,
        as_json: JsonOption = False,
    ) -> None:
        _do(ctx, database, on, as_json, methodcaller(operation, plan, wait_seconds=wait))

    return verb


def _end(operation: str) -> Callable[..., None]:
    def verb(
        ctx: typer.Context,
        plan: PlanArgument,
        reason: ReasonOption,
        wait: WaitOption = 0,
        database: DatabaseOption = None,
        on: OnOption = None,
        as_json: JsonOption = False,
    ) -> None:
        _do(ctx, database, on, as_json, methodcaller(operation, plan, reason, wait_seconds=wait))

    return verb


for _name, _help in MOVES.items():
    app.command(_name, help=_help)(_move(_name))
for _name, _help in ENDS.items():
    app.command(_name, help=_help)(_end(_name))


@app.command()
def cancel(
    ctx: typer.Context,
    plan: PlanArgument,
    reason: Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why.")] = None,
    wait: WaitOption = 0,
    database: DatabaseOption = None,
    on: OnOption = None,
    as_json: JsonOption = False,
) -> None:
    """End a plan for good."""
    _do(ctx, database, on, as_json, methodcaller("cancel", plan, reason, wait_seconds=wait))


@app.command()
def recover(
    ctx: typer.Context, database: DatabaseOption = None, on: OnOption = None, as_json: JsonOption = False
) -> None:
    """Make plans errored whose process died."""
    from lockwatch.plans.listing import tell

    with _open_to_lock(ctx, database, on) as service:
        recovered = service.recover_abandoned()
    if as_json:
        say_json({"recovered": [_fields(plan) for plan in recovered]})
    else:
        say(*(map(tell, recovered) if recovered else ["no plan is abandoned"]))


@contextmanager
def _open(ctx: typer.Context, database: str | None, on: str | None) -> Iterator[PlanLifecycleService]:
    from lockwatch.plans import connect

    target = chosen(ctx, database, on)
    why = why_to_read(target)
    with named(target), connect(target.url, read_only=why or False, password=target.password) as service:
        yield service


@contextmanager
def _open_to_lock(ctx: typer.Context, database: str | None, on: str | None) -> Iterator[PlanLifecycleService]:
    """The same for a verb that locks a plan: a signal that ends it has it unlocked first."""
    from lockwatch.cli.logged import complaining
    from lockwatch.plans import connect
    from lockwatch.runtime import LockRuntime

    target = chosen(ctx, database, on)
    with (
        complaining(),
        named(target),
        connect(target.url, read_only=target.read_only or False, password=target.password) as service,
        LockRuntime(service.locks),
    ):
        yield service


def _do(
    ctx: typer.Context,
    database: str | None,
    on: str | None,
    as_json: bool,
    change: Callable[[PlanLifecycleService], Plan],
) -> None:
    """Make or move on one plan, and say where it is then."""
    from lockwatch.plans.listing import tell

    with _open_to_lock(ctx, database, on) as service:
        plan = change(service)
    if as_json:
        say_json(_fields(plan))
    else:
        say(tell(plan))


def _one_of(kind: type[E], argument: str, text: str | None) -> E | None:
    try:
        return None if text is None else kind(text)
    except ValueError:
        raise ValidationError(argument, text, f"must be one of {', '.join(kind)}") from None


def _fields(plan: Plan) -> dict[str, Any]:
    """A plan as JSON has it, names as stored."""
    from lockwatch.plans.transitions import allowed

    return {
        "id": plan.id,
        "project_id": plan.project_id,
        "name": plan.name,
        "phase": plan.phase,
        "state": plan.state,
        "error": plan.error,
        "created_at": moment(plan.created_at),
        "updated_at": moment(plan.updated_at),
        "allowed": list(allowed(plan.stage)),
    }


def _run_fields(run: PlanRun) -> dict[str, Any]:
    return {
        "id": run.id,
        "phase": run.phase,
        "owner_id": run.owner_id,
        "fence": run.fence,
        "is_manual": run.is_manual,
        "started_at": moment(run.started_at),
        "ended_at": moment(run.ended_at),
        "outcome": run.outcome,
        "error": run.error,
    }
