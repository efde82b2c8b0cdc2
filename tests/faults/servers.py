"""Servers of the tests' own, on ports and in folders of their own: to be stopped, killed and started again."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Final, TypeVar

import psycopg
import pymysql  # type: ignore[import-untyped] # the driver has no types

from tests.contract.sites import MysqlSite, PostgresSite, Site

PATIENCE_SECS: Final = 30.0
ZONE: Final = "Europe/Berlin"
"""Their time zone: one that has summer time."""


class OwnServer(ABC):
    """A server with an empty database `faults`. Its data outlive a kill, though not a power failure."""

    kind: ClassVar[str]
    user: ClassVar[str]
    programs: ClassVar[tuple[str, ...]]
    folders: ClassVar[tuple[str, ...]]

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self._as_user: dict[str, Any] = {}
        if os.geteuid() == 0:  # the programs refuse to be root
            shutil.chown(folder, self.user)
            self._as_user = {"user": self.user, "group": pwd.getpwnam(self.user).pw_gid, "extra_groups": []}
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    def why_missing(cls) -> str | None:
        """Why it cannot be had on this machine; None if it can."""
        missing = [name for name in cls.programs if cls._find(name) is None]
        if missing:
            return f"needs a {cls.kind} server of its own, and {', '.join(missing)} is not installed"
        if os.geteuid() == 0 and cls.user not in {entry.pw_name for entry in pwd.getpwall()}:
            return f"needs a user {cls.user} to run a {cls.kind} server of its own"
        return None

    @property
    @abstractmethod
    def site(self) -> Site:
        """Its database."""

    def start(self) -> None:
        """Start it, and wait until it answers."""
        give_up_at = time.monotonic() + PATIENCE_SECS
        while self._process is None or not self._answers():
            assert time.monotonic() < give_up_at, f"{self.kind}: {(self.folder / 'log').read_text()[-2000:]}"
            if self._process is None or self._process.poll() is not None:
                self._launch()  # anew: after a kill the parts of the old one may still be there for a moment
            time.sleep(0.05)

    def stop(self) -> None:
        """End it in good order, without waiting for those who are connected."""
        self._end(signal.SIGINT if self.kind == "postgres" else signal.SIGTERM)

    def kill(self) -> None:
        """End it at once, as a crash does."""
        self._end(signal.SIGKILL)

    def run(self, *command: str) -> None:
        """Run a program as its user, in its folder."""
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False, **self._as_user)
        assert done.returncode == 0, f"{command[0]}: {done.stdout}{done.stderr}"

    def _launch(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                cwd=self.folder,
                env={**os.environ, "TZ": ZONE, "LC_ALL": "C"},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a ctrl-C is for whoever runs the tests
                **self._as_user,
            )

    @abstractmethod
    def prepare(self) -> None:
        """Make its data."""

    @abstractmethod
    def make_database(self) -> None:
        """Make the database, once it has started."""

    @abstractmethod
    def _command(self) -> list[str]: ...

    @abstractmethod
    def _answers(self) -> bool: ...

    @classmethod
    def _find(cls, program: str) -> str | None:
        return shutil.which(program, path=os.pathsep.join((os.environ.get("PATH", ""), *cls.folders)))

    @classmethod
    def _program(cls, name: str) -> str:
        found = cls._find(name)
        assert found is not None, f"{name} is not installed"
        return found

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.send_signal(number)
        try:
            process.wait(PATIENCE_SECS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class OwnPostgres(OwnServer):
    """A PostgreSQL server."""

    kind: ClassVar = "postgres"
    user: ClassVar = "postgres"
    programs: ClassVar = ("initdb", "postgres")
    folders: ClassVar = tuple(str(path) for path in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True))

    @property
    def site(self) -> Site:
        return PostgresSite(f"postgresql://postgres@127.0.0.1:{self.port}/faults")

    def prepare(self) -> None:
        data = str(self.folder / "data")
        self.run(self._program("initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")

    def make_database(self) -> None:
        with self._connect() as connection:
            connection.execute("CREATE DATABASE faults")

    def _command(self) -> list[str]:
        settings = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self.folder,
            "fsync": "off",
            "deadlock_timeout": "200ms",
            "timezone": ZONE,
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [self._program("postgres"), "-D", str(self.folder / "data"), *options]

    def _answers(self) -> bool:
        try:
            self._connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def _connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(f"postgresql://postgres@127.0.0.1:{self.port}/postgres", autocommit=True)


class OwnMariadb(OwnServer):
    """A MariaDB server."""

    kind: ClassVar = "mysql"
    user: ClassVar = "mysql"
    programs: ClassVar = ("mariadb-install-db", "mariadbd")
    folders: ClassVar = ("/usr/sbin", "/usr/local/sbin")

    @property
    def site(self) -> Site:
        return MysqlSite(f"mysql://root@127.0.0.1:{self.port}/faults")

    def prepare(self) -> None:
        without_password = "--auth-root-authentication-method=normal"  # noqa: S105 it says that there is none
        data = f"--datadir={self.folder / 'data'}"
        self.run(self._program("mariadb-install-db"), "--no-defaults", data, "--skip-test-db", without_password)

    def make_database(self) -> None:
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE faults CHARACTER SET latin1")

    def _command(self) -> list[str]:
        return [
            self._program("mariadbd"),
            "--no-defaults",
            f"--datadir={self.folder / 'data'}",
            f"--socket={self.folder / 'socket'}",
            f"--pid-file={self.folder / 'pid'}",
            f"--port={self.port}",
            "--bind-address=127.0.0.1",
            "--innodb-flush-log-at-trx-commit=2",
            "--skip-name-resolve",
        ]

    def _answers(self) -> bool:
        try:
            self._connect().close()
        except pymysql.err.OperationalError:
            return False
        return True

    def _connect(self) -> Any:
        return pymysql.connect(host="127.0.0.1", port=self.port, user="root", autocommit=True)


Own = TypeVar("Own", bound=OwnServer)
KINDS: Final[dict[str, type[OwnServer]]] = {kind.kind: kind for kind in (OwnPostgres, OwnMariadb)}


def own_server(kind: str) -> AbstractContextManager[OwnServer]:
    """A new server of a kind, as `running` gives it."""
    return running(KINDS[kind])


@contextmanager
def running(made: type[Own]) -> Iterator[Own]:
    """A new server that runs and has an empty database; ended and removed at the end, whatever happens."""
    with TemporaryDirectory(prefix="lockwatch-") as name:
        Path(name).chmod(0o755)  # the server's user goes through it
        folder = Path(name) / made.kind
        folder.mkdir()
        server = made(folder)
        try:
            server.prepare()
            server.start()
            server.make_database()
            yield server
        finally:
            server.kill()
