"""What can go wrong, as one tree.

    LockwatchError            1   the root: catch it to catch all of them
      ValidationError         2   an argument breaks a rule; nothing was done (also a ValueError)
      LockConflictError       3   somebody else holds the resource
      LockExpiredError        4   the lease to renew is no longer there to be renewed
      ReadOnlyError           1   the call could write, and the service was opened to read only; nothing was done
      DatabaseError           5   unreachable, or its schema is not ours; the driver's error is the cause
        DatabaseBusyError     5   another connection kept it locked for longer than the timeout
          LostRaceError       5   the database broke a deadlock or a tie between transactions: to try again may help
        TakenError            5   the resource has a row already; never leaves the core

The number is `exit_code`, with which the command line ends. Messages are put into words when they are asked for:
a refused acquire is as common as a granted one.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Final

from lockwatch.core.text import clean, duration, shorten

if TYPE_CHECKING:
    from lockwatch.core.model import Lock


class LossReason(StrEnum):
    """Why a lease is no longer its owner's."""

    EXPIRED = "expired"
    TAKEN_OVER = "taken over"
    REMOVED = "removed"
    UNREADABLE = "unreadable"
    UNREACHABLE = "database unreachable"
    SHUTTING_DOWN = "shutting down"
    FORKED = "held by the parent process"


class LockwatchError(Exception):
    """Anything that lockwatch raises on purpose."""

    exit_code: ClassVar[int] = 1


class ValidationError(LockwatchError, ValueError):
    """An argument breaks a rule; nothing was done."""

    exit_code = 2

    def __init__(self, argument: str, given: object, rule: str) -> None:
        super().__init__(argument, given, rule)
        self.argument = argument
        self.given = given
        self.rule = rule

    def __str__(self) -> str:
        return f"{self.argument}: {self.rule}; got {_shown(self.given)}"


class LockConflictError(LockwatchError):
    """Somebody else holds the resource: `holder` is that lock, judged at `now`."""

    exit_code = 3

    def __init__(self, holder: Lock, now: datetime) -> None:
        super().__init__(holder, now)
        self.holder = holder
        self.now = now

    def __str__(self) -> str:
        return f"{clean(self.holder.resource)} is held by {describe_holder(self.holder, self.now)}"


class LockExpiredError(LockwatchError):
    """A lease is no longer its owner's: `reason` says why, `holder` who has the resource now, if that is known."""

    exit_code = 4

    def __init__(
        self, resource: str, owner_id: str, reason: LossReason, now: datetime | None, found: Lock | None
    ) -> None:
        super().__init__(resource, owner_id, reason, now, found)
        self.reason = reason
        self.holder = found if reason is LossReason.TAKEN_OVER else None

    def __str__(self) -> str:
        resource, owner_id, reason, now, found = self.args
        return f"the lock of {clean(owner_id)} on {clean(resource)} {_loss(reason, now, found)}"


class ReadOnlyError(LockwatchError):
    """The call could write, and the service was opened to read only: `reason` says why. Nothing was done."""

    exit_code = 1

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"read-only, nothing was changed: {clean(self.reason)}"


class DatabaseError(LockwatchError):
    """The database cannot be reached or used, or its schema is not ours. The driver's error is `__cause__`."""

    exit_code = 5


class DatabaseBusyError(DatabaseError):
    """Another connection kept the database locked for longer than the timeout; nothing was changed."""


class LostRaceError(DatabaseBusyError):
    """Another transaction won where only one could: all of this one was undone, and may be tried again."""


class TakenError(DatabaseError):
    """The resource has a row already: an insert that came second. Never leaves the core."""


def describe_holder(lock: Lock, now: datetime) -> str:
    """Who holds a lock, since when and for how much longer, in words that are safe on a terminal."""
    owner = clean(lock.owner_id)
    since = f" since {lock.acquired_at:%Y-%m-%d %H:%M:%SZ}" if lock.acquired_at else ""
    if lock.expires_at is None:
        unreadable = f"its expiry {clean(lock.expires_text)!r} cannot be read, so only a person may remove it"
        return f"{owner}{since} (fence {lock.id}); {unreadable}"
    if lock.is_expired(now):
        return f"{owner}{since}, stale for {duration(-lock.remaining(now))} (fence {lock.id})"
    return f"{owner}{since}, for another {duration(lock.remaining(now))} (fence {lock.id})"


def _shown(given: object) -> str:
    if isinstance(given, int) and given.bit_length() > 256:
        return "a huge number"  # Python may refuse to write it out
    return clean(shorten(repr(given), 60))


_LOSSES: Final = {
    LossReason.EXPIRED: "expired",
    LossReason.TAKEN_OVER: "was taken over",
    LossReason.REMOVED: "is not there any more: it was released or removed",
    LossReason.UNREADABLE: "cannot be renewed: its expiry cannot be read",
    LossReason.UNREACHABLE: "ran out while the database could not be reached",
    LossReason.SHUTTING_DOWN: "ends, since the process is shutting down",
    LossReason.FORKED: "is held by the parent process, not by this one",
}


def _loss(reason: LossReason, now: datetime | None, found: Lock | None) -> str:
    if reason is LossReason.REMOVED and now:  # asked for by name, and not by a lease that it was once
        return "is not there: it was released or removed, or never acquired"
    if found is None:
        return _LOSSES[reason]
    match reason:
        case LossReason.TAKEN_OVER:
            holder = describe_holder(found, now) if now else f"{clean(found.owner_id)} (fence {found.id})"
            return f"{_LOSSES[reason]}: held by {holder}"
        case LossReason.UNREADABLE:
            return f"cannot be renewed: its expiry {clean(found.expires_text)!r} cannot be read"
        case LossReason.EXPIRED if now:
            return f"expired {duration(-found.remaining(now))} ago"
        case _:
            return _LOSSES[reason]
