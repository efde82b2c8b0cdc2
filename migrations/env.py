"""How alembic runs lockwatch's migrations: over a connection handed in by the program, or over a URL by hand."""

from __future__ import annotations

import os

from alembic import context
from sqlalchemy import Connection

from lockwatch.core.schema import metadata
from lockwatch.database import VERSION_TABLE, Database
from lockwatch.plans import schema  # noqa: F401 its tables are of the same metadata


def _is_ours(name: str | None, kind: str, _parents: object) -> bool:
    return kind != "table" or name in metadata.tables


def _run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=metadata,
        version_table=VERSION_TABLE,
        render_as_batch=True,
        include_name=_is_ours,
    )
    with context.begin_transaction():
        context.run_migrations()


def _by_hand() -> None:
    url = context.config.get_main_option("sqlalchemy.url") or os.environ["LOCKWATCH_DATABASE_URL"]
    with Database.from_url(url).upgrading() as connection:
        _run(connection)


handed_in = context.config.attributes.get("connection")
if handed_in is None:
    _by_hand()
else:
    _run(handed_in)
