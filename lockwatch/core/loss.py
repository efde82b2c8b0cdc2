"""Why a lease was lost."""

from __future__ import annotations

from dataclasses import dataclass

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
