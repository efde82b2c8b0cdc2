"""Settings from the environment: the only place that reads it. A flag or an argument is stronger than these."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

DATABASE_URL: Final = "LOCKWATCH_DATABASE_URL"
RESOURCE_TYPES: Final = "LOCKWATCH_RESOURCE_TYPES"


def database_url() -> str | None:
    """The database that the environment names, if it names one."""
    return os.environ.get(DATABASE_URL) or None


def resource_types() -> tuple[str, ...]:
    """The resource types that the environment allows beside `plan` and `project`, parted by commas."""
    return tuple(name.strip() for name in os.environ.get(RESOURCE_TYPES, "").split(",") if name.strip())


def default_database() -> Path:
    """The file that serves where no database is named: in the user's data folder."""
    import platformdirs  # late: needed only where nothing is named

    return Path(platformdirs.user_data_dir("lockwatch")) / "locks.db"
