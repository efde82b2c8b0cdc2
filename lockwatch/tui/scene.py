"""All that the screen shows at one moment."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from lockwatch.core.model import Lock
from lockwatch.tui.board import Board
from lockwatch.tui.clock import Steady
from lockwatch.tui.freshness import Freshness, Link


@dataclass(slots=True, kw_only=True)
class Scene:
    """The board, how fresh it is, and the clock that tells. `name` is the database's, clean."""

    name: str
    freshness: Freshness
    steady: Steady
    board: Board = field(default_factory=Board)

    def now(self) -> datetime | None:
        """The moment by the clock that judges; None before the first answer."""
        return self.freshness.now(self.steady())

    def age(self) -> float:
        """How old the data is, in seconds."""
        return self.freshness.age(self.steady())

    def link(self) -> Link:
        """Whether the screen may be believed."""
        return self.freshness.link(self.steady())

    def refusal(self) -> str | None:
        """Why nothing can be done now; None if it can."""
        match self.link():
            case Link.LIVE:
                return None
            case Link.CONNECTING:
                return "not connected yet"
            case Link.DISCONNECTED:
                return f"DISCONNECTED: {self.freshness.reason()}"

    def target(self) -> Lock | None:
        """The lease under the cursor; None if there is none, or it went."""
        lock = self.board.selected
        return None if lock is None or self.board.ghost(lock) else lock
