"""Polling the table: the same question again and again, answered cheaply while nothing changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockwatch.core.model import Lock, LockSnapshot

if TYPE_CHECKING:
    from lockwatch.core.connection import Connection
    from lockwatch.core.held import HeldTables


class Watcher:
    """One poller's view of the table, for one thread at a time. While nothing changed, no row is read again."""

    def __init__(self, tables: HeldTables) -> None:
        self._tables = tables
        self._connection: Connection | None = None
        self._version: object = None
        self._locks: tuple[Lock, ...] = ()

    def snapshot(self) -> LockSnapshot:
        """All locks now. `locks` is the very same tuple as before if the database did not change since.

        Raises:
            DatabaseError: it cannot be reached or used; the next call tries anew.
        """
        with self._tables.use() as table:
            taken_at = table.now()
            version = table.connection.data_version()
            if version is None or table.connection is not self._connection or version != self._version:
                self._locks = table.all()
                self._connection, self._version = table.connection, version
            return LockSnapshot(taken_at=taken_at, locks=self._locks)

    def close(self) -> None:
        """Close its connection."""
        self._tables.close()
