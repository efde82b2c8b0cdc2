"""The command without a verb, which is the dashboard, before any verb is made."""

from __future__ import annotations

from collections.abc import MutableMapping
from functools import cached_property
from typing import Any, TypeAlias

from typer.core import TyperGroup

Verbs: TypeAlias = MutableMapping[str, Any]


class LateVerbs(TyperGroup):
    """A group whose verbs are loaded and made when one is called or asked about: the first frame waits for none."""

    @cached_property
    def _verbs(self) -> Verbs:
        from lockwatch.cli.verbs import make

        return make()

    @property
    def commands(self) -> Verbs:
        """The verbs by their names."""
        return self._verbs

    @commands.setter
    def commands(self, _none: Verbs) -> None:
        """Typer knows of none when it makes the group."""
