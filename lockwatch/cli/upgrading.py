"""The verbs of the schema: `db upgrade` and `db current`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from lockwatch.cli.answers import say, say_json
from lockwatch.cli.options import DatabaseOption, JsonOption, chosen

if TYPE_CHECKING:
    from lockwatch.database import Database

app = typer.Typer(help="Make, adopt or upgrade the table of locks.", rich_markup_mode=None)


@app.command()
def upgrade(ctx: typer.Context, database: DatabaseOption = None, as_json: JsonOption = False) -> None:
    """Bring the database to the newest schema. A fitting table `locks` is adopted with its rows."""
    from lockwatch.database import HEAD_REVISION, locate
    from lockwatch.database import upgrade as bring_to_head

    url = chosen(ctx, database)
    target = locate(url)
    existed = target.exists()
    was_done = bring_to_head(url)
    done = "already at" if not was_done else "upgraded to" if existed else "made at"
    if as_json:
        say_json({**_fields(target, HEAD_REVISION), "upgraded": was_done, "made": was_done and not existed})
    else:
        say(f"{done} {HEAD_REVISION}: {target.name}")


@app.command()
def current(ctx: typer.Context, database: DatabaseOption = None, as_json: JsonOption = False) -> None:
    """Print the revision of the database's schema, or that it has none (`null` as JSON)."""
    from lockwatch.core.text import clean
    from lockwatch.database import locate

    target = locate(chosen(ctx, database))
    revision = target.revision()
    if as_json:
        say_json(_fields(target, revision))
    else:
        say(clean(revision) if revision else f"none: `lockwatch db upgrade` makes or adopts {target.name}")


def _fields(target: Database, revision: str | None) -> dict[str, Any]:
    from lockwatch.database import HEAD_REVISION

    return {"database": target.name, "revision": revision, "is_at_head": revision == HEAD_REVISION}
