"""The verbs that look and change nothing: list, show, diagnostics, and the dashboard and the demo to watch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from lockwatch.cli.answers import all_fields, complain, lock_fields, moment, say, say_json, terminal_width
from lockwatch.cli.given import Given
from lockwatch.cli.opening import chosen, open_to_read, repeating
from lockwatch.cli.options import (
    AskPasswordOption,
    DatabaseOption,
    FilterOption,
    IntervalOption,
    JsonOption,
    LogOption,
    OnOption,
    OwnerFilterOption,
    ReadOnlyOption,
    ResourceArgument,
    ThemeOption,
    TypeFilterOption,
    a_number,
)
from lockwatch.cli.screen import require_theme, watch

if TYPE_CHECKING:
    from lockwatch.diagnostics import Check
    from lockwatch.settings import Target


def add_verbs(app: typer.Typer) -> None:
    """Give `app` these verbs, in the order of its help."""
    app.command("dashboard")(dashboard)
    app.command("list")(list_locks)
    app.command("show")(show)
    app.command("diagnostics")(diagnostics)
    app.command("demo")(demo)


def dashboard(
    ctx: typer.Context,
    interval: IntervalOption = None,
    read_only: ReadOnlyOption = None,
    theme: ThemeOption = None,
    text: FilterOption = None,
    owner: OwnerFilterOption = None,
    resource_type: TypeFilterOption = None,
    log: LogOption = None,
    database: DatabaseOption = None,
    on: OnOption = None,
    ask_password: AskPasswordOption = None,
) -> int:
    """Watch the locks, and release, renew and purge them by key. The same without a verb."""
    given = Given(
        database=database,
        on=on,
        read_only=read_only,
        ask_password=ask_password,
        interval=interval,
        theme=theme,
        text=text,
        owner=owner,
        resource_type=resource_type,
        log=log,
    )
    return watch(given.over(ctx.obj))


def list_locks(
    ctx: typer.Context, database: DatabaseOption = None, on: OnOption = None, as_json: JsonOption = False
) -> None:
    """Print all locks, those with the least time left first.

    A terminal gets what fits its width, a pipe every name in full. With no locks there is only the header.
    """
    with open_to_read(ctx, database, on) as service:
        snapshot = service.snapshot()
    from lockwatch.listing import in_order, render

    if as_json:
        locks = in_order(snapshot.locks, snapshot.taken_at)
        say_json({"taken_at": moment(snapshot.taken_at), "locks": all_fields(locks, snapshot.taken_at)})
    else:
        say(*render(snapshot, terminal_width()))


def show(
    ctx: typer.Context,
    resource: ResourceArgument,
    database: DatabaseOption = None,
    on: OnOption = None,
    as_json: JsonOption = False,
) -> int:
    """Print one lock, an expired one too. Exit code 1 if there is none, and `null` as JSON."""
    from lockwatch.cli.naming import find, tell_holder
    from lockwatch.listing import describe

    with open_to_read(ctx, database, on) as service:
        lock, now = find(service, resource)
    if as_json:
        say_json(lock_fields(lock, now) if lock else None)
    elif lock:
        say(*describe(lock, now))
    if lock is None:
        complain(tell_holder(resource, lock, now))
    return 0 if lock else 1


def diagnostics(
    ctx: typer.Context, database: DatabaseOption = None, on: OnOption = None, as_json: JsonOption = False
) -> int:
    """Check the database, its schema, stale locks, clocks. Exit code: 0 all well, 1 warnings, 2 failures."""
    from lockwatch.diagnostics import examine, exit_code, report

    target = chosen(ctx, database, on)
    found = examine(target.url, read_only=target.read_only or False, password=target.password)
    checks = [_repeating(check, target) for check in found]
    if as_json:
        fields = [{key: getattr(check, key) for key in ("name", "status", "message", "hint")} for check in checks]
        say_json({"exit_code": exit_code(checks), "checks": fields})
    else:
        say(*report(checks))
    return exit_code(checks)


def _repeating(check: Check, target: Target) -> Check:
    hint = repeating(check.hint, target) if check.hint else None
    return replace(check, message=repeating(check.message, target), hint=hint)


def demo(
    workers: Annotated[
        int, typer.Option("--workers", metavar="N", min=5, max=64, help="Processes that lock, 5 to 64.")
    ] = 8,
    seconds: Annotated[
        float,
        typer.Option(
            "--seconds",
            metavar="S",
            min=1,
            max=3600,
            callback=a_number,
            help="How long it runs without a terminal.",
        ),
    ] = 15.0,
    interval: IntervalOption = None,
    theme: ThemeOption = None,
) -> int:
    """Watch real processes lock in a temporary database.

    Without a terminal it prints the table now and then, purges the stale locks at its end, and says what it did.
    """
    from lockwatch import settings
    from lockwatch.demo import run

    nowhere = settings.Target(config=settings.find_config())
    every, painted = settings.interval_for(nowhere, interval), settings.theme_for(nowhere, theme)
    require_theme(painted)
    return run(workers=workers, seconds=seconds, interval=every, theme=painted)
