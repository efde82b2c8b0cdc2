"""Which columns a table has at which width."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

MAX_RESOURCE: Final = 60
MAX_OWNER: Final = 44
"""Names get no more than so many cells, or the eye loses the line on a wide screen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Cells of each column, in order; 0: it is not there. A blank stands before each but the first."""

    lead: int
    resource: int
    owner: int = 0
    state: int = 0
    left: int = 0
    bar: int = 0
    held: int = 0
    ttl: int = 0
    fence: int = 0

    @property
    def is_wide(self) -> bool:
        """Whether there is room for more than the state in small letters."""
        return self.owner > 0


@lru_cache(maxsize=8)
def columns_for(cells: int) -> Columns:
    """The columns of a table that is so many cells wide."""
    if cells >= 100:
        return _shared(cells, Columns(lead=4, resource=0, state=10, left=6, bar=9, held=6, ttl=6, fence=8))
    if cells >= 70:
        return _shared(cells, Columns(lead=4, resource=0, state=10, left=6, bar=7, held=6))
    if cells >= 50:
        return _shared(cells, Columns(lead=4, resource=0, state=10, left=5))
    if cells >= 30:
        return Columns(lead=3, resource=cells - 21, state=10, left=5)
    if cells >= 14:
        return Columns(lead=3, resource=cells - 10, left=5)
    return Columns(lead=min(2, cells), resource=max(0, cells - 2))


def _shared(cells: int, fixed: Columns) -> Columns:
    """Resource and owner share what the others leave."""
    others = (fixed.state, fixed.left, fixed.bar, fixed.held, fixed.ttl, fixed.fence)
    room = cells - 1 - fixed.lead - 1 - sum(column + 1 for column in others if column)
    owner = min(MAX_OWNER, room * 9 // 20)
    return Columns(
        lead=fixed.lead,
        resource=min(MAX_RESOURCE, room - owner),
        owner=owner,
        state=fixed.state,
        left=fixed.left,
        bar=fixed.bar,
        held=fixed.held,
        ttl=fixed.ttl,
        fence=fixed.fence,
    )
