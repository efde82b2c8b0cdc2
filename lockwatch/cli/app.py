"""The dashboard's flags, and what a failure of it or of any verb looks like."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Final

import typer
from typer.main import get_command

from lockwatch.cli.answers import complain, say
from lockwatch.cli.given import Given
from lockwatch.cli.late import LateVerbs
from lockwatch.cli.options import (
    AskPasswordOption,
    DatabaseOption,
    FilterOption,
    IntervalOption,
    LogOption,
    OnOption,
    OwnerFilterOption,
    ReadOnlyOption,
    ThemeOption,
    TypeFilterOption,
)
from lockwatch.cli.screen import watch
from lockwatch.core.errors import LockwatchError, ValidationError
from lockwatch.version import __version__

_USER_AND_PASSWORD: Final = re.compile(r"(?<=://)\S*@")
_FLAGS: Final = {"ttl_seconds": "--ttl", "wait_seconds": "--wait", "owner_id": "--owner", "project_id": "--project"}
"""What arguments of the core are called here."""
_BEFORE_THE_VERB: Final = ("--read-only", "--no-read-only", "--ask-password")

app = typer.Typer(
    name="lockwatch",
    cls=LateVerbs,
    rich_markup_mode=None,  # what people type and what tables hold is never markup
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        say(f"lockwatch {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def lockwatch(
    ctx: typer.Context,
    database: DatabaseOption = None,
    on: OnOption = None,
    read_only: ReadOnlyOption = None,
    ask_password: AskPasswordOption = None,
    interval: IntervalOption = None,
    theme: ThemeOption = None,
    text: FilterOption = None,
    owner: OwnerFilterOption = None,
    resource_type: TypeFilterOption = None,
    log: LogOption = None,
    version: Annotated[  # noqa: ARG001 its callback does it
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> int:
    """Advisory locks with a TTL in your own database: watch and settle them. Without a verb: the dashboard.

    Exit codes: 0 done, 1 failed, 2 usage, 3 held by another, 4 expired or changed since, 5 database.
    """
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
    if ctx.invoked_subcommand is None:
        return watch(given)
    if given.flags_of_dashboard and ctx.invoked_subcommand != "dashboard":
        flags = ", ".join(given.flags_of_dashboard)
        raise typer.BadParameter(f"before {ctx.invoked_subcommand} it has no meaning", ctx=ctx, param_hint=flags)
    ctx.obj = given
    return 0


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a verb and give its exit code; what fails is told in one line on stderr."""
    try:
        code = get_command(app).main(args=arguments, prog_name="lockwatch", standalone_mode=False)
    except LockwatchError as error:
        complain(_in_flags(error))
        return error.exit_code
    except typer.TyperException as error:
        complain(_USER_AND_PASSWORD.sub("…@", error.format_message()).rstrip(".") + _hint(error))
        return error.exit_code
    return int(code or 0)


def _in_flags(error: LockwatchError) -> str:
    if isinstance(error, ValidationError) and error.argument in _FLAGS:
        return str(ValidationError(_FLAGS[error.argument], error.given, error.rule))
    return str(error)


def _hint(error: typer.TyperException) -> str:
    """What to do about a call that cannot be meant so."""
    ctx: typer.Context | None = getattr(error, "ctx", None)
    if ctx is None:
        return ""
    unknown: str = getattr(error, "option_name", "") if hasattr(error, "possibilities") else ""
    program, _, verb = ctx.command_path.partition(" ")
    if unknown in _BEFORE_THE_VERB:
        return f"; it goes before the verb: `{program} {unknown} {verb}`"
    of_command = "; flags of the command come after `--`" if unknown and verb == "run" else ""
    return f"{of_command}; see `{ctx.command_path} --help`."
