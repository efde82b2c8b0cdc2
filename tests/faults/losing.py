"""Bodies whose lease is lost under them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import lockwatch


@contextmanager
def losing() -> Iterator[list[lockwatch.LockExpiredError]]:
    """A body that must end in the loss of a lease: the error is in the list then."""
    told: list[lockwatch.LockExpiredError] = []
    try:
        yield told
    except lockwatch.LockExpiredError as error:
        told.append(error)
    assert told, "no loss was told"
