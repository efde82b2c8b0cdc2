"""All verbs together."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import typer
from typer.main import get_group

from lockwatch.cli import databases, plans, running, settling, upgrading, watching

app = typer.Typer(rich_markup_mode=None)
watching.add_verbs(app)
settling.add_verbs(app)
running.add_verbs(app)
databases.add_verbs(app)
app.add_typer(plans.app, name="plans")
app.add_typer(upgrading.app, name="db")


def make() -> MutableMapping[str, Any]:
    """Every verb by its name."""
    return get_group(app).commands
