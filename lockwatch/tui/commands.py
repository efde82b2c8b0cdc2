"""The command palette: the same actions as the keys, by name."""

from __future__ import annotations

from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider

from lockwatch.tui.keys import COMMANDS, Command


class KeyCommands(Provider):
    """What can be done on the main screen. It goes the way of the keys, so that what they refuse is refused here."""

    async def discover(self) -> Hits:
        """All of them."""
        for command in COMMANDS:
            if command.name:
                yield DiscoveryHit(command.name, self._runner(command), help=_explained(command))

    async def search(self, query: str) -> Hits:
        """Those whose name fits."""
        matcher = self.matcher(query)
        for command in COMMANDS:
            score = matcher.match(command.name) if command.name else 0
            if score > 0:
                yield Hit(score, matcher.highlight(command.name), self._runner(command), help=_explained(command))

    def _runner(self, command: Command) -> partial[bool]:
        return partial(self.app.call_later, self.screen.run_action, command.action)


def _explained(command: Command) -> str:
    return f"{command.shown}: {command.what}".replace("[", "(")
