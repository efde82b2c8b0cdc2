"""What changed between two looks at the table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from lockwatch.core.model import Key, Lock

_new: Final = tuple.__new__


class Lease(NamedTuple):
    """Which lease it is: a renewal keeps it, a takeover does not.

    The id alone would do in a table whose ids never come back; others are shown too.
    """

    id: int
    owner_id: str
    resource_type: str
    resource_id: str


def lease_of(lock: Lock) -> Lease:
    """Which lease a row shows."""
    # Past the constructor of a named tuple, which takes as long again: a batch asks for a hundred thousand.
    return _new(Lease, (lock.id, lock.owner_id, lock.resource_type, lock.resource_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """A lease that is no longer in the table, as it was last seen, and who has the resource now, if anybody."""

    lock: Lock
    successor: Lock | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A lease whose expiry is another one than before."""

    before: Lock
    after: Lock

    @property
    def is_renewal(self) -> bool:
        """Whether it lasts longer than before."""
        old, new = self.before.expires_at, self.after.expires_at
        return old is not None and new is not None and new > old


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """All that changed: leases that came, went, or got another expiry."""

    granted: tuple[Lock, ...] = ()
    gone: Mapping[Lease, Gone] = field(default_factory=dict)
    changed: tuple[Changed, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.granted or self.gone or self.changed)


def diff(came: Iterable[Lock], went: Iterable[Lock]) -> Changes:
    """What rows that came and rows that went mean for leases: a row that changed is in both."""
    before = {lease_of(lock): lock for lock in went}
    granted: list[Lock] = []
    changed: list[Changed] = []
    for lock in came:
        old = before.pop(lease_of(lock), None)
        if old is None:
            granted.append(lock)
        elif old.expires_text != lock.expires_text:
            changed.append(Changed(before=old, after=lock))
    holders: dict[Key, Lock] = {lock.key: lock for lock in granted}
    return Changes(
        granted=tuple(granted),
        gone={lease: Gone(lock=lock, successor=holders.get(lock.key)) for lease, lock in before.items()},
        changed=tuple(changed),
    )
