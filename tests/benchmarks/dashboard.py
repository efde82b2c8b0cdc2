"""The dashboard on a pseudo-terminal of 120 x 40: what it costs while it is left alone, and how soon it answers."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Final

from tests.benchmarks.crowds import crowd
from tests.benchmarks.measuring import Figure, seconds
from tests.benchmarks.ptys import Display, Pty, program
from tests.support import ROOT

FEW: Final = 1000
MANY: Final = 100_000
_SETTLED_SECS: Final = 3.0
_WATCHED_SECS: Final = 20.0
_MOVES: Final = 150
_LETTERS: Final = 40
_SORTS: Final = 30
_STARTS: Final = 7
_RESOURCE: Final = re.compile(r"(?:plan|project)/\S+")
_BARE: Final = """
from textual.app import App
from textual.widgets import Static

class Bare(App):
    def compose(self):
        yield Static("plan/nothing")

Bare().run()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """How fast this machine is just now, to read the other figures by."""

    milliseconds: float
    is_met: bool = True

    def __str__(self) -> str:
        return f"{'a million additions in pure Python, ms':<52} {self.milliseconds:5.0f}"


def figures() -> Iterator[Figure | Reference]:
    """Every figure of the dashboard, one after the other."""
    yield Reference(milliseconds=1000 * median(seconds(_additions) for _ in range(5)))
    with TemporaryDirectory() as folder:
        few = crowd(Path(folder) / "few.db", FEW)
        yield from _idle(few)
        yield _first_frame(few)
        many = crowd(Path(folder) / "many.db", MANY)
        yield from _many_idle(many)
        yield from _keys(many)
        yield _moving_while_it_changes(many)


def _idle(path: Path) -> Iterator[Figure]:
    with _dashboard(path) as opened:
        opened.rest(_SETTLED_SECS)
        core, written = opened.count(_WATCHED_SECS)
    yield _at_most("1k locks, idle: percent of a core", 100 * core, 1)
    yield _at_most("1k locks, idle: KB/s to the terminal", written / 1000, 6)


def _first_frame(path: Path) -> Figure:
    ours = [sys.executable, "-m", "lockwatch", "--database", f"sqlite:///{path}"]
    bare = [sys.executable, "-c", _BARE]
    _start(ours), _start(bare)
    ratio = median(_start(ours) / _start(bare) for _ in range(_STARTS))
    return _at_most("first frame with rows, over a bare Textual app's", ratio, 1.8)


def _many_idle(path: Path) -> Iterator[Figure]:
    with _dashboard(path) as opened:
        opened.rest(_SETTLED_SECS)
        core, _written = opened.count(_WATCHED_SECS)
        yield _at_most("100k locks, nothing changes: percent of a core", 100 * core, 1)
        yield _at_most("100k locks, nothing changes: MB", opened.megabytes(), 150)


def _keys(path: Path) -> Iterator[Figure]:
    with _dashboard(path) as opened:
        opened.rest(_SETTLED_SECS)
        yield _at_most("100k locks, moving: ms to paint, p99", _p99(_moves(opened)), 50)
        yield _at_most("100k locks, a letter of the filter: ms to paint, p99", _p99(_letters(opened)), 150)
        yield _at_most("100k locks, a sort: ms to paint, p99", _p99(_sorts(opened)), 150)


def _moving_while_it_changes(path: Path) -> Figure:
    with _dashboard(path) as opened, _crowd_at_work(path):
        opened.rest(_SETTLED_SECS)
        return _at_most("100k locks, 1 % changes a second: ms to move, p99", _p99(_moves(opened)), 80)


def _moves(opened: Pty) -> Iterator[float]:
    """Ten lines down, ten up, a screen down, a screen up, again and again; at last to the end and back."""
    keys = cycle(["j"] * 10 + ["k"] * 10 + ["\x1b[6~", "\x1b[5~"])
    yield from (opened.answer(key, _other(_under_cursor)) for key in (*islice(keys, _MOVES), "G", "g"))


def _letters(opened: Pty) -> Iterator[float]:
    """Numbers typed digit by digit and taken back again; each digit changes how many locks are shown."""
    opened.answer("/", _other(_filter_line))
    for number in range(731, 731 + 10 * _LETTERS // 6, 10):
        yield from (opened.answer(letter, _other(_shown)) for letter in str(number) + 3 * "\x7f")
    opened.answer("\x1b", _other(_filter_line))


def _sorts(opened: Pty) -> Iterator[float]:
    yield from (opened.answer("s", _other(_rows)) for _ in range(_SORTS))


def _other(part: Callable[[Display], object]) -> Callable[[Display, Display], bool]:
    """Whether a part of the screen is another than before."""
    return lambda before, after: part(before) != part(after)


def _under_cursor(display: Display) -> tuple[int, str]:
    """The line under the cursor and its resource: a lease that went and its successor have the same one."""
    lines = enumerate(display)
    return next(((y, found[0]) for y, line in lines if "▸" in line and (found := _RESOURCE.search(line))), (-1, ""))


def _has_rows(display: Display) -> bool:
    return any(_RESOURCE.search(line) for line in display)


def _filter_line(display: Display) -> str:
    return display[1]


def _shown(display: Display) -> str:
    """How many of how many locks are shown."""
    return display[1].rstrip().rpartition("  ")[2]


def _rows(display: Display) -> list[str]:
    return [found[0] for line in display if "▸" not in line and (found := _RESOURCE.search(line))]


def _p99(answers: Iterator[float]) -> float:
    """The 99th of a hundred answers, in milliseconds; what never came is infinite, and ends the waiting."""
    taken: list[float] = []
    for answer in answers:
        taken.append(answer)
        if answer == float("inf"):
            return answer
    return 1000 * quantiles(taken, n=100, method="inclusive")[-1]


def _start(arguments: list[str]) -> float:
    """Seconds until the first frame that has something in it which only a whole frame has."""
    began = time.perf_counter()
    with program(arguments) as opened:
        return opened.until(_has_rows) - began


@contextmanager
def _dashboard(path: Path) -> Iterator[Pty]:
    with program([sys.executable, "-m", "lockwatch", "--database", f"sqlite:///{path}"]) as opened:
        opened.until(_has_rows)
        yield opened


@contextmanager
def _crowd_at_work(path: Path) -> Iterator[None]:
    with subprocess.Popen([sys.executable, "-m", "tests.benchmarks.crowds", str(path), str(MANY)], cwd=ROOT) as process:
        try:
            yield
        finally:
            process.kill()


def _at_most(name: str, value: float, bar: float) -> Figure:
    return Figure(name=name, ratio=value, relation="<=", bar=bar)


def _additions() -> None:
    total = 0
    for number in range(1_000_000):
        total += number
