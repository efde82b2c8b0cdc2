"""Which locks a typed text selects."""

from __future__ import annotations

from dataclasses import dataclass, field

from lockwatch.core.model import Lock
from lockwatch.core.text import clean


@dataclass(frozen=True, slots=True)
class Filter:
    """Locks whose resource or owner holds every word of `text`, whatever its case, as they are shown."""

    text: str = ""
    _words: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_words", tuple(self.text.casefold().split()))

    def __bool__(self) -> bool:
        return bool(self._words)

    def matches(self, lock: Lock) -> bool:
        """Whether it selects this lock."""
        if not self._words:
            return True
        shown = f"{clean(lock.resource)}\n{clean(lock.owner_id)}".casefold()
        return all(word in shown for word in self._words)
