"""Each test here runs on every database: `site` is upgraded and empty, `new_site` has no table yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Final

import pytest

import lockwatch
from tests.contract import sites
from tests.contract.asking import Asking, AskingPostgres, asking_mysql
from tests.contract.leftovers import new_name
from tests.contract.sites import KINDS, SERVERS, MysqlSite, Site
from tests.faults.servers import running

_cleared: Final[set[str]] = set()

Make = Callable[[str], Site]


@pytest.fixture(scope="session")
def make_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Make]:
    """Makes a database of a kind, which lives until the end."""
    with ExitStack() as made:

        def make(kind: str) -> Site:
            return made.enter_context(_new(kind, tmp_path_factory.mktemp("site")))

        yield make


@pytest.fixture(scope="session")
def _upgraded(make_site: Make) -> Callable[[str], Site]:
    known: dict[str, Site] = {}

    def upgraded(kind: str) -> Site:
        if kind not in known:
            site = make_site(kind)
            lockwatch.upgrade(site.url)
            known[kind] = site
        return known[kind]

    return upgraded


@pytest.fixture(params=KINDS)
def site(request: pytest.FixtureRequest, _upgraded: Callable[[str], Site]) -> Site:
    found = _upgraded(request.param)
    found.clear()
    return found


@pytest.fixture(params=KINDS)
def new_site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    with _new(request.param, tmp_path) as made:
        yield made


@pytest.fixture(scope="session")
def _asking(_upgraded: Callable[[str], Site]) -> Iterator[Callable[[str], Asking]]:
    known: dict[str, Asking] = {}
    with ExitStack() as opened:

        def asking(kind: str) -> Asking:
            if kind not in known:
                site = _upgraded("mysql") if kind == "mysql" else None
                if isinstance(site, MysqlSite):
                    known[kind] = opened.enter_context(asking_mysql(site))
                else:
                    known[kind] = opened.enter_context(running(AskingPostgres)).asking
                    lockwatch.upgrade(known[kind].whole)
            return known[kind]

        yield asking


@pytest.fixture(params=SERVERS)
def asking(request: pytest.FixtureRequest, _asking: Callable[[str], Asking]) -> Asking:
    """A database, upgraded and empty, whose server asks for a password."""
    reason = AskingPostgres.why_missing() if request.param == "postgres" else None
    if reason:
        sites.do_without(reason)
    found = _asking(request.param)
    found.site.clear()
    return found


@pytest.fixture
def reader(served: Site) -> Iterator[str]:
    """The URL of a user who may only read `served`."""
    with sites.reader_of(served) as url:
        yield url


@pytest.fixture(params=SERVERS)
def served(request: pytest.FixtureRequest, _upgraded: Callable[[str], Site]) -> Site:
    """A site on a server, upgraded and empty."""
    found = _upgraded(request.param)
    found.clear()
    return found


@pytest.fixture
def service(site: Site) -> Iterator[lockwatch.LockService]:
    with lockwatch.connect(site.url) as opened:
        yield opened


@pytest.fixture
def other(site: Site) -> Iterator[lockwatch.LockService]:
    """Another program's service on the same database."""
    with lockwatch.connect(site.url) as opened:
        yield opened


def _new(kind: str, folder: Path) -> AbstractContextManager[Site]:
    if kind == "sqlite":
        return sites.new_sqlite(folder)
    if kind not in _cleared:
        _cleared.add(kind)
        sites.drop_leftovers(kind)
    return sites.new_postgres(new_name()) if kind == "postgres" else sites.new_mysql(new_name())
