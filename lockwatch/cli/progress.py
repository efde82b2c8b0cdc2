"""A progress bar for work that turns out to be long."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

PATIENCE_SECS: Final = 1.0
"""How long work may take before a bar is shown."""


@contextmanager
def progress(doing: str, total: int) -> Iterator[Callable[[int], None]]:
    """A function to call with how much of `total` is done. The bar is on stderr, and only on a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda done: None  # noqa: ARG005
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(doing, total=total)
    shown_from = time.monotonic() + PATIENCE_SECS

    def advance(done: int) -> None:
        bar.update(task, completed=done)
        if time.monotonic() >= shown_from:
            bar.start()  # does nothing once it is shown

    try:
        yield advance
    finally:
        bar.stop()
