"""The verbs that look and change nothing: list, show, diagnostics, and the dashboard and the demo to watch."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from lockwatch.cli.answers import all_fields, complain, lock_fields, moment, say, say_json, terminal_width
from lockwatch.cli.options import DatabaseOption, JsonOption, ResourceArgument, chosen, open_service

USAGE: Final = 2
"""Exit code of a call that cannot be meant so."""


def add_verbs(app: typer.Typer) -> None:
    """Give `app` these verbs, in the order of its help."""
    app.command("dashboard")(dashboard)
    app.command("list")(list_locks)
    app.command("show")(show)
    app.command("diagnostics")(diagnostics)
    app.command("demo")(demo)


def dashboard(
    ctx: typer.Context,
    interval: Annotated[
        float, typer.Option("--interval", metavar="SECONDS", min=0.1, max=3600, help="How often to look.")
    ] = 1.0,
    database: DatabaseOption = None,
) -> int:
    """Watch the locks, and release, renew and purge them by key. The same without a verb."""
    from lockwatch.tui import can_draw

    if not can_draw():
        complain("the dashboard needs a terminal to draw on; `lockwatch list` prints the table once")
        return USAGE
    from lockwatch.database import locate

    with open_service(ctx, database) as service:
        service.now()  # a database that cannot be used is told here, in one line
        from lockwatch.plans import PlanLifecycleService
        from lockwatch.tui import run

        located = locate(chosen(ctx, database))
        plans = PlanLifecycleService(service, located.transactional_engine())
        run(service, located.name, interval=interval, find_plan=plans.get)
    return 0


def list_locks(ctx: typer.Context, database: DatabaseOption = None, as_json: JsonOption = False) -> None:
    """Print all locks, those with the least time left first.

    A terminal gets what fits its width, a pipe every name in full. With no locks there is only the header.
    """
    with open_service(ctx, database) as service:
        snapshot = service.snapshot()
    from lockwatch.listing import in_order, render

    if as_json:
        locks = in_order(snapshot.locks, snapshot.taken_at)
        say_json({"taken_at": moment(snapshot.taken_at), "locks": all_fields(locks, snapshot.taken_at)})
    else:
        say(*render(snapshot, terminal_width()))


def show(
    ctx: typer.Context, resource: ResourceArgument, database: DatabaseOption = None, as_json: JsonOption = False
) -> int:
    """Print one lock, an expired one too. Exit code 1 if there is none, and `null` as JSON."""
    from lockwatch.cli.naming import find, tell_holder
    from lockwatch.listing import describe

    with open_service(ctx, database) as service:
        lock, now = find(service, resource)
    if as_json:
        say_json(lock_fields(lock, now) if lock else None)
    elif lock:
        say(*describe(lock, now))
    if lock is None:
        complain(tell_holder(resource, lock, now))
    return 0 if lock else 1


def diagnostics(ctx: typer.Context, database: DatabaseOption = None, as_json: JsonOption = False) -> int:
    """Check the database, its schema, stale locks, clocks. Exit code: 0 all well, 1 warnings, 2 failures."""
    from lockwatch.diagnostics import examine, exit_code, report

    checks = examine(chosen(ctx, database))
    if as_json:
        fields = [{key: getattr(check, key) for key in ("name", "status", "message", "hint")} for check in checks]
        say_json({"exit_code": exit_code(checks), "checks": fields})
    else:
        say(*report(checks))
    return exit_code(checks)


def demo(
    workers: Annotated[
        int, typer.Option("--workers", metavar="N", min=5, max=64, help="Processes that lock, 5 to 64.")
    ] = 8,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", min=1, max=3600, help="How long it runs without a terminal.")
    ] = 15.0,
) -> int:
    """Watch real processes lock in a temporary database.

    Without a terminal it prints the table now and then, purges the stale locks at its end, and says what it did.
    """
    from lockwatch.demo import run

    return run(workers=workers, seconds=seconds)
