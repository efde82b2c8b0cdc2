"""The leases that an operator marked, to settle them together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lockwatch.core.model import Lock
from lockwatch.tui.diff import Changes, Lease, lease_of


class Marks:
    """Leases that are marked. A lease that goes loses its mark; a renewal keeps it."""

    def __init__(self) -> None:
        self._leases: dict[Lease, None] = {}
        self._last: Lease | None = None

    def __len__(self) -> int:
        return len(self._leases)

    def __iter__(self) -> Iterator[Lease]:
        return iter(self._leases)

    def __contains__(self, lease: Lease) -> bool:
        return lease in self._leases

    @property
    def last(self) -> Lease | None:
        """The one that was marked or unmarked last: where a range begins."""
        return self._last

    def toggle(self, lock: Lock) -> None:
        """Mark a lease, or take its mark away."""
        lease = lease_of(lock)
        if lease in self._leases:
            del self._leases[lease]
        else:
            self._leases[lease] = None
        self._last = lease

    def add(self, locks: Iterable[Lock]) -> None:
        """Mark leases."""
        self._leases |= dict.fromkeys(map(lease_of, locks))

    def remove(self, locks: Iterable[Lock]) -> None:
        """Take their marks away."""
        for lock in locks:
            self._leases.pop(lease_of(lock), None)

    def clear(self) -> None:
        """Take all marks away."""
        self._leases.clear()
        self._last = None

    def see(self, changes: Changes) -> None:
        """Take the marks of leases that went."""
        if self._leases:
            for lease in changes.gone:
                self._leases.pop(lease, None)
