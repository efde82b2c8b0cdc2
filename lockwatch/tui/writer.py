"""Carries out orders, one at a time, each in a thread of its own, and posts what became of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

from lockwatch.core.exact import CHUNK_SIZE
from lockwatch.core.model import Outcome
from lockwatch.core.service import LockService
from lockwatch.tui.messages import Settled
from lockwatch.tui.orders import Order, Verb
from lockwatch.tui.poller import reason_of


class Writer:
    """The dashboard's one way to write. A daemon thread, as for the poller; `post` is called from it."""

    def __init__(self, service: LockService, post: Callable[[Settled], object]) -> None:
        self._service = service
        self._post = post
        self._free = threading.Semaphore()

    def carry_out(self, order: Order) -> bool:
        """Begin with an order; False if the one before it is not done."""
        if not self._free.acquire(blocking=False):
            return False
        threading.Thread(target=self._run, args=(order,), name="lockwatch-writer", daemon=True).start()
        return True

    def _run(self, order: Order) -> None:
        outcomes: list[Outcome] = []
        failure: str | None = None
        try:
            for some in self._settle(order):
                outcomes += some
        except Exception as error:  # noqa: BLE001 whatever a driver raises is told on the screen
            failure = reason_of(error)
        self._free.release()
        with suppress(RuntimeError):  # the app's loop is closed: nobody is left to be told
            self._post(Settled(order, outcomes, failure))

    def _settle(self, order: Order) -> Iterator[list[Outcome]]:
        """In transactions of bounded size, so that what was done before a failure is known."""
        match order.verb:
            case Verb.RELEASE:
                yield from ([self._service.release_exact(lock)] for lock in order.locks)
            case Verb.RENEW:
                yield from ([self._service.renew_exact(lock, order.ttl_seconds)] for lock in order.locks)
            case Verb.PURGE:
                starts = range(0, len(order.locks), CHUNK_SIZE)
                yield from (self._service.purge_exact(order.locks[start : start + CHUNK_SIZE]) for start in starts)
