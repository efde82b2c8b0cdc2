"""What the threads and the widgets tell the app. The poller and the writer touch no widget; they post these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

from lockwatch.core.model import Outcome
from lockwatch.tui.catalogue import Catalogue, Selection
from lockwatch.tui.diff import Changes
from lockwatch.tui.orders import Order

if TYPE_CHECKING:
    from lockwatch.plans.model import Plan


class Polled(Message):
    """The database answered: what it has, what changed since the answer before, and what was wished for of it.

    `began` is the steady clock's, `skew` this machine's clock less the database's, `took` what the poll took and
    `every` the time to the next, all in seconds.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        changes: Changes,
        selection: Selection,
        *,
        began: float,
        skew: float,
        took: float,
        every: float,
    ) -> None:
        super().__init__()
        self.catalogue = catalogue
        self.changes = changes
        self.selection = selection
        self.began = began
        self.skew = skew
        self.took = took
        self.every = every


class PollFailed(Message):
    """The database could not be asked; `reason` is one clean line."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason


class PlanRead(Message):
    """A plan was looked for, from `began` on by the steady clock; None: there is none that can be read."""

    def __init__(self, plan: Plan | None, began: float) -> None:
        super().__init__()
        self.plan = plan
        self.began = began


class Confirmed(Message):
    """An operator said `y` to what a dialog showed."""

    def __init__(self, order: Order) -> None:
        super().__init__()
        self.order = order


class Cancelled(Message):
    """An operator wants no more of an order to be carried out."""

    def __init__(self, order: Order) -> None:
        super().__init__()
        self.order = order


class Progressed(Message):
    """A portion of an order was carried out, with these outcomes; `done` of its leases are settled by now."""

    def __init__(self, order: Order, outcomes: list[Outcome], done: int) -> None:
        super().__init__()
        self.order = order
        self.outcomes = outcomes
        self.done = done


class Settled(Message):
    """An order is over, with all outcomes there are; `failure` says in one clean line why there are no more."""

    def __init__(
        self, order: Order, outcomes: list[Outcome], failure: str | None, *, is_cancelled: bool = False
    ) -> None:
        super().__init__()
        self.order = order
        self.outcomes = outcomes
        self.failure = failure
        self.is_cancelled = is_cancelled


class JournalFailed(Message):
    """What happened cannot be added to the log file; `reason` is one clean line."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason
