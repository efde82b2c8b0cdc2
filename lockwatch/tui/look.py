"""How a dashboard is asked for: over what, and what it shows at first."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What the command line and the settings decide about a dashboard.

    `name` is the database's, `label` what its people call it (`PROD`), in a `colour` by name: both clean, the last two
    empty if there is none. `interval` is in seconds. No `theme`: lockwatch's own, or the terminal's 16 colours where it
    has no more. `text`, `owner` and `resource_type` narrow the table at first; empty: all. `log` is a file that what
    happens is added to.
    """

    name: str
    label: str = ""
    colour: str = ""
    interval: float = 1.0
    theme: str | None = None
    text: str = ""
    owner: str = ""
    resource_type: str = ""
    log: Path | None = None
