"""The lock core on PostgreSQL and MariaDB against their drivers, as on SQLite."""

from __future__ import annotations

from collections.abc import Iterator

from tests.benchmarks.core import figures_of
from tests.benchmarks.measuring import Line, absent
from tests.benchmarks.places import MARIADB, POSTGRES, AbsentError

BARS = ((POSTGRES, 0.80), (MARIADB, 0.75))
CALLS = 100


def figures() -> Iterator[Line]:
    """Every figure of the core on each server that is there."""
    for place, bar in BARS:
        try:
            yield from figures_of(place, CALLS, bar)
        except AbsentError as reason:
            yield absent(place.title, str(reason))
