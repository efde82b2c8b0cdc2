"""From a URL to an engine; where the migrations are; upgrading to their head, and whether that is done."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections.abc import Hashable, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import NullPool

from lockwatch import files, settings
from lockwatch.core.dialect import UPGRADE_HINT, Clock
from lockwatch.core.errors import DatabaseError, ValidationError
from lockwatch.core.model import as_text
from lockwatch.core.service import LockService
from lockwatch.core.sqlite import DIALECT as SQLITE
from lockwatch.core.text import clean
from lockwatch.core.timestamps import utc_now

HEAD_REVISION: Final = "m4_002_plans"
"""The newest migration. Said here so that to compare with it costs no import of alembic; a test holds it true."""
EARLIER_REVISIONS: Final = ("m4_001_concurrency_locks",)
"""The migrations before it: what a database may be at that only needs an upgrade."""
VERSION_TABLE: Final = "lockwatch_version"
"""Alembic's table, of a name of its own: an application's database may have an `alembic_version`."""
BUSY_TIMEOUT_SECS: Final = 5.0
"""How long a statement waits while another connection keeps the file locked."""
UPGRADE_TIMEOUT_SECS: Final = 60.0
"""How long an upgrade waits for another upgrade of the same file."""

_one_upgrade: Final = threading.Lock()  # alembic keeps its context in module globals


@dataclass(frozen=True, slots=True)
class Database:
    """One database: an SQLite file, by its absolute path."""

    path: Path

    @classmethod
    def from_url(cls, url: str) -> Database:
        """The database that a URL names: `sqlite:///relative.db` or `sqlite:////absolute.db`.

        Raises:
            ValidationError: it is no URL, or not one that lockwatch serves. The message holds no password.
        """
        rule = "must be the URL of an SQLite file, like sqlite:///locks.db"
        try:
            parsed = make_url(url)
        except (ArgumentError, ValueError, TypeError):
            raise ValidationError("database", _scheme(url), rule) from None
        if parsed.drivername not in ("sqlite", "sqlite+pysqlite") or parsed.host or parsed.username is not None:
            raise ValidationError("database", _scheme(url), rule)
        if parsed.query:
            raise ValidationError("database", _scheme(url), f"{rule}, without parameters")
        if not parsed.database or parsed.database.startswith((":", "file:")):
            raise ValidationError("database", url, f"{rule}; one in memory is seen by a single connection")
        if "\0" in parsed.database:
            raise ValidationError("database", url, f"{rule}, without a NUL character")
        return cls(Path(parsed.database).absolute())

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
        if not self._is_there():
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

    def is_at_head(self) -> bool:
        """Whether nothing is left to upgrade."""
        return self.revision() == HEAD_REVISION

    def upgrade(self) -> bool:
        """Make the file if there is none, and bring it to the newest migration: whether anything was left to do.

        A table `locks` that fits is adopted with its rows. Several processes may do this at once; one does it.

        Raises:
            DatabaseError: it cannot be written, or has a table `locks` that does not fit. Nothing was changed.
        """
        if not self._is_there() and not self.path.parent.is_dir():
            raise DatabaseError(f"there is no folder {clean(str(self.path.parent))} to make the file in")
        engine = create_engine(
            "sqlite://", creator=lambda: self._connect("rwc", UPGRADE_TIMEOUT_SECS), poolclass=NullPool
        )
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(SQLITE.begin))
        try:
            with _one_upgrade, engine.begin() as connection:
                before = _revision(connection.connection.driver_connection)  # type: ignore[arg-type]
                if before != HEAD_REVISION:
                    _run_migrations(connection)
            self._use_write_ahead_log()
        except DBAPIError as error:
            raise SQLITE.translate(error.orig or error) from error.orig
        except sqlite3.Error as error:
            raise SQLITE.translate(error) from error
        return before != HEAD_REVISION

    def _is_there(self) -> bool:
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


def connect(
    url: str | None = None,
    *,
    clock: Clock = utc_now,
    resource_types: Iterable[str] | None = None,
    read_only: bool | str = False,
) -> LockService:
    """A lock service on a database; nothing is opened before its first call.

    Args:
        url: `sqlite:///locks.db`, say, which is never made or upgraded unasked: `lockwatch db upgrade` does that.
            None: $LOCKWATCH_DATABASE_URL, then a file in the user's data folder, made and upgraded here.
        clock: aware now, for tests.
        resource_types: types allowed beside `plan` and `project`. None: $LOCKWATCH_RESOURCE_TYPES.
        read_only: whether what could write raises ReadOnlyError instead, or why. No file is then made or upgraded.

    Raises:
        ValidationError: the URL or a type breaks a rule.
        DatabaseError: the default file cannot be made or upgraded.
    """
    types = settings.resource_types() if resource_types is None else resource_types
    database = locate(url) if read_only else open_database(url)
    engine = database.engine(read_only=bool(read_only))
    identity = database.identity_to_read if read_only else database.identity
    reason = "opened to read only" if read_only is True else read_only or None
    return LockService(engine, clock=clock, resource_types=types, identity=identity, read_only=reason)


def open_database(url: str | None = None) -> Database:
    """The database of `url`, of the environment, or the default one; only the last is made and upgraded.

    Raises:
        ValidationError: the URL breaks a rule.
        DatabaseError: the default file cannot be made or upgraded.
    """
    database = locate(url)
    if _is_default(url):
        _make_folder(database)
        if not database.is_at_head():
            database.upgrade()
    return database


def locate(url: str | None = None) -> Database:
    """The database of `url`, of the environment, or the default one; nothing is made or opened.

    Raises:
        ValidationError: the URL breaks a rule.
    """
    url = url if url is not None else settings.database_url()
    return Database(settings.default_database()) if url is None else Database.from_url(url)


def upgrade(url: str | None = None) -> bool:
    """Make and upgrade the database of `url`: whether anything was left to do. See `Database.upgrade`."""
    database = locate(url)
    if _is_default(url):
        _make_folder(database)
    return database.upgrade()


def migrations_path() -> Path:
    """The folder of the migrations: inside the package in a wheel, beside it in a checkout.

    In this order: beside a wheel's package there could be another project's `migrations`.
    """
    package = Path(__file__).parent
    inside = package / "migrations"
    return inside if inside.is_dir() else package.parent / "migrations"


def _is_default(url: str | None) -> bool:
    return url is None and settings.database_url() is None


def _make_folder(database: Database) -> None:
    try:
        database.path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatabaseError(f"the folder of {database.name} cannot be made ({error.strerror})") from error


def _begin(connection: Connection) -> None:
    if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
        connection.exec_driver_sql(SQLITE.begin)


def _revision(connection: sqlite3.Connection) -> str | None:
    (count,) = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = ?", (VERSION_TABLE,)).fetchone()
    if not count:
        return None
    row = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()  # noqa: S608  # nosec B608
    return as_text(row[0]) or None if row else None


def _run_migrations(connection: Connection) -> None:
    from alembic import command  # late: a third of a second, and only a first use needs it
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(migrations_path()).replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        words = clean(str(error))
        raise DatabaseError(f"the migrations of this lockwatch do not fit the database ({words})") from error


def _scheme(url: object) -> str:
    """What may be said of a URL that cannot be read: all before its `://`, since a password may come after it."""
    if not isinstance(url, str):
        return type(url).__name__
    scheme, slashes, _ = url.partition("://")
    if slashes:
        return f"{scheme}://…"
    return "…" if "@" in url or "=" in url else url  # a path, as a rule; a password comes with one of these
