"""The verb that runs a command under a lock: run."""

from __future__ import annotations

import signal
from typing import Annotated

import typer

from lockwatch.cli.opening import open_to_write
from lockwatch.cli.options import DatabaseOption, OnOption, ResourceArgument, TtlOption
from lockwatch.core.model import DEFAULT_LOCK_TTL_SECS


def add_verbs(app: typer.Typer) -> None:
    """Give `app` this verb."""
    app.command("run")(run)


def run(
    ctx: typer.Context,
    resource: ResourceArgument,
    command: Annotated[list[str], typer.Argument(metavar="COMMAND", help="What to run.", show_default=False)],
    ttl: TtlOption = DEFAULT_LOCK_TTL_SECS,
    wait: Annotated[float, typer.Option("--wait", metavar="SECONDS", help="How long to wait for another holder.")] = 0,
    owner: Annotated[
        str | None, typer.Option("--owner", metavar="OWNER", help="Who holds it; host:pid:random if not given.")
    ] = None,
    database: DatabaseOption = None,
    on: OnOption = None,
) -> int:
    """Run a command under a lock, and never without it.

    As in `lockwatch run plan/nightly --ttl 60 --wait 30 -- make deploy`. The lock is renewed until the command ends,
    then released, whatever the command left in the background. If it is lost, all of the command's process group gets
    SIGTERM, then SIGKILL: before the lock's own end, and within a second if it was taken away. Signals are passed on;
    a command that ignores them goes on. It has LOCKWATCH_RESOURCE, LOCKWATCH_OWNER and LOCKWATCH_FENCE in its
    environment. Who holds the lock already as the same --owner shares it.

    Exit codes: the command's own, or 128 and the number of the signal that ended it; 2 usage, 3 held by another,
    4 lost, 5 database, 126 not executable, 127 not found.
    """
    from lockwatch.cli.logged import complaining
    from lockwatch.cli.naming import parse
    from lockwatch.running.supervisor import CtrlCError
    from lockwatch.running.terminal import die_of, signal_rest_of_job
    from lockwatch.running.wrapper import EndedBySignalError, Order
    from lockwatch.running.wrapper import run as run_under_lock
    from lockwatch.runtime import LockRuntime

    key = parse(resource)
    try:
        with (
            complaining(),
            open_to_write(ctx, database, on) as service,
            LockRuntime(service, heeds_signals=False) as runtime,
        ):
            order = Order(
                key=key,
                owner_id=runtime.owner_id if owner is None else owner,
                command=tuple(command),
                ttl_seconds=ttl,
                wait_seconds=wait,
            )
            return run_under_lock(runtime.service, order)
    except EndedBySignalError as error:
        return 128 + error.number
    except CtrlCError as error:
        # A shell's loop or script that this is part of has to end as well. It does if it sees the signal itself.
        signal_rest_of_job(signal.SIGINT)
        die_of(signal.SIGINT)
        return error.exit_code
