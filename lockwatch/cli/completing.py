"""What a shell offers after --on and --theme. Whatever goes wrong, it offers nothing: nobody asked for an error."""

from __future__ import annotations

from contextlib import suppress

from lockwatch.core.errors import LockwatchError


def complete_databases(incomplete: str) -> list[str]:
    """The databases of `config.toml` that begin so."""
    from lockwatch import settings

    with suppress(LockwatchError):
        return [name for name in settings.find_config().databases if name.startswith(incomplete)]
    return []


def complete_themes(incomplete: str) -> list[str]:
    """The themes that begin so."""
    from lockwatch.tui.themes import names

    return [name for name in names() if name.startswith(incomplete)]
