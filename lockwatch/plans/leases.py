"""What a phase's work holds: the plan's lease and, where it changes the project, the project's beside it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from lockwatch.core.lease import Lease
from lockwatch.core.loss import Loss
from lockwatch.core.model import Lock

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.orm import Session


class PlanLease:
    """The leases of one plan's turn, as one: it is lost as soon as one of them is. Any thread may call all methods.

    `lost` is an event to wait for or to look at; `lost_reason` then says why.
    """

    def __init__(self, plan: Lease, project: Lease | None = None) -> None:
        self.plan = plan
        self.project = project
        self.lost = plan.lost if project is None else threading.Event()
        self._leases = (plan,) if project is None else (plan, project)
        if project is not None:
            for lease in self._leases:
                lease.tell(lambda _lost: self.lost.set())

    @property
    def lock(self) -> Lock:
        """The plan's lock as of its last renewal."""
        return self.plan.lock

    @property
    def fence(self) -> int:
        """The plan's fencing token."""
        return self.plan.fence

    @property
    def lost_reason(self) -> Loss | None:
        """Why it was lost; None while it is not."""
        return next((lease.lost_reason for lease in self._leases if lease.lost_reason), None)

    def remaining(self) -> float:
        """Seconds until the first of them ends unless it is renewed; 0 once one is lost."""
        return min(lease.remaining() for lease in self._leases)

    def is_lost(self) -> bool:
        """Whether one of them is lost, by a look at the clock."""
        return any(lease.is_lost() for lease in self._leases)

    def check(self) -> None:
        """Raise if one of them is lost. To be called between two steps of work.

        Raises:
            LockExpiredError: one is; `reason` and `holder` say why.
        """
        for lease in self._leases:
            lease.check()

    def guard(self, connection: Connection | Session) -> None:
        """Make sure, inside the caller's transaction, that all of them hold until that ends: see `Lease.guard`.

        Raises:
            LockExpiredError: one is lost; roll back.
            ValidationError: the connection is in AUTOCOMMIT, or of another kind of database.
            DatabaseBusyError: retry the transaction.
        """
        for lease in self._leases:
            lease.guard(connection)
