"""Connections to servers: replaced when dead, closed when idle, given up when silent, and through a pooler."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Self

import pytest
from sqlalchemy import create_engine, make_url
from sqlalchemy.pool import NullPool

import lockwatch
from lockwatch import LockService, plans
from lockwatch.core import mariadb
from lockwatch.core.dialect import IDLE_SECS
from lockwatch.core.dialects import dialect_of
from lockwatch.core.held import MAX_IDLE
from lockwatch.database import Database
from tests.contract.sites import SERVERS, Site, do_without, on

PATIENCE_SECS: Final = 10.0


def _end_others(site: Site) -> None:
    if site.kind == "postgres":
        others = "datname = current_database() AND pid <> pg_backend_pid()"
        site.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
        while site.execute(f"SELECT 1 FROM pg_stat_activity WHERE {others}"):
            time.sleep(0.01)
        return
    with site.raw() as run:
        find = "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()"
        for (number,) in run(find):
            run(f"KILL {number}")
        while run(find):
            time.sleep(0.01)


@on(*SERVERS)
def test_the_next_call_replaces_a_connection_that_the_server_ended(service: LockService, site: Site) -> None:
    lock = service.acquire("plan", "p1", "a")
    _end_others(site)
    assert service.get("plan", "p1") == lock
    _end_others(site)
    assert service.acquire("plan", "p2", "a").owner_id == "a"


@on(*SERVERS)
def test_connections_that_nobody_uses_close(site: Site) -> None:
    assert dialect_of("database", Database.from_url(site.url).engine().dialect.name).idle_secs == IDLE_SECS == 60
    with lockwatch.connect(site.url) as service:
        service.now()
        (table,) = service._tables._idle
        _sweep(service)
        assert len(service._tables._idle) == 1
        table.connection.idle_since -= IDLE_SECS
        _sweep(service)
        assert len(service._tables._idle) == 0
        assert service.get("plan", "p1") is None
        assert len(service._tables._idle) == 1


def _sweep(service: LockService) -> None:
    """What its timer does when it is time, without the timer."""
    timer = service._tables._sweep
    assert timer is not None
    timer.cancel()
    service._tables.close_long_idle()


def test_a_call_that_ends_after_the_service_was_closed_leaves_no_thread_behind(site: Site) -> None:
    before = set(threading.enumerate())
    service = lockwatch.connect(site.url)
    with service._tables.use() as table:
        service.close()
        assert table.all() == ()
    assert set(threading.enumerate()) <= before


def test_a_close_beside_the_end_of_a_call_leaves_no_thread_behind(
    served: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(threading.enumerate())
    service = lockwatch.connect(served.url)
    made = threading.Timer

    def make_late(seconds: float, function: Callable[[], None]) -> threading.Timer:
        service.close()
        return made(seconds, function)

    monkeypatch.setattr(threading, "Timer", make_late)
    service.now()
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
    assert set(threading.enumerate()) <= before


COUNT_SESSIONS: Final = {
    "postgres": (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'lockwatch'"
    ),
    "mysql": "SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()",
}


def test_no_connection_outlives_its_service(served: Site) -> None:
    def are_open(number: int) -> bool:
        give_up_at = time.monotonic() + PATIENCE_SECS
        while served.execute(COUNT_SESSIONS[served.kind]) != [(number,)]:  # the server takes a moment to notice
            if time.monotonic() > give_up_at:
                return False
            time.sleep(0.01)
        return True

    assert are_open(0)
    with lockwatch.connect(served.url) as service, service.hold("plan", "p1"):
        with service._tables.use(), service._tables.use():
            service.now()
        assert are_open(3)
    assert are_open(0)


def test_a_call_sends_no_more_than_it_must(service: LockService, monkeypatch: pytest.MonkeyPatch) -> None:
    service.acquire("plan", "p0", "a")
    (table,) = service._tables._idle
    execute, sent = table.connection._execute, []

    def counting(sql: str, *parameters: Any) -> Any:
        sent.append(sql)
        return execute(sql, *parameters)

    def refused() -> None:
        with pytest.raises(lockwatch.LockConflictError):
            service.acquire("plan", "p1", "b")

    monkeypatch.setattr(table.connection, "_execute", counting)
    for call, statements in (
        (lambda: service.acquire("plan", "p1", "a"), 1),
        (refused, 2),
        (lambda: service.get("plan", "p1"), 1),
        (lambda: service.release("plan", "p1", "a"), 1),
    ):
        call()
        assert len(sent) == statements
        sent.clear()


def test_busy_callers_of_a_service_starve_no_heartbeat(service: LockService) -> None:
    with service.hold("plan", "p1", ttl_seconds=5, heartbeat_seconds=0.2) as lease, ExitStack() as busy:
        for _ in range(2 * MAX_IDLE):
            busy.enter_context(service._tables.use())
        before = lease.lock.expires_text
        give_up_at = time.monotonic() + PATIENCE_SECS
        while lease.lock.expires_text == before and time.monotonic() < give_up_at:
            time.sleep(0.01)
        assert lease.lock.expires_text > before


def test_who_comes_back_often_uses_one_connection(service: LockService) -> None:
    service.now()
    (first,) = service._tables._idle
    for _ in range(5):
        service.now()
    assert list(service._tables._idle) == [first]


@on(*SERVERS)
def test_a_pool_of_the_caller_that_is_used_up_holds_nothing_up(site: Site) -> None:
    url = Database.from_url(site.url).engine().url
    engine = create_engine(url, pool_size=1, max_overflow=0, pool_timeout=0.1)
    with engine.connect() as only, LockService(engine) as service:
        only.exec_driver_sql("SELECT 1")
        with service.hold("plan", "p1", ttl_seconds=5, heartbeat_seconds=0.2) as lease:
            before = lease.lock.expires_text
            give_up_at = time.monotonic() + PATIENCE_SECS
            while lease.lock.expires_text == before and time.monotonic() < give_up_at:
                time.sleep(0.01)
            assert lease.lock.expires_text > before
    engine.dispose()


@on(*SERVERS)
def test_a_server_that_stops_without_a_word_is_given_up(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lockwatch.core.patient.PatientConnection.patience_secs", 0.5)
    monkeypatch.setitem(mariadb._DEFAULTS, "read_timeout", 1)
    with Relay(site) as relay, lockwatch.connect(relay.url) as service:
        lock = service.acquire("plan", "p1", "a")
        relay.is_silent.set()
        begun = time.monotonic()
        with pytest.raises(lockwatch.DatabaseError, match=r"cannot be reached|no answer"):
            service.get("plan", "p1")
        assert time.monotonic() - begun < 5
        relay.is_silent.clear()
        assert service.get("plan", "p1") == lock


class Relay:
    """Between a client and a server: passes all on, or, while it is silent, nothing more of the server's answers."""

    def __init__(self, site: Site) -> None:
        self._to = make_url(site.url)
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        self.url = self._to.set(host="127.0.0.1", port=port).render_as_string(hide_password=False)
        self.is_silent = threading.Event()
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for opened in (self._listener, *self._sockets):
            opened.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection((self._to.host, self._to.port))
            self._sockets += [client, server]
            threading.Thread(target=self._pass, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, True), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, is_answer: bool) -> None:
        try:
            while data := source.recv(65536):
                if is_answer and self.is_silent.is_set():
                    return
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            return


POOLER: Final = """
[databases]
* = user={user} host={host} port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
{more}
"""


@pytest.fixture(params=["", "ignore_startup_parameters = options"], ids=["refuses our options", "ignores our options"])
def pooled(request: pytest.FixtureRequest, site: Site) -> Iterator[str]:
    """The site behind a pooler that gives each transaction another session."""
    program = shutil.which("pgbouncer") or shutil.which("/usr/sbin/pgbouncer")
    if program is None:
        do_without("needs pgbouncer to be installed")
    url = make_url(site.url)
    with socket.create_server(("127.0.0.1", 0)) as free:
        listen = free.getsockname()[1]
    values = {"host": url.host, "port": url.port, "user": url.username, "listen": listen, "more": request.param}
    run_as = ["-u", "nobody"] if os.geteuid() == 0 else []  # it refuses to be root
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        file = Path(folder) / "pgbouncer.ini"
        file.write_text(POOLER.format(**values))
        with subprocess.Popen([program, "-q", *run_as, str(file)], stderr=subprocess.DEVNULL) as pooler:
            try:
                _wait_for(listen)
                yield url.set(host="127.0.0.1", port=listen).render_as_string(hide_password=False)
            finally:
                pooler.send_signal(signal.SIGKILL)


def _wait_for(port: int) -> None:
    give_up_at = time.monotonic() + PATIENCE_SECS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            assert time.monotonic() < give_up_at
            time.sleep(0.02)
        else:
            return


@on("postgres")
def test_all_works_behind_a_pooler(pooled: str) -> None:
    with lockwatch.connect(pooled) as service, lockwatch.connect(pooled) as other:
        for _ in range(12):  # a statement that the driver prepared would be missed in the next session
            lock = service.acquire("plan", "p1", "a", 60)
            with pytest.raises(lockwatch.LockConflictError):
                other.acquire("plan", "p1", "b")
            assert service.renew_exact(lock, 600).is_done
            assert service.release("plan", "p1", "a")
        with service.hold("plan", "p2", ttl_seconds=5, heartbeat_seconds=0.2) as lease:
            engine = Database.from_url(pooled).transactional_engine()
            with engine.begin() as connection:
                lease.guard(connection)
                found = connection.exec_driver_sql("SELECT current_setting('lock_timeout')").scalar()
                assert found == "5s"
        assert service.cleanup_expired() == 0
    with plans.connect(pooled) as planning:
        plan = planning.create("x", project_id="shop")
        assert planning.advance(plan.id).id == plan.id
    refusing = pytest.raises(lockwatch.DatabaseError, match="cannot be written")
    with lockwatch.connect(pooled, read_only=True) as service, service._tables.look() as table, refusing:
        table.end(lock)
    assert Database.from_url(pooled).is_at_head()


@on("postgres")
def test_a_statement_behind_a_pooler_has_its_settings_and_leaves_none_behind(pooled: str, site: Site) -> None:
    site.execute(f"ALTER DATABASE {make_url(site.url).database} SET synchronous_commit = off")
    url = make_url(pooled).set(drivername="postgresql+psycopg", password="x")  # noqa: S106 nobody asks for it
    plain = create_engine(url, poolclass=NullPool, connect_args={"prepare_threshold": None})
    names = ("statement_timeout", "lock_timeout", "synchronous_commit")
    ask = "SELECT " + ", ".join(f"current_setting('{name}')" for name in names)
    with lockwatch.connect(pooled) as service, service._tables.use() as table:
        assert table.connection.rows(ask) == [("10s", "5s", "on")]
        with plain.connect() as connection:
            assert tuple(connection.exec_driver_sql(ask).one()) == ("0", "0", "off")
    site.execute(f"ALTER DATABASE {make_url(site.url).database} RESET ALL")
