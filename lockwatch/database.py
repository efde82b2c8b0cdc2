"""Databases: what is asked of each, whatever its kind; from a URL to one of them; and services on them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from lockwatch import settings
from lockwatch.core.dialect import Clock
from lockwatch.core.errors import ValidationError
from lockwatch.core.opener import Opener
from lockwatch.core.service import LockService
from lockwatch.core.timestamps import utc_now

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

    from lockwatch.sqlite_file import SqliteFile

HEAD_REVISION: Final = "m4_002_plans"
"""The newest migration. Said here so that to compare with it costs no import of alembic; a test holds it true."""
EARLIER_REVISIONS: Final = ("m4_001_concurrency_locks",)
"""The migrations before it: what a database may be at that only needs an upgrade."""
VERSION_TABLE: Final = "lockwatch_version"
"""Alembic's table, of a name of its own: an application's database may have an `alembic_version`."""
UPGRADE_TIMEOUT_SECS: Final = 60.0
"""How long an upgrade waits for another upgrade of the same database."""

_RULE: Final = (
    "must be the URL of an SQLite file (sqlite:///locks.db), of a PostgreSQL database (postgresql://user@host/name)"
    " or of a MariaDB database (mariadb://user@host/name)"
)
_TWO_ENDS_OF_A_PASSWORD: Final = re.compile(r"[^:/]*:.*@.*@", re.DOTALL)
"""What comes after a URL's scheme if part of its password could be taken for its host, and shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """How one thing about a database stands; with a `hint` what to do, it is worth a warning."""

    name: str
    message: str
    hint: str | None = None


class Database(ABC):
    """One database: a file, or one of a server's."""

    is_server: ClassVar = False
    """Whether it is one of a server's, and each question takes its time."""

    @staticmethod
    def from_url(url: str, password: str | None = None) -> Database:
        """The database that a URL names.

        `sqlite:///relative.db`, `sqlite:////absolute.db`, `postgresql://user@host:5432/name` and
        `mariadb://user@host:3306/name` (or `mysql://`), with the driver's own options as parameters of a server's.

        Args:
            url: see above.
            password: for a server whose URL has none.

        Raises:
            ValidationError: it is no URL, or not one that lockwatch serves. The message holds no password.
            DatabaseError: it is a relative path, and the current folder is gone.
        """
        from lockwatch.sqlite_file import SqliteFile  # late: it knows this class

        path = SqliteFile.path_in(url)
        if path is not None:
            return SqliteFile.named(path)
        from lockwatch import mariadb_database, postgres_database  # late: they need SQLAlchemy, and files do not

        parsed = _parsed(url)
        for kind in (SqliteFile, postgres_database.PostgresDatabase, mariadb_database.MariadbDatabase):
            if parsed.drivername in kind.SCHEMES:
                return kind.at(parsed, password)
        raise ValidationError("database", _scheme(url), _RULE)

    @property
    @abstractmethod
    def name(self) -> str:
        """What people call it, safe to show; never with a password."""

    @abstractmethod
    def exists(self) -> bool:
        """Whether there is such a database. Raises DatabaseError if that cannot be told."""

    @abstractmethod
    def identity(self) -> Hashable:
        """What its address leads to now. Raises DatabaseError if that is nothing."""

    def identity_to_read(self) -> Hashable:
        """The same for who only reads."""
        return self.identity()

    @abstractmethod
    def why_unwritable(self) -> str | None:
        """Why it cannot be written from here, in words fit for a screen; None if it can.

        Raises:
            DatabaseError: it cannot be reached to be asked.
        """

    @abstractmethod
    def opener(self, *, read_only: bool = False) -> Opener:
        """The same as `engine`, with no more than a lock service needs. Raises as that does."""

    @abstractmethod
    def engine(self, *, read_only: bool = False) -> Engine:
        """An engine for a lock service: its connections are in autocommit and not pooled.

        Raises:
            DatabaseError: its driver is not installed.
        """

    @abstractmethod
    def transactional_engine(self, *, read_only: bool = False, kept: bool = False) -> Engine:
        """An engine for what is written beside the locks: its transactions may write from their start on.

        Its connections are not pooled; if it is to be `kept`, for one thread that asks again and again, a server's is,
        until `dispose`. Who only reads does so in AUTOCOMMIT. Raises as `engine` does.
        """

    @abstractmethod
    def revision(self) -> str | None:
        """The migration that the database is at; None if it has none of ours, or there is no such file.

        Raises:
            DatabaseError: it cannot be read.
        """

    def is_at_head(self) -> bool:
        """Whether nothing is left to upgrade."""
        return self.revision() == HEAD_REVISION

    @abstractmethod
    def upgrade(self) -> bool:
        """Bring it to the newest migration: whether anything was left to do.

        A table `locks` that fits is adopted with its rows. Several processes may do this at once; one does it.

        Raises:
            DatabaseError: it cannot be written, or has a table `locks` that does not fit. Nothing was changed.
        """

    @abstractmethod
    def upgrading(self) -> AbstractContextManager[Connection]:
        """A connection for migrations, while which no other upgrade of the database runs; committed at the end."""

    @abstractmethod
    def conditions(self) -> list[Condition]:
        """What of this kind of database is worth a look, for diagnostics.

        Raises:
            DatabaseError: it cannot be reached or asked.
        """


def connect(
    url: str | None = None,
    *,
    clock: Clock = utc_now,
    resource_types: Iterable[str] | None = None,
    read_only: bool | str = False,
    password: str | None = None,
) -> LockService:
    """A lock service on a database; nothing is opened before its first call.

    Args:
        url: `sqlite:///locks.db`, say, which is never made or upgraded unasked: `lockwatch db upgrade` does that.
            None: $LOCKWATCH_DATABASE_URL, then a file in the user's data folder, made and upgraded here.
        clock: aware now, for tests.
        resource_types: types allowed beside `plan` and `project`. None: $LOCKWATCH_RESOURCE_TYPES.
        password: for a server, if the URL has none.
        read_only: whether what could write raises ReadOnlyError instead, or why. No file is then made or upgraded.

    Raises:
        ValidationError: the URL or a type breaks a rule.
        DatabaseError: the default file cannot be made or upgraded.
    """
    types = settings.resource_types() if resource_types is None else resource_types
    database = locate(url, password) if read_only else open_database(url, password)
    opener = database.opener(read_only=bool(read_only))
    identity = database.identity_to_read if read_only else database.identity
    reason = "opened to read only" if read_only is True else read_only or None
    return LockService(opener, clock=clock, resource_types=types, identity=identity, read_only=reason)


def open_database(url: str | None = None, password: str | None = None) -> Database:
    """The database of `url`, of the environment, or the default one; only the last is made and upgraded.

    Raises:
        ValidationError: the URL breaks a rule.
        DatabaseError: the default file cannot be made or upgraded.
    """
    database = locate(url, password)
    if _is_default(url):
        _default().make_folder()
        if not database.is_at_head():
            database.upgrade()
    return database


def locate(url: str | None = None, password: str | None = None) -> Database:
    """The database of `url`, of the environment, or the default one; nothing is made or opened.

    Raises:
        ValidationError: the URL breaks a rule.
    """
    of_environment = settings.database_url()
    url = of_environment if url is None else url
    if url is None:
        return _default()
    try:
        return Database.from_url(url, password)
    except ValidationError as error:
        if url != of_environment or error.argument != "database":
            raise
        raise ValidationError(settings.DATABASE_URL, error.given, error.rule) from None


def upgrade(url: str | None = None, password: str | None = None) -> bool:
    """Make and upgrade the database of `url`: whether anything was left to do. See `Database.upgrade`."""
    database = locate(url, password)
    if _is_default(url):
        _default().make_folder()
    return database.upgrade()


def _is_default(url: str | None) -> bool:
    return url is None and settings.database_url() is None


def _default() -> SqliteFile:
    from lockwatch.sqlite_file import SqliteFile  # late: it knows this module

    return SqliteFile(settings.default_database())


def _parsed(url: str) -> URL:
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    if isinstance(url, str) and _TWO_ENDS_OF_A_PASSWORD.match(url.partition("://")[2]):
        raise ValidationError("database", _scheme(url), "must have an @ of its password, and any after it, as %40")
    try:
        parsed = make_url(url)
        parsed.get_backend_name()
    except (ArgumentError, ValueError, TypeError):
        raise ValidationError("database", _scheme(url), _RULE) from None
    return parsed


def _scheme(url: object) -> str:
    """What may be said of a URL that cannot be read: all before its `://`, since a password may come after it."""
    if not isinstance(url, str):
        return type(url).__name__
    scheme, slashes, _ = url.partition("://")
    if slashes:
        return f"{scheme}://…"
    return "…" if "@" in url or "=" in url else url  # a path, as a rule; a password comes with one of these
