"""What a worker believes, written down as it happens: a line for each event, in a file of each process.

Times are seconds by the clock that all processes of a machine share and that counts its sleep. What is written early
(`sent`, `ended`) is written before the call, so that a worker which is killed in the call has said it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from lockwatch.core.monotonic import elapsed

SUFFIX: Final = ".journal"


class Journal:
    """One process's file. Each line is one write, so that no line is ever half there."""

    def __init__(self, folder: Path, name: str) -> None:
        self._file = os.open(folder / f"{name}{SUFFIX}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def granted(self, resource: str, fence: int, owner: str, sent: float, until: float) -> None:
        """A grant was asked for at `sent`, is answered now, and is believed in until then."""
        self._write(
            event="granted", resource=resource, fence=fence, owner=owner, sent=sent, answered=elapsed(), until=until
        )

    def renewed(self, resource: str, fence: int, until: float) -> None:
        """A lease is believed in for longer."""
        self._write(event="renewed", resource=resource, fence=fence, until=until)

    def ended(self, resource: str, fence: int) -> None:
        """A lease is believed in no longer: it is about to be released, or known to be lost."""
        self._write(event="ended", resource=resource, fence=fence, at=elapsed())

    def answered(self, kind: str, seconds: float, words: str = "") -> None:
        """A call that was no grant took so long and came to this: `conflict`, or an error's class and words."""
        self._write(event="answered", kind=kind, seconds=seconds, words=words)

    def crashed(self, trace: str) -> None:
        """What no caller should ever see came out of a call."""
        self._write(event="crashed", trace=trace)

    def _write(self, **event: object) -> None:
        os.write(self._file, json.dumps(event).encode() + b"\n")


def read(folder: Path) -> Iterator[dict[str, Any]]:
    """All events of all processes, each process's in order; with its name."""
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        for line in path.read_text().splitlines():
            yield {**json.loads(line), "process": path.stem}
