"""What must begin anew in a forked child, where no thread of the parent runs that could give a mutex back."""

from __future__ import annotations

import os
import weakref
from typing import Final, Protocol


class BeginsAnew(Protocol):
    """Something with mutexes or threads of its process."""

    def become_childs(self) -> None:
        """In a forked child: be as new, and wait for no thread of the parent."""


def after_fork(thing: BeginsAnew) -> None:
    """Have `thing` begin anew in every child, as long as it lives."""
    _things.add(thing)


def _in_child() -> None:
    for thing in list(_things):
        thing.become_childs()


_things: Final[weakref.WeakSet[BeginsAnew]] = weakref.WeakSet()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
