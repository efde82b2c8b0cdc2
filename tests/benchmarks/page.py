"""The figures as a page of the documentation."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

from tests.benchmarks.measuring import Figure, Line, Reading
from tests.benchmarks.peers import redis_version
from tests.benchmarks.places import MARIADB, POSTGRES, AbsentError
from tests.support import ROOT

PATH: Final = ROOT / "docs" / "benchmarks.md"
_HEAD: Final = """# Figures

Made by `{command}`, on {machine}.

Each is a ratio of two things that ran in turn in one run, or else says its unit. The machine had other work, too: a few
percent mean nothing. A bar is what the figure has to keep to.

"""
_TABLE: Final = """## {part}

| figure | measured | bar | remark |
|---|---:|---|---|
"""


def write(names: Sequence[str], lines: Iterable[tuple[str, Line]]) -> None:
    """Write the page: `lines` with the part each is of; `names` are those that were asked for, all if none was."""
    command = " ".join(("python -m tests.benchmarks", *names, "--write"))
    text, last = _HEAD.format(command=command, machine=machine()), ""
    for part, line in lines:
        if part != last:
            text += f"{'' if not last else chr(10)}{_TABLE.format(part=part)}"
            last = part
        text += f"| {' | '.join(_cells(line))} |\n"
    PATH.write_text(text, encoding="utf-8")


def machine() -> str:
    """What the figures were taken on, in one line."""
    programs = [f"{os.cpu_count()} cores", f"Python {platform.python_version()}", f"SQLite {sqlite3.sqlite_version}"]
    for place, ask in ((POSTGRES, "SHOW server_version"), (MARIADB, "SELECT version()")):
        try:
            with place.new() as site:
                ((version,),) = site.execute(ask)
        except AbsentError:
            continue
        programs.append(f"{place.title} {version.partition(' ')[0].partition('-')[0]}")
    return ", ".join((*programs, *redis_version()))


def _cells(line: Line) -> Sequence[str]:
    cells = line.cells() if isinstance(line, Figure | Reading) else (" ".join(str(line).split()), "", "", "")
    return [cell.replace("|", r"\|") for cell in cells]
