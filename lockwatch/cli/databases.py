"""The verb of `config.toml`: databases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import typer

from lockwatch.cli.answers import say, say_json
from lockwatch.cli.options import JsonOption
from lockwatch.core.text import clean

if TYPE_CHECKING:
    from lockwatch.config import Config

TITLES: Final = {"name": "NAME", "label": "LABEL", "default": "DEFAULT", "read_only": "READ-ONLY", "url": "URL"}


def add_verbs(app: typer.Typer) -> None:
    """Give `app` this verb."""
    app.command("databases")(databases)


def databases(as_json: JsonOption = False) -> None:
    """List the databases that config.toml names, for --on. No password is shown."""
    from lockwatch.settings import find_config

    config = find_config()
    found = _fields(config)
    if as_json:
        say_json({"config": str(config.path), "databases": found})
    elif found:
        say(*_lines(found))
    else:
        say(f"no database is named in {clean(str(config.path))}")


def _fields(config: Config) -> list[dict[str, Any]]:
    from lockwatch.config import without_password

    return [
        {
            "name": database.name,
            "label": database.label or None,
            "colour": database.colour or None,
            "default": database.name == config.default,
            "read_only": bool(config.read_only if database.read_only is None else database.read_only),
            "url": without_password(database.url),
        }
        for database in config.databases.values()
    ]


def _lines(found: list[dict[str, Any]]) -> list[str]:
    from lockwatch import cells

    rows = [TITLES, *({key: _word(database[key]) for key in TITLES} for database in found)]
    widths = {key: max(cells.width(row[key]) for row in rows) for key in TITLES}
    return [cells.GAP.join(cells.pad(row[key], widths[key]) for key in TITLES).rstrip() for row in rows]


def _word(value: str | bool | None) -> str:
    return "yes" if value is True else clean(value) if value else "–"
