"""Prints `name value bar` for every figure, or for those of the parts that are named; exit 1 if one misses its bar.

`--write` makes docs/benchmarks.md of them, too.
"""

from __future__ import annotations

import sys

from tests.benchmarks import core, dashboard, leases, page, peers, running, servers, waiting
from tests.benchmarks.measuring import Line

PARTS = {
    "core": core,
    "servers": servers,
    "leases": leases,
    "waiting": waiting,
    "peers": peers,
    "running": running,
    "dashboard": dashboard,
}


def main(arguments: list[str]) -> int:
    """Measure, print, judge."""
    names = [argument for argument in arguments if argument != "--write"]
    if unknown := [name for name in names if name not in PARTS]:
        print(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")  # noqa: T201 who typed it reads it
        return 2
    lines: list[tuple[str, Line]] = []
    for name in names or PARTS:
        for figure in PARTS[name].figures():
            print(figure, flush=True)  # noqa: T201 what the command is for
            lines.append((name, figure))
    if "--write" in arguments:
        page.write(names, lines)
    return 0 if all(line.is_met for _, line in lines) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
