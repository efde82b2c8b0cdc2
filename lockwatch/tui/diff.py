"""What changed between two looks at the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from lockwatch.core.model import Lock


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
    return Lease(lock.id, lock.owner_id, lock.resource_type, lock.resource_id)


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

    granted: tuple[Lock, ...]
    gone: tuple[Gone, ...]
    changed: tuple[Changed, ...]


def diff(before: Mapping[Lease, Lock], after: Mapping[Lease, Lock]) -> Changes:
    """What changed from `before` to `after`."""
    missing = [lock for lease, lock in before.items() if lease not in after]
    holders = {lock.key: lock for lock in after.values()} if missing else {}
    return Changes(
        granted=tuple(lock for lease, lock in after.items() if lease not in before),
        gone=tuple(Gone(lock=lock, successor=holders.get(lock.key)) for lock in missing),
        changed=tuple(
            Changed(before=old, after=new)
            for lease, new in after.items()
            if (old := before.get(lease)) is not None and old.expires_text != new.expires_text
        ),
    )
