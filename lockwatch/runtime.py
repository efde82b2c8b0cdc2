"""The application container: what a process does about its locks when it starts and when it ends.

1. At its start, expired locks are cleared away, unless it is told to leave them.
2. At its end, whatever brings it about, nothing more is acquired, and every lease is marked as lost (shutting down).
3. Bodies that work under leases get some seconds to end. What ends them in the main thread is the exception that a
   signal raises there; elsewhere they look at their lease.
4. Then the locks of this process's owner are released, except those under which somebody still works.
5. Then what the signal would have done without all this is done.

A signal handler runs in the midst of whatever the main thread does, perhaps while that holds a mutex. So it takes none:
it puts the signal into a queue that may be used there, and a thread that waits for it does the rest.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import FrameType, TracebackType
from typing import Final, Self

from lockwatch.core.acquiring import validate_wait
from lockwatch.core.errors import DatabaseBusyError, LockwatchError
from lockwatch.core.holding import new_owner
from lockwatch.core.model import validate_name
from lockwatch.core.monotonic import elapsed
from lockwatch.core.service import SHUT_DOWN_GRACE_SECS, LockService
from lockwatch.core.text import clean
from lockwatch.database import connect
from lockwatch.signals import Nudge, SignalChain, is_main_thread, may_interrupt

log: Final = logging.getLogger("lockwatch")

RELEASE_PATIENCE_SECS: Final = 15.0
"""How long the end of a process waits for the releases after the grace: a database may hang."""
LOOK_AGAIN_SECS: Final = 0.02
"""How long the thread that ends everything sleeps between two looks at who still works."""
_NO_SIGNAL: Final = 0


class LockRuntime:
    """The locks of a process from its start to its end: `with LockRuntime(url) as runtime`. To be entered once.

    On exit, SIGTERM, SIGINT, SIGHUP and interpreter end, whatever comes first, it releases once what `owner_id` holds.
    Handlers that were there before still run: afterwards, or before it where only they can end a body in the main
    thread. Where the default action ends the process, SystemExit unwinds the main thread first. In a forked child
    nothing of this acts. Entered in a thread that is not the main one, it heeds no signals, and logs that.

    Args:
        database: a URL or None as for `lockwatch.connect`, or a service, which is shut down at the end.
        owner_id: who this process is to the locks; `host:pid:random` if not given.
        grace_seconds: how long bodies under a lease get to end, from 0 to a year.
        heeds_signals: False where something else does.
        clears_up: False where expired locks are left for people to see and to purge.

    Raises:
        ValidationError: the URL, the owner or the grace breaks a rule.
    """

    def __init__(
        self,
        database: str | LockService | None = None,
        *,
        owner_id: str | None = None,
        grace_seconds: float = SHUT_DOWN_GRACE_SECS,
        heeds_signals: bool = True,
        clears_up: bool = True,
    ) -> None:
        self.owner_id: Final = new_owner() if owner_id is None else validate_name("owner_id", owner_id)
        self._database = database
        self._grace_seconds = validate_wait(grace_seconds, "grace_seconds")
        self._heeds_signals = heeds_signals
        self._clears_up = clears_up
        self._service: LockService | None = None
        self._pid = 0
        self._chain = SignalChain(self._take)
        self._nudge = Nudge(lambda number: number not in self._taken and self._chain.has_now(number))
        self._taken: set[int] = set()
        self._inbox: SimpleQueue[int] = SimpleQueue()
        self._owed: list[int] = []
        self._unwinding = False
        self._main_thread_holds = False
        self._is_over = False
        self._handed_on = False
        self._left = threading.Event()
        self._done = threading.Event()

    @property
    def service(self) -> LockService:
        """The service, from entry on.

        Raises:
            LockwatchError: not entered yet.
        """
        if self._service is None:
            raise LockwatchError("the runtime is not entered yet")
        return self._service

    def __enter__(self) -> Self:
        if self._service is not None:
            raise LockwatchError("a runtime can be entered once")
        self._service = self._database if isinstance(self._database, LockService) else connect(self._database)
        try:
            if self._clears_up:
                self._clean_up()
        except BaseException:
            self._service.close()
            raise
        self._pid = os.getpid()
        atexit.register(self._leave)
        threading.Thread(target=self._serve, name="lockwatch runtime", daemon=True).start()
        if self._heeds_signals:
            self._heed_signals()
        return self

    def _heed_signals(self) -> None:
        if self._chain.install():
            self._nudge.start()
        else:
            log.warning("LockRuntime was not entered in the main thread: no signal will release its locks")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()
        if self._pid == os.getpid() and is_main_thread() and not self._handed_on:
            for number in self._owed:
                self._chain.act(number, None)

    def _clean_up(self) -> None:
        try:
            self.service.cleanup_expired()
        except DatabaseBusyError as error:  # whoever is next can do it
            log.warning("expired locks were not cleared away: %s", error)

    def _take(self, number: int, frame: FrameType | None) -> None:
        """The handler. It may have interrupted anything: no lock is taken, nothing logged, nobody waited for."""
        self._taken.add(number)
        if self._is_over or os.getpid() != self._pid:
            self._chain.act(number, frame)
            return
        if self._unwinding and self._chain.is_ctrl_c(number):
            return  # the first one does it
        if number not in self._owed:
            self._owed.append(number)
        self._inbox.put(number)
        if self._is_urgent(number) and may_interrupt(frame):
            self._interrupt(number, frame)

    def _is_urgent(self, number: int) -> bool:
        """Whether the main thread must be interrupted for it before the locks are released."""
        if self._chain.ends_work(number):
            return not self._unwinding and not self._left.is_set() and threading.main_thread().is_alive()
        return self._main_thread_holds and not self._chain.is_told_anyway(number)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self._unwinding = self._unwinding or self._chain.ends_work(number)
        if not self._chain.is_default(number):
            self._owed.remove(number)
        self._chain.unwind(number, frame)

    def _leave(self) -> None:
        """Have everything ended, and wait for that; what a signal owes is not done here."""
        if self._pid != os.getpid():
            return
        if is_main_thread():
            self._left.set()
        self._inbox.put(_NO_SIGNAL)
        self._done.wait(self._grace_seconds + RELEASE_PATIENCE_SECS)
        atexit.unregister(self._leave)
        if is_main_thread():
            self._chain.restore()
            self._nudge.stop()

    def _serve(self) -> None:
        """The thread that ends everything, once, when a signal or the exit asks for it first."""
        self._inbox.get()
        try:
            self._end()
        finally:
            self._hand_on()
            self._done.set()

    def _end(self) -> None:
        with _tried("not everybody was told that the process shuts down"):
            self.service.drain(0)
            self._wait_for_bodies()
        with _tried(f"not all locks of {clean(self.owner_id)} were released: they end by their TTL"):
            self._release()
        self.service.close()

    def _wait_for_bodies(self) -> None:
        give_up_at, main = elapsed() + self._grace_seconds, threading.main_thread().ident
        while elapsed() < give_up_at:
            leases = self.service.leases()
            self._main_thread_holds = any(lease.thread_id == main for lease in leases)
            urgent = [number for number in self._owed if self._is_urgent(number)]
            self._call_main_thread(urgent)
            if not leases and not urgent and (self._left.is_set() or not self._unwinding):
                return
            time.sleep(LOOK_AGAIN_SECS)

    def _release(self) -> None:
        working = {lease.fence for lease in self.service.leases() if lease.lock.owner_id == self.owner_id}
        if not working:
            with _tried("not all locks could be released together: they are released one by one"):
                self.service.release_all_for_owner(self.owner_id)
                return
        for lock in self.service.snapshot().locks:
            if lock.owner_id != self.owner_id or not lock.is_readable:
                continue
            if lock.id in working:
                log.warning("%s is still worked under: it ends by its TTL", clean(lock.resource))
                continue
            with _tried(f"{clean(lock.resource)} was not released: it ends by its TTL"):
                self.service.release_exact(lock)

    def _hand_on(self) -> None:
        self._is_over = True
        if self._owed and not self._left.is_set():
            self._handed_on = True
            self._call_main_thread(number for number in self._owed if not self._chain.is_told_anyway(number))

    def _call_main_thread(self, numbers: Iterable[int]) -> None:
        """Have the handler run once more: signals have to be acted on in the main thread."""
        main = threading.main_thread().ident
        for number in numbers:
            if main is not None:
                signal.pthread_kill(main, number)


@contextmanager
def _tried(failure: str) -> Iterator[None]:
    """A step whose failure is logged, so that the steps after it are taken all the same."""
    try:
        yield
    except LockwatchError as error:  # it says what is the matter: a trace of calls would only hide that
        log.warning("%s (%s)", failure, clean(str(error)))
    except Exception:
        log.exception(failure)
