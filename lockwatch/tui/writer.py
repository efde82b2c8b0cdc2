"""Carries out orders, one at a time, each in a thread of its own, and posts what became of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from lockwatch.core.model import Outcome
from lockwatch.core.service import LockService
from lockwatch.tui.messages import Progressed, Settled
from lockwatch.tui.orders import Chunk, Order, Verb
from lockwatch.tui.poller import reason_of

Post: TypeAlias = Callable[[Progressed | Settled], object]


class Writer:
    """The dashboard's one way to write. A daemon thread, as for the poller; `post` is called from it."""

    def __init__(self, service: LockService, post: Post) -> None:
        self._service = service
        self._post = post
        self._free = threading.Semaphore()
        self._cancelled = threading.Event()

    def carry_out(self, order: Order) -> bool:
        """Begin with an order; False if the one before it is not done."""
        if not self._free.acquire(blocking=False):
            return False
        self._cancelled.clear()
        threading.Thread(target=self._run, args=(order,), name="lockwatch-writer", daemon=True).start()
        return True

    def cancel(self) -> None:
        """Begin with no further portion of the order that is under way."""
        self._cancelled.set()

    def _run(self, order: Order) -> None:
        outcomes: list[Outcome] = []
        failure: str | None = None
        try:
            self._settle(order, outcomes)
        except Exception as error:  # noqa: BLE001 whatever a driver raises is told on the screen
            failure = reason_of(error)
        is_cancelled = failure is None and len(outcomes) < len(order.locks)
        self._free.release()
        self._tell(Settled(order, outcomes, failure, is_cancelled=is_cancelled))

    def _settle(self, order: Order, outcomes: list[Outcome]) -> None:
        """Portion by portion, each a transaction, so that what was done before a failure is known."""
        for chunk in order.chunks():
            if self._cancelled.is_set():
                return
            some = self._carry_out(order.verb, chunk)
            outcomes += some
            self._tell(Progressed(order, some, len(outcomes)))

    def _carry_out(self, verb: Verb, chunk: Chunk) -> list[Outcome]:
        match verb:
            case Verb.RELEASE:
                return self._service.release_all_exact(chunk.locks)
            case Verb.RENEW:
                return self._service.renew_all_exact(chunk.locks, chunk.ttl_seconds)
            case Verb.PURGE:
                return self._service.purge_exact(chunk.locks)

    def _tell(self, message: Progressed | Settled) -> None:
        with suppress(RuntimeError):  # the app's loop is closed: nobody is left to be told
            self._post(message)
