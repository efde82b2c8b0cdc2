"""What several verbs take."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from lockwatch.cli.completing import complete_databases, complete_themes
from lockwatch.config import MAX_INTERVAL_SECS, MIN_INTERVAL_SECS
from lockwatch.core.model import MAX_LOCK_TTL_SECS, MIN_LOCK_TTL_SECS


def a_number(value: float | None) -> float | None:
    """The value of a flag, unless it is not a number, which is in every range."""
    if value is not None and math.isnan(value):
        raise typer.BadParameter("nan is not a number of seconds")
    return value


DatabaseOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        help="Such as sqlite:///locks.db. Without it $LOCKWATCH_DATABASE_URL, the default of config.toml, then a file"
        " in the user's data folder.",
    ),
]
OnOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="NAME",
        help="A database of config.toml. Without it $LOCKWATCH_ON.",
        autocompletion=complete_databases,
    ),
]
ReadOnlyOption: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--read-only/--no-read-only",
        help="Refuse whatever would write. Without it $LOCKWATCH_READ_ONLY, then config.toml.",
        show_default=False,
    ),
]
AskPasswordOption: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--ask-password",
        help="Ask for the database's password. Without it $LOCKWATCH_PASSWORD, then the password_file of config.toml.",
        show_default=False,
    ),
]
IntervalOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--interval",
        metavar="SECONDS",
        min=MIN_INTERVAL_SECS,
        callback=a_number,
        max=MAX_INTERVAL_SECS,
        help="How often the dashboard looks. Without it $LOCKWATCH_INTERVAL, config.toml, then 1.",
    ),
]
ThemeOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--theme",
        metavar="NAME",
        help="The dashboard's colours. Without it $LOCKWATCH_THEME, then config.toml.",
        autocompletion=complete_themes,
    ),
]
FilterOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--filter", metavar="TEXT", help="The dashboard begins with locks that have these words."),
]
OwnerFilterOption: TypeAlias = Annotated[
    str | None, typer.Option("--owner", metavar="OWNER", help="The dashboard begins with locks of this owner.")
]
TypeFilterOption: TypeAlias = Annotated[
    str | None, typer.Option("--type", metavar="TYPE", help="The dashboard begins with locks of this type.")
]
LogOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--log", metavar="FILE", help="The dashboard adds what happens to this file, as JSON lines."),
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Answer in JSON.")]
ResourceArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="RESOURCE", help="The type, a slash and the id: plan/p1.", show_default=False)
]
OwnerOption: TypeAlias = Annotated[str | None, typer.Option("--owner", metavar="OWNER", help="Who holds it.")]
FenceOption: TypeAlias = Annotated[
    int | None,
    typer.Option("--fence", metavar="N", help="The lease that was seen, by its fencing token, instead of an owner's."),
]
TtlOption: TypeAlias = Annotated[
    float,
    typer.Option(
        "--ttl", metavar="SECONDS", help=f"Lifetime from now, {MIN_LOCK_TTL_SECS} to {MAX_LOCK_TTL_SECS} seconds."
    ),
]


def require_owner_or_fence(owner: str | None, fence: int | None) -> None:
    """Refuse a call that says neither whose lease is meant nor which."""
    if owner is None and fence is None:
        raise typer.BadParameter("one of them must be given", param_hint="--owner / --fence")
