"""Locks in an SQLite file."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Hashable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from lockwatch import files, mounts
from lockwatch.core.dialect import UPGRADE_HINT
from lockwatch.core.errors import DatabaseError, ValidationError
from lockwatch.core.model import as_text
from lockwatch.core.sqlite import DIALECT as SQLITE
from lockwatch.core.text import clean
from lockwatch.core.timestamps import utc_now
from lockwatch.database import HEAD_REVISION, UPGRADE_TIMEOUT_SECS, VERSION_TABLE, Condition, Database
from lockwatch.migrating import one_upgrade, run_migrations

BUSY_TIMEOUT_SECS: Final = 5.0
"""How long a statement waits while another connection keeps the file locked."""


@dataclass(frozen=True, slots=True)
class SqliteFile(Database):
    """An SQLite file, by its absolute path."""

    path: Path
    SCHEMES: ClassVar = ("sqlite", "sqlite+pysqlite")

    @classmethod
    def at(cls, url: URL, _password: str | None = None) -> SqliteFile:
        """The file that a URL names: `sqlite:///relative.db` or `sqlite:////absolute.db`.

        Raises:
            ValidationError: it names none. The message holds no password.
        """
        rule = "must be the URL of an SQLite file, like sqlite:///locks.db"
        if url.host or url.username is not None:
            raise ValidationError("database", "sqlite://…", rule)
        if url.query:
            raise ValidationError("database", "sqlite://…", f"{rule}, without parameters")
        if not url.database or url.database.startswith((":", "file:")):
            raise ValidationError("database", str(url), f"{rule}; one in memory is seen by a single connection")
        if "\0" in url.database:
            raise ValidationError("database", str(url), f"{rule}, without a NUL character")
        return cls(Path(url.database).absolute())

    @property
    def name(self) -> str:
        """What people call it: the file's path, safe to show."""
        return clean(str(self.path))

    def identity(self) -> Hashable:
        """Which file the path leads to now: device and inode.

        Raises:
            DatabaseError: to none, or to something that is not a file.
        """
        try:
            found = os.stat(self.path)  # noqa: PTH116 before every call: half the time of Path.stat
        except OSError as error:
            raise DatabaseError(f"there is no database file {self.name} ({error.strerror}); {UPGRADE_HINT}") from error
        if not stat.S_ISREG(found.st_mode):
            raise DatabaseError(f"{self.name} is not a file")
        return found.st_dev, found.st_ino

    def identity_to_read(self) -> Hashable:
        """The same for who only reads: it tells of changes, too, to a file that had to be opened as one without any."""
        return self.identity(), files.stamp(self.path)

    def why_unwritable(self) -> str | None:
        """Why it cannot be written from here, in words fit for a screen; None if it can, or is not there yet."""
        return files.why_unwritable(self.path)

    def engine(self, *, read_only: bool = False) -> Engine:
        """An engine whose connections are in autocommit, are not pooled, and never create the file."""
        return create_engine(
            "sqlite://",
            creator=self._connect_to_read if read_only else lambda: self._connect("rw", BUSY_TIMEOUT_SECS),
            poolclass=NullPool,
            isolation_level="AUTOCOMMIT",
        )

    def transactional_engine(self, *, read_only: bool = False) -> Engine:
        """An engine for what is written beside the locks: its transactions may write from their start on.

        Its connections are not pooled, and never create the file. Who only reads does so in AUTOCOMMIT.
        """
        creator = self._connect_to_read if read_only else self._connect_if_there
        engine = create_engine("sqlite://", creator=creator, poolclass=NullPool)
        event.listen(engine, "connect", lambda driver, _record: SQLITE.prepare(driver, utc_now))
        event.listen(engine, "begin", _begin)
        if read_only:
            event.listen(engine, "connect", lambda driver, _record: driver.execute(SQLITE.forbid_writes))
        return engine

    def revision(self) -> str | None:
        """The migration that the database is at; None if it has none of ours, or does not exist.

        Raises:
            DatabaseError: it cannot be read.
        """
        if not self.exists():
            return None
        try:
            with closing(self._connect_to_read()) as connection:
                return _revision(connection)
        except sqlite3.Error as error:
            raise SQLITE.translate(error) from error

    def journal_mode(self) -> str:
        """How SQLite keeps the file whole: `wal`, where readers never wait for a writer, or another way.

        Raises:
            DatabaseError: it cannot be read.
        """
        try:
            with closing(self._connect_to_read()) as connection:
                return str(connection.execute("PRAGMA journal_mode").fetchone()[0])
        except sqlite3.Error as error:
            raise SQLITE.translate(error) from error

    def upgrade(self) -> bool:
        """Make the file if there is none, and bring it to the newest migration: whether anything was left to do.

        A table `locks` that fits is adopted with its rows. Several processes may do this at once; one does it.

        Raises:
            DatabaseError: it cannot be written, or has a table `locks` that does not fit. Nothing was changed.
        """
        if not self.exists() and not self.path.parent.is_dir():
            raise DatabaseError(f"there is no folder {clean(str(self.path.parent))} to make the file in")
        with one_upgrade, self.upgrading() as connection:
            before = _revision(connection.connection.driver_connection)  # type: ignore[arg-type]
            if before != HEAD_REVISION:
                run_migrations(connection)
        self._use_write_ahead_log()
        return before != HEAD_REVISION

    @contextmanager
    def upgrading(self) -> Iterator[Connection]:
        """See `Database.upgrading`. The file is made if there is none."""
        engine = create_engine(
            "sqlite://", creator=lambda: self._connect("rwc", UPGRADE_TIMEOUT_SECS), poolclass=NullPool
        )
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(SQLITE.begin))
        try:
            with engine.begin() as connection:
                yield connection
        except DBAPIError as error:
            raise SQLITE.translate(error.orig or error) from error.orig
        except sqlite3.Error as error:
            raise SQLITE.translate(error) from error

    def conditions(self) -> list[Condition]:
        """See `Database.conditions`: the journal, and the file system."""
        return [_journal(self.journal_mode()), *mounts.conditions(self.path)]

    def exists(self) -> bool:
        """Whether there is such a file.

        Raises:
            DatabaseError: there is something that is no file, or nobody can tell.
        """
        try:
            self.identity()
        except DatabaseError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
            return False
        return True

    def _connect_if_there(self) -> sqlite3.Connection:
        self.identity()  # it says more of a file that is missing than the driver does
        return self._connect("rw", BUSY_TIMEOUT_SECS)

    def _connect_to_read(self) -> sqlite3.Connection:
        self.identity()
        return self._connect("ro&immutable=1" if files.is_sealed(self.path) else "rw", BUSY_TIMEOUT_SECS)

    def _connect(self, mode: str, timeout: float) -> sqlite3.Connection:
        return sqlite3.connect(
            f"file://{quote(os.fsencode(self.path))}?mode={mode}",
            uri=True,
            timeout=timeout,
            isolation_level=None,
            check_same_thread=False,
        )

    def _use_write_ahead_log(self) -> None:
        # Readers then never wait for a writer. Where it cannot be had, locks are right all the same;
        # diagnostics tell.
        with suppress(sqlite3.OperationalError), closing(self._connect("rw", BUSY_TIMEOUT_SECS)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")

    def make_folder(self) -> None:
        """Make the folder of the file.

        Raises:
            DatabaseError: it cannot be made.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DatabaseError(f"the folder of {self.name} cannot be made ({error.strerror})") from error


def _begin(connection: Connection) -> None:
    if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
        connection.exec_driver_sql(SQLITE.begin)


def _revision(connection: sqlite3.Connection) -> str | None:
    (count,) = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = ?", (VERSION_TABLE,)).fetchone()
    if not count:
        return None
    row = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()  # noqa: S608  # nosec B608
    return as_text(row[0]) or None if row else None


def _journal(mode: str) -> Condition:
    if mode == "wal":
        return Condition(name="Journal", message="a write-ahead log")
    message = f"mode {clean(mode)}: a reader waits for a writer, and a writer for readers"
    hint = "`lockwatch db upgrade` turns a write-ahead log on, where the file system can have one"
    return Condition(name="Journal", message=message, hint=hint)
