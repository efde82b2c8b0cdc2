"""Prints `name ratio bar` for every figure, or for those of the parts that are named; exit 1 if one misses its bar."""

from __future__ import annotations

import sys
from itertools import chain

from tests.benchmarks import core, dashboard, leases, peers, running, servers, waiting

PARTS = {
    "core": core,
    "leases": leases,
    "running": running,
    "servers": servers,
    "waiting": waiting,
    "peers": peers,
    "dashboard": dashboard,
}


def main(names: list[str]) -> int:
    """Measure, print, judge."""
    if unknown := [name for name in names if name not in PARTS]:
        print(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")  # noqa: T201 who typed it reads it
        return 2
    missed = 0
    for figure in chain.from_iterable(PARTS[name].figures() for name in names or PARTS):
        print(figure, flush=True)  # noqa: T201 what the command is for
        missed += not figure.is_met
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
