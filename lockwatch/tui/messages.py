"""What the threads and the widgets tell the app. The poller and the writer touch no widget; they post these."""

from __future__ import annotations

from textual.message import Message

from lockwatch.core.model import LockSnapshot, Outcome
from lockwatch.plans.model import Plan
from lockwatch.tui.orders import Order


class Polled(Message):
    """The database answered. `began` is the steady clock's, `skew` this machine's clock less the database's (s)."""

    def __init__(self, snapshot: LockSnapshot, began: float, skew: float, every: float) -> None:
        super().__init__()
        self.snapshot = snapshot
        self.began = began
        self.skew = skew
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


class Settled(Message):
    """An order was carried out as far as `outcomes` tell; `failure` says why not to its end, in one clean line."""

    def __init__(self, order: Order, outcomes: list[Outcome], failure: str | None) -> None:
        super().__init__()
        self.order = order
        self.outcomes = outcomes
        self.failure = failure
