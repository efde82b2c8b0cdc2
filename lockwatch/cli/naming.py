"""From what a person typed to the lock that is meant, also where a name in the table breaks every rule."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from lockwatch.core.errors import LockwatchError, ValidationError, describe_holder
from lockwatch.core.model import Key, Lock, validate_key
from lockwatch.core.service import LockService
from lockwatch.core.text import clean, duration


class LeaseChangedError(LockwatchError):
    """The lease that was named is not there any more, or not that one; nothing was changed."""

    exit_code = 4


def parse(resource: str) -> Key:
    """The key of a resource as people write it: `plan/p1`. The id may hold slashes.

    Raises:
        ValidationError: there is no slash.
    """
    resource_type, slash, resource_id = resource.partition("/")
    if not slash:
        raise ValidationError("resource", resource, "must be a type, a slash and an id, like plan/p1")
    return Key(resource_type, resource_id)


def find(service: LockService, resource: str) -> tuple[Lock | None, datetime]:
    """The lock of a resource, and the moment. A name that cannot be typed is found as it is shown, too.

    Raises:
        ValidationError: no lock is called so, and none could be.
        LockwatchError: several are shown so.
    """
    snapshot = service.snapshot()
    found = _called(snapshot.locks, resource)
    if len(found) > 1:
        fences = ", ".join(str(lock.id) for lock in found)
        raise LockwatchError(f"several locks are shown as {clean(resource)}, with the fences {fences}")
    if not found:
        validate_key(*parse(resource), service.resource_types)
    return (found[0] if found else None), snapshot.taken_at


def find_lease(service: LockService, resource: str, fence: int, owner: str | None) -> Lock:
    """The very lease that was seen: the one with this fence, on this resource, of this owner if one is given.

    Raises:
        ValidationError: no lock is called so, and none could be.
        LeaseChangedError: it is not that lease any more; the message says what is true now.
    """
    snapshot = service.snapshot()
    found = _called(snapshot.locks, resource)
    for lock in found:
        if lock.id == fence and owner in (None, lock.owner_id, clean(lock.owner_id)):
            return lock
    if not found:
        validate_key(*parse(resource), service.resource_types)
    meant = f"lease{f' of {clean(owner)}' if owner else ''} with fence {fence} on {clean(resource)}"
    raise LeaseChangedError(f"there is no {meant}; {_truth(resource, found, snapshot.taken_at)}")


def tell_holder(resource: str, lock: Lock | None, now: datetime) -> str:
    """What is true of a resource now, in words that are safe on a terminal."""
    if lock is None:
        return f"nobody holds {clean(resource)}"
    if lock.is_expired(now):
        return f"{clean(resource)} was left behind by {describe_holder(lock, now)}"
    by_hand = "" if lock.is_readable else f": `lockwatch release {clean(resource)} --fence {lock.id}`"
    return f"{clean(resource)} is held by {describe_holder(lock, now)}{by_hand}"


def tell_ended(lock: Lock, now: datetime) -> str:
    """That an owner's own lease had run out before it was released."""
    ago = duration(-lock.remaining(now))
    return f"the lock of {clean(lock.owner_id)} on {clean(lock.resource)} expired {ago} ago; it was cleared away"


def _called(locks: Iterable[Lock], resource: str) -> list[Lock]:
    """The lock of that name; if there is none, those that are shown by it."""
    exact = [lock for lock in locks if lock.resource == resource]
    return exact or [lock for lock in locks if clean(lock.resource) == resource]


def _truth(resource: str, found: list[Lock], now: datetime) -> str:
    return "; ".join(tell_holder(resource, lock, now) for lock in found) or tell_holder(resource, None, now)
