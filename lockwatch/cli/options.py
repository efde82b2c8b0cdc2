"""What several verbs take, and how a database is chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from lockwatch.core.model import MAX_LOCK_TTL_SECS, MIN_LOCK_TTL_SECS

if TYPE_CHECKING:
    from lockwatch.core.service import LockService

DatabaseOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        help="Such as sqlite:///locks.db. Without it $LOCKWATCH_DATABASE_URL, then a file in the user's data folder.",
    ),
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


def chosen(ctx: typer.Context, database: str | None) -> str | None:
    """The URL given after the verb, else the one before it, else None."""
    before: str | None = ctx.obj
    return before if database is None else database


def open_service(ctx: typer.Context, database: str | None) -> LockService:
    """A lock service on the chosen database. Close it.

    Raises:
        ValidationError: the URL breaks a rule.
        DatabaseError: the default file cannot be made or upgraded.
    """
    from lockwatch.database import connect

    return connect(chosen(ctx, database))


def require_owner_or_fence(owner: str | None, fence: int | None) -> None:
    """Refuse a call that says neither whose lease is meant nor which."""
    if owner is None and fence is None:
        raise typer.BadParameter("one of them must be given", param_hint="--owner / --fence")
