"""What is printed: answers as text or JSON on stdout, complaints in one line on stderr."""

from __future__ import annotations

import errno
import json
import math
import shutil
import sys
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lockwatch.core.text import clean

if TYPE_CHECKING:
    from lockwatch.core.model import Lock


def say(*lines: str) -> None:
    """Print lines that are safe on a terminal, at once: what is listed is on its way before it is acted on.

    Raises:
        OSError: they cannot be written, or there is no stdout.
    """
    if sys.stdout is None:
        raise OSError(errno.EBADF, "stdout is closed")
    print("\n".join(lines), flush=True)  # noqa: T201 answers are printed here and nowhere else


def say_json(answer: object) -> None:
    """Print an answer as JSON. It is plain ASCII, so what a name holds is kept and yet harmless."""
    say(json.dumps(answer, indent=2, allow_nan=False))


def complain(message: str) -> None:
    """Print what is wrong, in one line that is safe on a terminal, on stderr."""
    if sys.stderr is not None:  # print would use stdout instead
        print(f"lockwatch: {clean(' '.join(message.split()))}", file=sys.stderr)  # noqa: T201 the same


def terminal_width() -> int | None:
    """How many cells a line has on stdout; None if it is no terminal, where nothing is to be shortened."""
    return shutil.get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else None


def lock_fields(lock: Lock, now: datetime) -> dict[str, Any]:
    """A lock as JSON has it, names as stored: seconds as numbers, moments as ISO-8601, null what cannot be told."""
    from lockwatch.core.state import state_of, ttl_of
    from lockwatch.listing import held_seconds

    ttl = ttl_of(lock)
    return {
        "resource": lock.resource,
        "resource_type": lock.resource_type,
        "resource_id": lock.resource_id,
        "owner_id": lock.owner_id,
        "fence": lock.id,
        "state": state_of(lock, now, ttl).value,
        "acquired_at": moment(lock.acquired_at),
        "expires_at": moment(lock.expires_at),
        "expires_text": lock.expires_text,
        "remaining_seconds": _number(lock.remaining(now)),
        "held_seconds": _number(held_seconds(lock, now)),
        "ttl_seconds": ttl,
    }


def moment(when: datetime | None) -> str | None:
    """A moment as JSON has it."""
    from lockwatch.core.timestamps import to_text

    return to_text(when) if when else None


def all_fields(locks: Iterable[Lock], now: datetime) -> list[dict[str, Any]]:
    """Several locks as JSON has them."""
    return [lock_fields(lock, now) for lock in locks]


def _number(seconds: float) -> float | None:
    return None if math.isnan(seconds) else seconds
