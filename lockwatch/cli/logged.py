"""What the library logs, told as complaints are: on one line that says which program it comes from."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from lockwatch.cli.answers import complain


class _Complaints(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        """Complain of it."""
        complain(record.getMessage())


@contextmanager
def complaining() -> Iterator[None]:
    """Within, warnings of the library are complaints; Python would print them bare, among what a command says."""
    log, complaints = logging.getLogger("lockwatch"), _Complaints(logging.WARNING)
    log.addHandler(complaints)
    try:
        yield
    finally:
        log.removeHandler(complaints)
