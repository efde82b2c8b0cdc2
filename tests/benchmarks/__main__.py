"""Prints `name ratio bar` for every figure; exit 1 if one misses its bar."""

from __future__ import annotations

import sys
from itertools import chain

from tests.benchmarks import core, leases, running


def main() -> int:
    """Measure, print, judge."""
    missed = 0
    for figure in chain(core.figures(), leases.figures(), running.figures()):
        print(figure, flush=True)  # noqa: T201 what the command is for
        missed += not figure.is_met
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
