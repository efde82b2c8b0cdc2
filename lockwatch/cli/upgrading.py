"""The verbs of the schema: `db upgrade` and `db current`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from lockwatch.cli.answers import say, say_json
from lockwatch.cli.opening import chosen, locate, named, repeating
from lockwatch.cli.options import DatabaseOption, JsonOption, OnOption

if TYPE_CHECKING:
    from lockwatch.database import Database

app = typer.Typer(help="Make, adopt or upgrade the table of locks.", rich_markup_mode=None)


@app.command()
def upgrade(
    ctx: typer.Context, database: DatabaseOption = None, on: OnOption = None, as_json: JsonOption = False
) -> None:
    """Bring the database to the newest schema. A fitting table `locks` is adopted with its rows."""
    from lockwatch.core.errors import ReadOnlyError
    from lockwatch.database import HEAD_REVISION
    from lockwatch.database import upgrade as bring_to_head

    target = chosen(ctx, database, on)
    if target.read_only:
        raise ReadOnlyError(target.read_only)
    located = locate(target)
    with named(target):
        existed = located.exists()
        was_done = bring_to_head(target.url, target.password)
    done = "already at" if not was_done else "upgraded to" if existed else "made at"
    if as_json:
        say_json({**_fields(located, HEAD_REVISION), "upgraded": was_done, "made": was_done and not existed})
    else:
        say(f"{done} {HEAD_REVISION}: {located.name}")


@app.command()
def current(
    ctx: typer.Context, database: DatabaseOption = None, on: OnOption = None, as_json: JsonOption = False
) -> None:
    """Print the revision of the database's schema.

    If it has none it says so, and what makes one; as JSON `null`.
    """
    from lockwatch.core.text import clean

    target = chosen(ctx, database, on)
    located = locate(target)
    with named(target):
        revision = located.revision()
    if as_json:
        say_json(_fields(located, revision))
    else:
        missing = f"none: {repeating('`lockwatch db upgrade`', target)} makes or adopts {located.name}"
        say(clean(revision) if revision else missing)


def _fields(located: Database, revision: str | None) -> dict[str, Any]:
    from lockwatch.database import HEAD_REVISION

    return {"database": located.name, "revision": revision, "is_at_head": revision == HEAD_REVISION}
