"""Watching over a command and the lease that it runs under: nothing of it runs without the lock."""

from __future__ import annotations

import os
import signal
from typing import Final

from lockwatch.core.errors import DatabaseError, LockExpiredError, LockwatchError, LossReason
from lockwatch.core.lease import Lease
from lockwatch.core.loss import Loss
from lockwatch.core.monotonic import elapsed
from lockwatch.core.service import LockService
from lockwatch.running.command import Command
from lockwatch.running.inbox import Inbox
from lockwatch.running.terminal import Terminal, is_interactive, signal_rest_of_job

TERM_SHARE: Final = 1 / 6
"""How much of the TTL before its lease's end a command is asked to end, if the lease could not be renewed."""
KILL_SHARE: Final = 1 / 12
"""How much of the TTL before its lease's end it is killed."""
TAKEN_AWAY_GRACE_SECS: Final = 1.0
"""How long a command gets to end whose lease was taken away: somebody else may work already."""
TICK_SECS: Final = 1.0
"""How long it sleeps at most: a sleep does not count the time that the machine sleeps."""
_ENDED_BY_CLOCK: Final = (LossReason.EXPIRED, LossReason.UNREACHABLE)
_KILL_AGAIN_SECS: Final = 0.1
_LOOK_AGAIN_SECS: Final = 0.05


class CtrlCError(LockwatchError):
    """A person pressed ctrl+c, which the command's group alone has seen, and the command ended by it."""

    exit_code = 128 + signal.SIGINT


class Supervisor:
    """Passes signals on to a command, stops and goes on with it, and ends it when its lease is lost."""

    def __init__(self, service: LockService, lease: Lease, command: Command, inbox: Inbox, terminal: Terminal) -> None:
        self._service = service
        self._lease = lease
        self._command = command
        self._inbox = inbox
        self._terminal = terminal
        self._loss: Loss | None = None
        self._kill_at = 0.0
        self._was_interrupted = False

    def supervise(self) -> int:
        """Wait for the command's end: its exit code, or 128 and the number of the signal that ended it.

        Raises:
            LockExpiredError: the lease was lost, or could not be renewed in time. All of the command's group is gone.
            CtrlCError: it ended by the ctrl+c of a person at the terminal.
        """
        if is_interactive():
            self._terminal.give(self._command.group)
        try:
            code = self._wait_for_end()
        finally:
            had_terminal = self._terminal.take_back(self._command.group)
        if self._loss is not None:
            self._end_group()
            raise self._lease.error(self._loss)
        if had_terminal and code == 128 + signal.SIGINT and not self._was_interrupted:
            raise CtrlCError
        return code

    def _wait_for_end(self) -> int:
        while True:
            stopped_by = self._command.look()
            if self._command.exit_code is not None:
                return self._command.exit_code
            if stopped_by is not None and self._loss is None:
                self._stop_too(stopped_by)
                continue
            for number in self._inbox.wait(self._patience()):
                if number != signal.SIGCHLD:
                    self._was_interrupted |= number == signal.SIGINT
                    self._command.send(number)
            self._mind_lease()

    def _patience(self) -> float:
        due = self._lease.deadline - self._lease.ttl_seconds * TERM_SHARE if self._loss is None else self._kill_at
        return min(max(0.0, due - elapsed()), TICK_SECS)

    def _mind_lease(self) -> None:
        if self._loss is None:
            self._find_loss()
        if self._loss is not None and elapsed() >= self._kill_at:
            self._command.send(signal.SIGKILL)
            self._kill_at = elapsed() + _KILL_AGAIN_SECS

    def _find_loss(self) -> None:
        now, ttl = elapsed(), self._lease.ttl_seconds
        loss = self._lease.lost_reason
        last_moment = self._lease.deadline - ttl * KILL_SHARE
        if loss is not None:
            grace = 0.0 if loss.reason in _ENDED_BY_CLOCK else min(TAKEN_AWAY_GRACE_SECS, ttl * KILL_SHARE)
            self._begin_end(loss, min(now + grace, last_moment))
        elif now >= self._lease.deadline - ttl * TERM_SHARE:
            self._begin_end(Loss(reason=LossReason.UNREACHABLE), last_moment)

    def _begin_end(self, loss: Loss, kill_at: float) -> None:
        self._loss, self._kill_at = loss, kill_at
        self._command.send(signal.SIGTERM)

    def _end_group(self) -> None:
        """The command has ended; give what it left behind the rest of its time, and end that too."""
        while self._command.has_group() and elapsed() < self._kill_at:
            self._inbox.wait(_LOOK_AGAIN_SECS)
        self._command.send(signal.SIGKILL)

    def _stop_too(self, number: int) -> None:
        """The command was stopped: give it the terminal if it wants that, else stop until a shell says to go on."""
        if number in (signal.SIGTTIN, signal.SIGTTOU) and self._terminal.give(self._command.group):
            self._command.send(signal.SIGCONT)
            return
        had_terminal = self._terminal.take_back(self._command.group)
        if had_terminal:
            signal_rest_of_job(signal.SIGTSTP)
        os.kill(os.getpid(), signal.SIGSTOP)
        self._go_on(had_terminal=had_terminal)

    def _go_on(self, *, had_terminal: bool) -> None:
        try:
            self._renew()
        except LockExpiredError as error:
            self._loss = self._lease.lost_reason or Loss(reason=error.reason, holder=error.holder)
            self._command.send(signal.SIGKILL)
            return
        if had_terminal:
            self._terminal.give(self._command.group)
        self._command.send(signal.SIGCONT)

    def _renew(self) -> None:
        """Make sure by a look at the table that the lease is still there, before the command goes on.

        Raises:
            LockExpiredError: it is not.
        """
        self._lease.check()
        lock, ttl, sent_at = self._lease.lock, self._lease.ttl_seconds, elapsed()
        try:
            renewed = self._service.renew(*lock.key, lock.owner_id, ttl)
        except DatabaseError:
            return  # what the clock says holds, as it does at any other time
        if renewed.id != lock.id:
            raise self._lease.error(Loss(reason=LossReason.TAKEN_OVER, holder=renewed))
        if not self._lease.prolong(renewed, sent_at + ttl):
            self._lease.check()
