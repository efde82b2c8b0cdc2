"""lockwatch beside what might be used instead: one uncontended acquire and release, in one run. Peers are optional."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from sqlalchemy import create_engine, make_url

import lockwatch
from tests.benchmarks.core import cycles
from tests.benchmarks.measuring import Figure, Line, Reading, absent, median_ratio
from tests.benchmarks.places import MARIADB, POSTGRES, SQLITE, AbsentError, Place
from tests.contract.sites import Site

REDIS_URL: Final = os.environ.get("LOCKWATCH_TEST_REDIS_URL", "redis://127.0.0.1:6379")
CALLS: Final = 400
"""Calls of a round: SQLite writes its log back every hundred or so, and each round must have its share of that."""
ROUNDS: Final = 25
TTL_SECS: Final = 300

Cycle: TypeAlias = Callable[[], object]
"""Takes a lock that nobody else wants, and lets it go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """Another lock, and the database that lockwatch is on beside it."""

    title: str
    place: Place
    cycle: Callable[[Site], AbstractContextManager[Cycle]]
    remark: str
    must_be_behind: bool = False


def figures() -> Iterator[Line]:
    """lockwatch's speed as a multiple of each peer's."""
    for peer in PEERS:
        name = f"lockwatch on {peer.place.title}, of {peer.title}'s speed"
        try:
            ratio = _of_speed(peer)
        except ImportError as error:
            yield absent(name, f"{error.name} is not installed")
        except (AbsentError, ConnectionError) as reason:
            yield absent(name, str(reason))
        else:
            yield _line(peer, name, ratio)


def _line(peer: Peer, name: str, ratio: float) -> Line:
    remark = peer.remark if ratio >= 1 else f"{peer.title} is ahead: {peer.remark}"
    if peer.must_be_behind:
        return Figure(name=name, ratio=ratio, relation=">=", bar=1.0, remark=remark)
    return Reading(name=name, value=f"{ratio:.2f}", remark=remark)


def _of_speed(peer: Peer) -> float:
    with peer.place.new() as site, peer.cycle(site) as cycle, lockwatch.connect(site.url) as service:

        def by_peer() -> None:
            for _ in range(CALLS):
                cycle()

        return median_ratio(by_peer, partial(cycles, service, CALLS), ROUNDS)


def redis_version() -> list[str]:
    """Redis and its version, if it is there."""
    try:
        with _redis_client() as client:
            return [f"Redis {client.info('server')['redis_version']}"]
    except (ImportError, ConnectionError):
        return []


@contextmanager
def _redis_client() -> Iterator[Any]:
    import redis  # late: it may not be installed

    with redis.Redis.from_url(REDIS_URL) as client:
        try:
            client.ping()
        except redis.exceptions.ConnectionError as error:
            raise ConnectionError(f"no Redis: {error}") from error
        yield client


@contextmanager
def _redis(_site: Site) -> Iterator[Cycle]:
    with _redis_client() as client:
        yield _by_turns(client.lock(f"lockwatch-figures-{os.getpid()}", timeout=TTL_SECS))


@contextmanager
def _diskcache(site: Site) -> Iterator[Cycle]:
    import diskcache

    with diskcache.Cache(f"{make_url(site.url).database}.cache") as cache:
        yield _by_turns(diskcache.Lock(cache, "p1", expire=TTL_SECS))


@contextmanager
def _pals(site: Site) -> Iterator[Cycle]:
    import pals

    locker = pals.Locker("lockwatch", create_engine_callable=lambda: create_engine(_with_driver(site, "psycopg")))
    try:
        yield _by_turns(locker.lock("p1"))
    finally:
        locker.engine.dispose()


@contextmanager
def _dlock(driver: str, site: Site) -> Iterator[Cycle]:
    from sqlalchemy_dlock.factory import create_sadlock  # late: it may not be installed

    engine = create_engine(_with_driver(site, driver))
    with engine.connect() as connection:
        yield _by_turns(create_sadlock(connection, "p1"), timeout=TTL_SECS)  # MariaDB knows no wait without an end
    engine.dispose()


def _by_turns(lock: Any, **how: object) -> Cycle:
    def cycle() -> None:
        if lock.acquire(**how) is False:
            raise AssertionError("it was not granted")
        lock.release()

    return cycle


def _with_driver(site: Site, driver: str) -> str:
    url = make_url(site.url)
    return url.set(drivername=f"{url.get_backend_name()}+{driver}").render_as_string(hide_password=False)


_SESSION_LOCK: Final = "a lock of the session writes no row: no commit to disk, but no TTL, no fence, nothing to see"
PEERS: Final = (
    Peer(
        title="redis-py Lock",
        place=SQLITE,
        cycle=_redis,
        remark="TTL, no fence; in memory, over a socket",
        must_be_behind=True,
    ),
    Peer(
        title="diskcache Lock",
        place=SQLITE,
        cycle=_diskcache,
        remark="TTL, no fence; it writes as many pages, but larger ones, and never looks who holds what it releases",
        must_be_behind=True,
    ),
    Peer(title="pals", place=POSTGRES, cycle=_pals, remark=_SESSION_LOCK),
    Peer(title="sqlalchemy-dlock", place=POSTGRES, cycle=partial(_dlock, "psycopg"), remark=_SESSION_LOCK),
    Peer(title="sqlalchemy-dlock", place=MARIADB, cycle=partial(_dlock, "pymysql"), remark=_SESSION_LOCK),
)
