"""Locks in an SQLite file."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Hashable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final
from urllib.parse import quote, unquote

from lockwatch import files, mounts
from lockwatch.core.dialect import UPGRADE_HINT
from lockwatch.core.errors import DatabaseError, ValidationError
from lockwatch.core.model import as_text
from lockwatch.core.opener import Opener
from lockwatch.core.sqlite import DIALECT as SQLITE
from lockwatch.core.text import clean
from lockwatch.database import HEAD_REVISION, UPGRADE_TIMEOUT_SECS, VERSION_TABLE, Condition, Database
from lockwatch.migrating import one_upgrade, run_migrations

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

BUSY_TIMEOUT_SECS: Final = 5.0
"""How long a statement waits while another connection keeps the file locked."""
PAGE_BYTES: Final = 1024
"""The page size of a file that is made here. A grant changes five pages, and each goes to the log as a whole: with
SQLite's 4096 it takes a third longer."""
_RULE: Final = "must be the URL of an SQLite file, like sqlite:///locks.db"


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
        if url.host or url.username is not None:
            raise ValidationError("database", "sqlite://…", _RULE)
        if url.query:
            raise ValidationError("database", "sqlite://…", f"{_RULE}, without parameters")
        return cls.named(url.database or "")

    @classmethod
    def named(cls, path: str) -> SqliteFile:
        """The file of that path, which may be relative.

        Raises:
            ValidationError: there can be none.
            DatabaseError: it is relative, and the current folder is gone.
        """
        if not path or path.startswith((":", "file:")):
            raise ValidationError(
                "database", f"sqlite:///{path}", f"{_RULE}; one in memory is seen by a single connection"
            )
        if "\0" in path:
            raise ValidationError("database", f"sqlite:///{path}", f"{_RULE}, without a NUL character")
        try:
            return cls(Path(path).absolute())
        except OSError as error:
            raise DatabaseError(f"{clean(path)} cannot be found from here: the current folder is gone") from error

    @classmethod
    def path_in(cls, url: str) -> str | None:
        """The path of a URL that is made of its scheme and a path, as SQLAlchemy understands it; None of any other."""
        scheme, _, path = url.partition(":///") if isinstance(url, str) else ("", "", "")
        return unquote(path) if scheme in cls.SCHEMES and "?" not in path else None

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
        from lockwatch import sqlite_engines  # late, here and below: it needs SQLAlchemy

        return sqlite_engines.in_autocommit(self._connect_to_read if read_only else self._connect)

    def opener(self, *, read_only: bool = False) -> Opener:
        """See `Database.opener`."""
        connect = self._connect_to_read if read_only else self._connect

        def open_connection() -> sqlite3.Connection:
            with _translated():
                return connect()

        return Opener(dialect=SQLITE, failure=sqlite3.Error, open=open_connection)

    def transactional_engine(self, *, read_only: bool = False, kept: bool = False) -> Engine:  # noqa: ARG002 for servers
        """An engine for what is written beside the locks: its transactions may write from their start on.

        Its connections are not pooled, and never create the file. Who only reads does so in AUTOCOMMIT.
        """
        from lockwatch import sqlite_engines

        if read_only:
            return sqlite_engines.transactional_to_read(self._connect_to_read)
        return sqlite_engines.transactional(self._connect_if_there)

    def revision(self) -> str | None:
        """The migration that the database is at; None if it has none of ours, or does not exist.

        Raises:
            DatabaseError: it cannot be read.
        """
        if not self.exists():
            return None
        with _translated(), closing(self._connect_to_read()) as connection:
            return _revision(connection)

    def journal_mode(self) -> str:
        """How SQLite keeps the file whole: `wal`, where readers never wait for a writer, or another way.

        Raises:
            DatabaseError: it cannot be read.
        """
        with _translated(), closing(self._connect_to_read()) as connection:
            return str(connection.execute("PRAGMA journal_mode").fetchone()[0])

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
        from lockwatch import sqlite_engines

        engine = sqlite_engines.writing(self._connect_to_make)
        with _translated(), sqlite_engines.unwrapped(), engine.begin() as connection:
            yield connection

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
        return self._connect()

    def _connect_to_read(self) -> sqlite3.Connection:
        self.identity()
        return self._connect("ro&immutable=1" if files.is_sealed(self.path) else "rw")

    def _connect_to_make(self) -> sqlite3.Connection:
        connection = self._connect("rwc", UPGRADE_TIMEOUT_SECS)
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")  # a file that has pages keeps theirs
        return connection

    def _connect(self, mode: str = "rw", timeout: float | None = None) -> sqlite3.Connection:
        return sqlite3.connect(
            f"file://{quote(os.fsencode(self.path))}?mode={mode}",
            uri=True,
            timeout=BUSY_TIMEOUT_SECS if timeout is None else timeout,
            isolation_level=None,
            check_same_thread=False,
        )

    def _use_write_ahead_log(self) -> None:
        # Readers then never wait for a writer. Where it cannot be had, locks are right all the same;
        # diagnostics tell.
        with suppress(sqlite3.OperationalError), closing(self._connect()) as connection:
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


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise SQLITE.translate(error) from error


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
