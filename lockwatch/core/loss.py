"""Why a lease was lost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from lockwatch.core.errors import LossReason
from lockwatch.core.model import Lock
from lockwatch.core.text import clean


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Why a lease was lost, and who has the resource now, if that is known."""

    reason: LossReason
    holder: Lock | None = None

    def __str__(self) -> str:
        return f"{self.reason} by {clean(self.holder.owner_id)}" if self.holder else str(self.reason)


def loss_of(lock: Lock, found: tuple[Lock, datetime] | None) -> Loss | None:
    """Why a lock is lost, if that is the row of its resource now, and the moment it was read; None if it is held."""
    if found is None:
        return Loss(reason=LossReason.REMOVED)
    row, now = found
    if (row.id, row.owner_id) != (lock.id, lock.owner_id):
        return Loss(reason=LossReason.TAKEN_OVER, holder=row)
    if not row.is_readable:
        return Loss(reason=LossReason.UNREADABLE)
    return Loss(reason=LossReason.EXPIRED) if row.is_expired(now) else None
