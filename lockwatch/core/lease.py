"""A lease: a lock held while somebody works, that knows when it is lost.

The truth is local. A lease is valid until the deadline that was computed, by a clock that counts sleep, *before* its
last successful acquire or renewal was sent. A database that cannot be reached is no loss until then; after it, it is.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from lockwatch.core.errors import LockExpiredError, LossReason
from lockwatch.core.loss import Loss
from lockwatch.core.model import Lock
from lockwatch.core.monotonic import Monotonic
from lockwatch.core.text import clean

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.orm import Session

    from lockwatch.core.dialect import Clock, Dialect

log: Final = logging.getLogger("lockwatch")

OnLost: TypeAlias = Callable[["Lease"], object]


class Lease:
    """A lock that is kept alive while a body works under it. `LockService.hold` gives it.

    `lost` is an event to wait for or to look at; `lost_reason` then says why. Any thread may call all methods.
    `thread_id` is the thread that began to hold it.
    """

    def __init__(
        self, lock: Lock, ttl_seconds: float, deadline: float, *, monotonic: Monotonic, clock: Clock, dialect: Dialect
    ) -> None:
        self.ttl_seconds = ttl_seconds
        self.thread_id: Final = threading.get_ident()
        self.lost = threading.Event()
        self.is_cut_off = False
        """Whether its last renewal got no answer, or waits for it."""
        self.is_doubted = False
        """Whether a guard found it lost, which the next heartbeat has to make sure of."""
        self._lock = lock
        self._deadline = deadline
        self._monotonic = monotonic
        self._clock = clock
        self._dialect = dialect
        self._on_lost: list[OnLost] = []
        self._loss: Loss | None = None
        self._has_ended = False
        self._mutex = threading.Lock()
        self._pid = os.getpid()

    @property
    def lock(self) -> Lock:
        """The lock as of its last renewal."""
        return self._lock

    @property
    def fence(self) -> int:
        """The fencing token: greater than that of every earlier grant of the resource."""
        return self._lock.id

    @property
    def lost_reason(self) -> Loss | None:
        """Why it was lost; None while it is not."""
        return self._loss

    def remaining(self) -> float:
        """Seconds until it ends unless it is renewed, by this machine's clock; 0 once it is lost or given back."""
        if self.lost.is_set() or self._has_ended:
            return 0.0
        return max(0.0, self._deadline - self._monotonic())

    def check(self) -> None:
        """Raise if it is lost, or its hold is over. To be called between two steps of work.

        Raises:
            LockExpiredError: it is; `reason` and `holder` say why.
        """
        if self.is_lost() or self._has_ended:
            raise self.error(self._loss or Loss(reason=LossReason.REMOVED))

    def guard(self, connection: Connection | Session) -> None:
        """Make sure, inside the caller's transaction, that this lease holds, and goes on holding until that ends.

        To be called late, in a short transaction of the same database, right before what it protects is written.
        On SQLite it takes the write lock: all lock calls on the file wait until the transaction ends.
        Python's SQLite driver begins no transaction for `begin_nested()` if nothing was written before: the end of that
        savepoint is then the end of the guard. Guard before it, or write first.
        On PostgreSQL a savepoint that is rolled back takes along the guard that was had within it.

        Args:
            connection: the caller's SQLAlchemy connection or session, in a transaction.

        Raises:
            LockExpiredError: the lease is lost; roll back.
            ValidationError: the connection is in AUTOCOMMIT, or of another kind of database.
            DatabaseBusyError: retry the transaction.
        """
        from lockwatch.core.guarding import find_loss  # late: it needs SQLAlchemy, as its caller does

        self.check()
        loss = find_loss(connection, self._lock, self._dialect, self._clock)
        if loss is not None:
            self.is_doubted = True  # not lost on this word alone: the connection may be to another database
            raise self.error(loss)
        self.check()

    def error(self, loss: Loss) -> LockExpiredError:
        """The error that tells of a loss of this lease."""
        return LockExpiredError(self._lock.resource, self._lock.owner_id, loss.reason, None, loss.holder)

    def is_lost(self, early_seconds: float = 0.0) -> bool:
        """Whether it is lost, or will be in `early_seconds`, by a look at the clock.

        So a process that was stopped knows before its watchdog does.
        """
        if self.is_over(early_seconds):
            self.lose(Loss(reason=LossReason.UNREACHABLE if self.is_cut_off else LossReason.EXPIRED))
        return self._loss is not None

    def is_over(self, early_seconds: float = 0.0) -> bool:
        """Whether its deadline has passed, or will in `early_seconds`; signalled or not."""
        return self._monotonic() >= self._deadline - early_seconds

    @property
    def is_alive(self) -> bool:
        """Whether it is to be renewed. One that is shutting down is, until its body has ended."""
        is_held = self._loss is None or self._loss.reason is LossReason.SHUTTING_DOWN
        return is_held and not self._has_ended and not self.is_over()

    @property
    def deadline(self) -> float:
        """When it ends unless it is renewed, by the clock that counts sleep."""
        return self._deadline

    @property
    def is_of_this_process(self) -> bool:
        """Whether it was taken by this process, not by the parent that it was forked from."""
        return self._pid == os.getpid()

    def prolong(self, lock: Lock, deadline: float) -> bool:
        """Take note of a renewal, unless it came too late: False then."""
        with self._mutex:
            if not self.is_alive:
                return False
            self._lock = lock
            self._deadline = max(self._deadline, deadline)
            return True

    def lose(self, loss: Loss) -> None:
        """Signal the loss, once: what came first is the reason. After its hold nothing is lost."""
        with self._mutex:
            if self._loss is not None or self._has_ended:
                return
            self._loss = loss
            self.lost.set()
            callbacks, self._on_lost = self._on_lost, []
        for callback in callbacks:
            self._start(callback)

    def end(self) -> None:
        """Its hold is over: nobody is told of a loss any more."""
        with self._mutex:
            self._has_ended = True
            self._on_lost = []

    def tell(self, on_lost: OnLost) -> None:
        """Have `on_lost` called with this lease when it is lost, once, in a thread of its own; at once if it is."""
        with self._mutex:
            if self._loss is None:
                self._on_lost.append(on_lost)
                return
        self._start(on_lost)

    def forget(self, on_lost: OnLost) -> None:
        """Have `on_lost` called no more, once for each time that it was to be."""
        with self._mutex:
            if on_lost in self._on_lost:
                self._on_lost.remove(on_lost)

    def become_parents(self) -> None:
        """In a forked child: it is the parent's. No lock of the parent's threads is waited for."""
        self._mutex = threading.Lock()
        self._loss = self._loss or Loss(reason=LossReason.FORKED)
        self.lost = threading.Event()
        self.lost.set()

    def _start(self, on_lost: OnLost) -> None:
        thread = threading.Thread(target=self._call, args=(on_lost,), name="lockwatch on_lost", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no more threads: who watches this lease has others to watch
            log.exception("on_lost of %s was not called", clean(self._lock.resource))

    def _call(self, on_lost: OnLost) -> None:
        try:
            on_lost(self)
        except Exception:  # whatever a callback raises must hurt no other lease
            log.exception("on_lost of %s raised", clean(self._lock.resource))
