"""Locks in a database of a server: what is common to all servers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar, Final, NoReturn, Self
from urllib.parse import unquote

from sqlalchemy import URL, Connection, Engine, create_engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool, QueuePool

from lockwatch.core.dialects import dialect_of
from lockwatch.core.errors import DatabaseError, ValidationError
from lockwatch.core.model import as_text
from lockwatch.core.opener import Opener
from lockwatch.core.text import clean
from lockwatch.database import HEAD_REVISION, VERSION_TABLE, Condition, Database
from lockwatch.migrating import one_upgrade, run_migrations

READ_ONLY: Final = "this user may not change the locks"
_SENT_RULE: Final = "must be text in UTF-8, without a NUL character"


@dataclass(frozen=True, slots=True)
class Server(Database):
    """One of a server's databases."""

    is_server: ClassVar = True
    SCHEMES: ClassVar[tuple[str, ...]]
    DRIVER: ClassVar[str]
    """The scheme that names the driver, too."""
    MODULE: ClassVar[str]
    EXTRA: ClassVar[str]
    PORT: ClassVar[int]
    SOCKET: ClassVar[str]
    """The parameter that names a socket of this machine."""

    url: URL = field(repr=False)

    @classmethod
    def at(cls, url: URL, password: str | None = None) -> Self:
        """The database that a URL names.

        Raises:
            ValidationError: it names a server and none of its databases, or it or the password is what no driver takes.
        """
        shown = f"{url.drivername}://…"
        if not all(map(_can_be_sent, _texts_of(url))):
            raise ValidationError("database", shown, _SENT_RULE)
        if url.host and (socket := unquote(url.host)).startswith("/"):
            url = url.set(host=None).update_query_dict({cls.SOCKET: socket})
        if url.host and "[" in url.host:
            raise ValidationError("database", shown, "must name its host, in whole brackets or in none")
        if not url.database:
            example = f"{url.drivername}://host/name"
            raise ValidationError("database", shown, f"must name a database of the server, like {example}")
        if url.password is None and password is not None:
            if not _can_be_sent(password):
                raise ValidationError("password", "…", _SENT_RULE)
            url = url.set(password=password)
        return cls(url.set(drivername=cls.DRIVER))

    @property
    def name(self) -> str:
        """What people call it: `database@host:port`, or with the sockets or the hosts that a parameter names."""
        if elsewhere := self.url.query.get(self.SOCKET):
            return clean(f"{self.url.database}@{elsewhere if isinstance(elsewhere, str) else ','.join(elsewhere)}")
        host = self.url.host or "localhost"
        return clean(f"{self.url.database}@{f'[{host}]' if ':' in host else host}:{self.url.port or self.PORT}")

    def exists(self) -> bool:
        """Whether it has a table `locks`, ours or to be adopted: nothing else is made here."""
        with self._translated(), self.engine().connect() as connection:
            return self._has(connection, "locks")

    def identity(self) -> Hashable:
        """A server's database is never replaced under its name."""
        return None

    def opener(self, *, read_only: bool = False) -> Opener:  # noqa: ARG002 for files
        """See `Database.opener`. Without an engine, which asks a server several things that nobody needs to know."""
        failure: type[Exception] = self._driver().Error
        dialect = dialect_of("database", self.url.get_backend_name())

        def open_connection() -> Any:
            try:
                return self._connect_bare()
            except failure as error:
                raise dialect.translate(error) from error

        return Opener(dialect=dialect, failure=failure, open=open_connection)

    def engine(self, *, read_only: bool = False) -> Engine:  # noqa: ARG002 for files
        """See `Database.engine`. A connection that only reads is told so by the service."""
        return self._engine(isolation_level="AUTOCOMMIT")

    def transactional_engine(self, *, read_only: bool = False, kept: bool = False) -> Engine:
        """See `Database.transactional_engine`."""
        pool = {"poolclass": QueuePool, "pool_size": 1, "max_overflow": 0, "pool_pre_ping": True} if kept else {}
        engine = self._engine(isolation_level="READ COMMITTED", **pool)
        self._settle_transactions(engine, read_only)
        return engine

    def revision(self) -> str | None:
        """See `Database.revision`."""
        with self._translated(), self.engine().connect() as connection:
            return self._revision(connection)

    def why_unwritable(self) -> str | None:
        """See `Database.why_unwritable`."""
        with self._translated(), self.engine().connect() as connection:
            return None if self._may_write(connection) else READ_ONLY

    def upgrade(self) -> bool:
        """See `Database.upgrade`. The server keeps two upgrades from running at once."""
        with one_upgrade, self.upgrading() as connection:
            before = self._revision(connection)
            if before != HEAD_REVISION:
                run_migrations(connection)
        return before != HEAD_REVISION

    @contextmanager
    def upgrading(self) -> Iterator[Connection]:
        """See `Database.upgrading`."""
        engine = self._engine(isolation_level="READ COMMITTED")
        with self._translated(), engine.begin() as connection, self._upgrading_alone(connection):
            yield connection

    def ask(self, sql: str) -> Any:
        """The first row of an answer, for diagnostics; None if there is none.

        Raises:
            DatabaseError: it cannot be reached or asked.
        """
        with self._translated(), self.engine().connect() as connection:
            return connection.execute(text(sql)).first()

    def _driver(self) -> ModuleType:
        try:
            return import_module(self.MODULE)
        except ImportError as error:
            hint = f"pip install 'lockwatch[{self.EXTRA}]'"
            raise DatabaseError(f"the driver {self.MODULE} is not installed or does not load; {hint}") from error

    def _engine(self, **options: Any) -> Engine:
        self._driver()
        options = {"poolclass": NullPool, **self._engine_options(), **options}
        try:
            return create_engine(self.url, creator=self._connect, hide_parameters=True, **options)
        except ValueError as error:
            self._refuse_parameters(error)

    def _refuse_parameters(self, cause: Exception) -> NoReturn:
        """Say that the driver cannot take what the URL has after its question mark; a value may be a secret."""
        if isinstance(cause, UnicodeError):  # all else can be sent
            raise ValidationError("database", self.url.host, "must name a host that there can be") from cause
        names = ", ".join(self.url.query)
        if isinstance(cause, OSError):
            what = f"a file that a parameter of its URL names cannot be used ({clean(cause.strerror or str(cause))})"
            raise DatabaseError(f"{self.name}: {what}; the parameters are {clean(names)}") from cause
        raise ValidationError("database", names, "must have no parameters but those of its driver, each fit") from cause

    def _engine_options(self) -> dict[str, Any]:
        return {}

    def _arguments(self) -> dict[str, Any]:
        """What the URL says, as the driver takes it."""
        _, arguments = self.url.get_dialect()().create_connect_args(self.url)
        return dict(arguments)

    @abstractmethod
    def _connect(self) -> Any:
        """A new connection of the driver, for transactions."""

    def _connect_bare(self) -> Any:
        """A new connection of the driver, for a lock service, which makes it ready."""
        return self._connect()

    @abstractmethod
    def _settle_transactions(self, engine: Engine, read_only: bool) -> None:
        """Have an engine's transactions end in time, and write nothing if they only read."""

    @abstractmethod
    def _upgrading_alone(self, connection: Connection) -> Any:
        """A context in which no other upgrade of the database runs."""

    @abstractmethod
    def _has(self, connection: Connection, table: str) -> bool:
        """Whether there is such a table."""

    @abstractmethod
    def _may_write(self, connection: Connection) -> bool:
        """Whether the user may change locks here."""

    def _revision(self, connection: Connection) -> str | None:
        if not self._has(connection, VERSION_TABLE):
            return None
        found = connection.scalar(text(f"SELECT version_num FROM {VERSION_TABLE}"))  # noqa: S608  # nosec B608 # ours
        return as_text(found) or None

    @contextmanager
    def _translated(self) -> Iterator[None]:
        dialect = dialect_of("database", self.url.get_backend_name())
        try:
            yield
        except DBAPIError as error:
            cause = error.orig if isinstance(error.orig, Exception) else error
            raise dialect.translate(cause) from cause


def _texts_of(url: URL) -> Iterator[str]:
    """All of a URL that is sent to a server."""
    yield from filter(None, (url.username, url.password, url.host, url.database))
    yield from url.query
    yield from map("".join, url.query.values())


def _can_be_sent(text: object) -> bool:
    try:
        return isinstance(text, str) and b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def durability(is_kept: bool, hint: str) -> Condition:
    """Whether a server has on its disk what it has granted; else what to do."""
    if is_kept:
        return Condition(name="Durability", message="a grant is on the server's disk when it is given")
    message = "a server that crashes may forget its last grants, and their holders live on beside new ones"
    return Condition(name="Durability", message=message, hint=hint)
