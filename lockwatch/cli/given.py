"""What was said on the command line about the database and the dashboard, before a verb or after it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Final

FLAGS: Final = {
    "interval": "--interval",
    "theme": "--theme",
    "text": "--filter",
    "owner": "--owner",
    "resource_type": "--type",
    "log": "--log",
}
"""What only the dashboard knows, and the flag of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """None: nothing was said. Of what was said twice, the later counts."""

    database: str | None = None
    on: str | None = None
    read_only: bool | None = None
    ask_password: bool | None = None
    interval: float | None = None
    theme: str | None = None
    text: str | None = None
    owner: str | None = None
    resource_type: str | None = None
    log: Path | None = None

    def over(self, earlier: Given) -> Given:
        """This, and what was said earlier where nothing is said here."""
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(earlier, **{name: value for name, value in said.items() if value is not None})

    @property
    def flags_of_dashboard(self) -> list[str]:
        """Those flags among them that no other verb knows."""
        return [flag for name, flag in FLAGS.items() if getattr(self, name) is not None]
