"""Sites as in the contract, a server of the tests' own, a proxy before either, and worker processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import lockwatch
from tests.contract.conftest import _upgraded, make_site, new_site, served, site
from tests.contract.sites import Site, do_without
from tests.faults.crew import Crew
from tests.faults.proxy import Proxy
from tests.faults.servers import KINDS, OwnServer, own_server

__all__ = ["_upgraded", "make_site", "new_site", "served", "site"]


@pytest.fixture(scope="session")
def _own_servers() -> Iterator[Callable[[str], OwnServer]]:
    known: dict[str, OwnServer] = {}
    with ExitStack() as opened:

        def own(kind: str) -> OwnServer:
            if kind not in known:
                known[kind] = opened.enter_context(own_server(kind))
                lockwatch.upgrade(known[kind].site.url)
            return known[kind]

        yield own


@pytest.fixture(params=sorted(KINDS))
def server(request: pytest.FixtureRequest, _own_servers: Callable[[str], OwnServer]) -> OwnServer:
    """A server that may be stopped and started: upgraded and empty."""
    reason = KINDS[request.param].why_missing()
    if reason:
        do_without(reason)
    found = _own_servers(request.param)
    found.site.clear()
    return found


@pytest.fixture
def proxy(served: Site) -> Iterator[Proxy]:
    """The way to the site's server, to be troubled."""
    with Proxy(served.url) as opened:
        yield opened


@pytest.fixture
def crew(tmp_path: Path) -> Iterator[Crew]:
    """Worker processes, ended at the end."""
    with Crew(tmp_path / "journals") as hired:
        yield hired
