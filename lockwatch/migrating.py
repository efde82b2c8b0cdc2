"""Where the migrations are, and running them to their head."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lockwatch.core.errors import DatabaseError
from lockwatch.core.text import clean

if TYPE_CHECKING:
    from sqlalchemy import Connection

one_upgrade: Final = threading.Lock()
"""To be held while migrations run: alembic keeps its context in module globals."""


def migrations_path() -> Path:
    """The folder of the migrations: inside the package in a wheel, beside it in a checkout.

    In this order: beside a wheel's package there could be another project's `migrations`.
    """
    package = Path(__file__).parent
    inside = package / "migrations"
    return inside if inside.is_dir() else package.parent / "migrations"


def run_migrations(connection: Connection) -> None:
    """Bring the database to the newest migration, in the connection's transaction where it has such.

    Raises:
        DatabaseError: the migrations do not fit what is there.
    """
    from alembic import command  # late: a third of a second, and only a first use needs it
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(migrations_path()).replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        words = clean(str(error))
        raise DatabaseError(f"the migrations of this lockwatch do not fit the database ({words})") from error
