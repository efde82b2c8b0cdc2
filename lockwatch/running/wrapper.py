"""From the wish to run a command under a lock to its exit code."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from lockwatch.core.errors import LockwatchError
from lockwatch.core.holding import Hold
from lockwatch.core.lease import Lease
from lockwatch.core.model import Key
from lockwatch.core.service import LockService
from lockwatch.running.command import Command
from lockwatch.running.inbox import PASSED_ON, Inbox
from lockwatch.running.supervisor import Supervisor
from lockwatch.running.terminal import Terminal

RESOURCE: Final = "LOCKWATCH_RESOURCE"
OWNER: Final = "LOCKWATCH_OWNER"
FENCE: Final = "LOCKWATCH_FENCE"
_TICK_SECS: Final = 1.0


class EndedBySignalError(LockwatchError):
    """A signal came before the command was started: it was not."""

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by {signal.Signals(number).name} before the command was started")
        self.number = number


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be run under which lock."""

    key: Key
    owner_id: str
    command: tuple[str, ...]
    ttl_seconds: float
    wait_seconds: float


def run(service: LockService, order: Order) -> int:
    """Run a command while its lock is held: its exit code, or 128 and the number of the signal that ended it.

    For the main thread. The lock is released when the command has ended, whatever that left in the background.

    Raises:
        LockConflictError: somebody else holds the lock, still at the end of the wait. Nothing was run.
        LockExpiredError: the lock was lost. Nothing of the command's process group runs any more.
        CommandNotFoundError: there is no such command, or no interpreter for it.
        CommandNotExecutableError: it cannot be executed.
        EndedBySignalError: a signal came before the command was started.
        CtrlCError: the command ended by the ctrl+c of a person at the terminal.
    """
    with Inbox() as inbox, ExitStack() as stack:
        hold = service.hold(
            *order.key,
            order.owner_id,
            ttl_seconds=order.ttl_seconds,
            wait_seconds=order.wait_seconds,
            on_lost=lambda _: inbox.wake(),
        )
        stack.push(hold)
        lease = _enter(hold, service, inbox)
        terminal = stack.enter_context(Terminal())
        command = stack.enter_context(Command(order.command, _variables(lease)))
        return Supervisor(service, lease, command, inbox, terminal).supervise()


class _Entry(threading.Thread):
    """Enters a hold in a thread of its own, so that the main one can heed signals meanwhile."""

    def __init__(self, hold: Hold, when_over: Callable[[], None]) -> None:
        super().__init__(name="lockwatch waiter", daemon=True)
        self._hold = hold
        self._when_over = when_over
        self._lease: Lease | None = None
        self._error: BaseException | None = None
        self.is_over = False

    def run(self) -> None:
        try:
            self._lease = self._hold.__enter__()
        except BaseException as error:  # noqa: BLE001 raised by `result` instead
            self._error = error
        self.is_over = True
        self._when_over()

    def result(self) -> Lease:
        """The lease, after the end of the thread.

        Raises:
            LockwatchError: what entering raised.
        """
        if self._lease is None:
            raise self._error or LockwatchError("the lock was not waited for")
        return self._lease


def _enter(hold: Hold, service: LockService, inbox: Inbox) -> Lease:
    entry = _Entry(hold, inbox.wake)
    entry.start()
    ended_by = 0
    while not entry.is_over:
        number = _next_signal(inbox, _TICK_SECS)
        if number and ended_by:
            raise EndedBySignalError(number)  # the database hangs, and a person has no patience
        if number:
            ended_by = number
            service.drain(0)
    ended_by = ended_by or _next_signal(inbox, 0)
    if ended_by:
        raise EndedBySignalError(ended_by)
    return entry.result()


def _next_signal(inbox: Inbox, seconds: float) -> int:
    """The first signal that ends the waiting; 0 if none came. One that stops the job stops it here."""
    arrived = inbox.wait(seconds)
    if signal.SIGTSTP in arrived:
        os.kill(os.getpid(), signal.SIGSTOP)
    return next((number for number in arrived if number in PASSED_ON), 0)


def _variables(lease: Lease) -> dict[str, str]:
    lock = lease.lock
    return {RESOURCE: lock.resource, OWNER: lock.owner_id, FENCE: str(lock.id)}
