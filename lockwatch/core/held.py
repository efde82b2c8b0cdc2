"""The tables that a service holds open: on connections of its own, in autocommit, kept between calls.

A held connection with statements compiled once is several times as fast as a pool's checkout for each call, and
what a caller does with connections of its own (a transaction, an exhausted pool) cannot reach it.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Hashable
from contextlib import suppress
from time import monotonic
from types import TracebackType
from typing import Final, TypeAlias

from lockwatch.core.connection import Connection
from lockwatch.core.dialect import Clock, Dialect
from lockwatch.core.errors import DatabaseError, LockConflictError, LockExpiredError, LockwatchError, ReadOnlyError
from lockwatch.core.gate import Gate
from lockwatch.core.opener import Opener
from lockwatch.core.table import LockTable

Identity: TypeAlias = Callable[[], Hashable]
"""Tells what the database's address leads to at this moment; DatabaseError if it leads nowhere."""

MAX_IDLE: Final = 8
"""How many connections stay open between calls; more are open only while more threads call at once."""

_abandoned: Final[list[LockTable]] = []
"""A parent's tables, seen from a forked child: to close them, or let them be collected, would hurt the parent."""


_ANSWERS: Final = (LockConflictError, LockExpiredError)


class Use:
    """The table for one call. Its connection is kept afterwards unless the call failed for the database's sake."""

    __slots__ = ("_even_closed", "_table", "_tables")

    def __init__(self, tables: HeldTables, even_closed: bool) -> None:
        self._tables = tables
        self._even_closed = even_closed

    def __enter__(self) -> LockTable:
        _gate.enter(self)
        try:
            self._table = self._tables.take(self._even_closed)
        except BaseException:
            _gate.leave(self)
            raise
        return self._table

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        try:
            if kind is None or issubclass(kind, _ANSWERS):
                self._tables.give_back(self._table)
            else:
                self._table.connection.close()
        finally:
            _gate.leave(self)


class HeldTables:
    """A service's open tables. Any number of threads may use them at once; each gets one of its own.

    `use` is for calls that may write, and refuses them all if there is a reason why the tables are `read_only`.
    """

    def __init__(self, opener: Opener, clock: Clock, identity: Identity | None, read_only: str | None = None) -> None:
        self.read_only: Final = read_only
        self._clock = clock
        self._identity = identity or (lambda: None)
        self._opener = opener
        self._idle: deque[LockTable] = deque()
        self._sweep: threading.Timer | None = None
        self._owner_pid = os.getpid()
        self._closed = False
        _opened.add(self)

    @property
    def dialect(self) -> Dialect:
        """The ways of their database."""
        return self._opener.dialect

    def use(self, *, even_closed: bool = False) -> Use:
        """The table for one call that may write. After `close`, only what clears up may still begin.

        Raises:
            ReadOnlyError: nothing may be written.
        """
        self.require_writable()
        return Use(self, even_closed)

    def look(self) -> Use:
        """The table for one call that only reads."""
        return Use(self, even_closed=False)

    def require_writable(self) -> None:
        """Raise ReadOnlyError if nothing may be written: the one gate for all that could."""
        if self.read_only is not None:
            raise ReadOnlyError(self.read_only)

    def close(self) -> None:
        """Close what is idle now, and what is in use as soon as its call ends. No other call can start."""
        self._closed = True
        self._leave_to_parent()
        self.close_idle()
        if self._sweep is not None:
            self._sweep.cancel()

    def take(self, even_closed: bool = False) -> LockTable:
        """An open table that nobody else uses until it is given back.

        Raises:
            DatabaseError: the database cannot be opened, or its file is not the one that was opened before.
            LockwatchError: closed.
        """
        if self._closed and not even_closed:
            raise LockwatchError("the lock service is closed")
        self._leave_to_parent()
        try:
            identity = self._identity()
        except DatabaseError:
            self.close_idle()
            raise
        table = self._pop_idle()
        if table is None:
            return self._open(identity)
        if table.connection.identity != identity:
            table.connection.close()
            self.close_idle()
            raise DatabaseError("the database file was replaced since it was opened; the next call opens the new one")
        return table

    def _pop_idle(self) -> LockTable | None:
        """What was used last, unless the database has hung up on it since."""
        try:  # before every call: a quarter of the time of suppress()
            while (table := self._idle.pop()).connection.is_gone():
                table.connection.close()
        except IndexError:
            return None
        return table

    def _open(self, identity: Hashable) -> LockTable:
        opener = self._opener
        connection = Connection(opener.open(), opener.failure, opener.dialect, identity)
        try:
            connection.prepare(self._clock)
            if self.read_only is not None:
                connection.forbid_writes()
            if self._identity() != identity:
                raise DatabaseError("the database file was replaced while it was opened")
        except BaseException:
            connection.close()
            raise
        return LockTable(connection)

    def give_back(self, table: LockTable) -> None:
        """Keep a table for the next call."""
        if len(self._idle) >= MAX_IDLE:
            table.connection.close()
            return
        table.connection.idle_since = monotonic()
        self._idle.append(table)
        if self._closed:
            self.close_idle()
        elif self._sweep is None and (patience := self.dialect.idle_secs) is not None:
            self._sweep_in(patience)

    def close_idle(self) -> None:
        """Close what nobody uses now. The next calls open anew."""
        with suppress(IndexError):
            while True:
                self._idle.pop().connection.close()

    def _sweep_in(self, seconds: float) -> None:
        self._sweep = threading.Timer(seconds, self.close_long_idle)
        self._sweep.daemon = True
        self._sweep.name = "lockwatch idle connections"
        with suppress(RuntimeError):  # no more threads: then they stay open
            self._sweep.start()
        if self._closed:  # meanwhile, and what was there to cancel then was cancelled
            self._sweep.cancel()

    def close_long_idle(self) -> None:
        """Close what nobody has used for a while, and come back for the others."""
        patience = self.dialect.idle_secs or 0.0
        self._sweep = None
        with suppress(IndexError):
            while (left := self._idle[0].connection.idle_since + patience - monotonic()) <= 0:
                self._idle.popleft().connection.close()
            self._sweep_in(left)

    def _leave_to_parent(self) -> None:
        """In a forked child, let go of the connections that it inherited."""
        if os.getpid() != self._owner_pid:
            _abandoned.extend(self._idle)
            self._idle = deque()
            self._sweep = None
            self._owner_pid = os.getpid()


def _before_fork() -> None:
    _gate.shut()
    for tables in list(_opened):
        tables.close_idle()


def _in_parent() -> None:
    _gate.open()


def _in_child() -> None:
    global _gate  # noqa: PLW0603 threads of the parent that were inside are not here to leave
    _gate = Gate()


_opened: Final[weakref.WeakSet[HeldTables]] = weakref.WeakSet()
_gate = Gate()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)
