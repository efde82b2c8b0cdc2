"""What a killed run left behind on a server goes at the start of a later one, and nothing else does."""

from __future__ import annotations

import os
import time

import pytest
from sqlalchemy import make_url

from tests.contract import leftovers, sites
from tests.contract.sites import Site


def _databases(site: Site) -> set[str]:
    (listing, _) = leftovers._LISTS[site.kind]
    return {str(name) for (name,) in site.execute(listing)}


def test_only_what_tests_made_more_than_an_hour_ago_is_old() -> None:
    now = 1_800_000_000.0
    old, young = f"lockwatch_test_{now - 3601:.0f}_77_0", f"lockwatch_test_{now - 3599:.0f}_77_0"
    others = ["lockwatch_test", "lockwatch_test_77_0", f"my_{old}", "postgres", f"lockwatch_{now - 9999:.0f}_1"]
    assert leftovers.old([old, f"{old}_r", young, *others], now) == [old, f"{old}_r"]
    assert leftovers.old([leftovers.new_name()], time.time()) == []


def test_a_database_of_a_killed_run_is_dropped_with_its_user_and_that_of_a_living_one_stays(served: Site) -> None:
    name = f"lockwatch_test_{time.time() - 7200:.0f}_{os.getpid()}_0"
    quoted = f'"{name}"' if served.kind == "postgres" else f"`{name}`"
    served.execute(f"CREATE DATABASE {quoted}")
    served.execute(f"CREATE {'ROLE' if served.kind == 'postgres' else 'USER'} {name}_r")
    sites.drop_leftovers(served.kind)
    assert name not in _databases(served)
    assert make_url(served.url).database in _databases(served)
    users = served.execute(leftovers._LISTS[served.kind][1])
    assert f"{name}_r" not in {user for (user,) in users}


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_a_server_that_does_not_answer_ends_no_run(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sites, "POSTGRES_URL", "postgresql://postgres@127.0.0.1:1/postgres")
    monkeypatch.setattr(sites, "MYSQL_URL", "mysql://root@127.0.0.1:1/mysql")
    sites.drop_leftovers(kind)
    with pytest.raises(pytest.skip.Exception if not sites.SERVERS_ARE_REQUIRED else pytest.fail.Exception, match="no "):
        (sites.new_postgres if kind == "postgres" else sites.new_mysql)("never").__enter__()
