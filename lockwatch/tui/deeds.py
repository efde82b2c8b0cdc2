"""What this dashboard did, so that what a look shows of it is told as its doing."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from typing import Final

from lockwatch.core.model import Lock, Outcome
from lockwatch.tui.diff import Lease, lease_of

_LOOKS: Final = 3
"""A deed is remembered for so many looks: the first that begins after its answer shows it."""


class Deeds:
    """Which leases this dashboard ended, and which expiries it set; each until looks have shown it."""

    def __init__(self) -> None:
        self._by_lease: deque[dict[Lease, str]] = deque([{}], maxlen=_LOOKS)
        self._by_id: deque[dict[Hashable, str]] = deque([{}], maxlen=_LOOKS)

    def note(self, done: str, outcomes: Iterable[Outcome]) -> None:
        """Remember an answer; `done` is a participle. A renewal that changed nothing is no deed."""
        for outcome in outcomes:
            current = outcome.now
            if outcome.is_done and (current is None or current.expires_text != outcome.seen.expires_text):
                deed = done if current is None else current.expires_text
                self._by_lease[-1][lease_of(outcome.seen)] = deed
                self._by_id[-1][outcome.seen.id] = deed

    def pass_look(self) -> None:
        """A look was told: forget what should have been shown by now."""
        self._by_lease.append({})
        self._by_id.append({})

    def of(self, lease: Lease) -> str | None:
        """What was done to a lease last: a participle, or the expiry that was set, as stored."""
        return next((deeds[lease] for deeds in reversed(self._by_lease) if lease in deeds), None)

    def renewed(self, lock: Lock) -> bool:
        """Whether its expiry was set from here."""
        return self.of(lease_of(lock)) == lock.expires_text

    def by_id(self) -> Mapping[Hashable, str]:
        """The same by ids alone, for many at once: in a table where one is there twice that may be another's."""
        together: dict[Hashable, str] = {}
        for deeds in self._by_id:
            together = together | deeds if together and deeds else together or deeds
        return together
