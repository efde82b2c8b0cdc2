"""The commands over PostgreSQL and MariaDB, from a database without a table to one that only some may write."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import make_url

import lockwatch
from lockwatch import settings
from lockwatch.database import EARLIER_REVISIONS, HEAD_REVISION, Database
from lockwatch.migrating import migrations_path
from tests.cli.running import Cli, spawn
from tests.contract.sites import SERVERS, Site, on


@pytest.fixture
def over(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, served: Site) -> Cli:
    """The command line in this process, over a server's database."""
    monkeypatch.setenv(settings.DATABASE_URL, served.url)
    return Cli(capsys)


@pytest.fixture
def over_new(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, new_site: Site) -> Cli:
    """The same over a database that has no table yet, of each kind."""
    monkeypatch.setenv(settings.DATABASE_URL, new_site.url)
    return Cli(capsys)


def _name(url: str) -> str:
    place = make_url(url)
    return f"{place.database}@{place.host}:{place.port}"


def test_a_lock_goes_its_way_from_acquire_to_purge(over: Cli, served: Site) -> None:
    taken = json.loads(over("acquire", "plan/p1", "--owner", "a", "--ttl", "60", "--json").out)
    assert over("acquire", "plan/p1", "--owner", "b").code == 3
    assert over("show", "plan/p1").code == 0
    assert over("renew", "plan/p1", "--fence", str(taken["fence"]), "--ttl", "600").code == 0
    (listed,) = json.loads(over("list", "--json").out)["locks"]
    assert (listed["fence"], listed["ttl_seconds"]) == (taken["fence"], None)
    assert over("release", "plan/p1", "--owner", "b").code == 4
    assert over("release", "plan/p1", "--owner", "a").code == 0
    served.insert_row("plan/dead", "gone")
    assert "1 stale, nothing purged" in over("purge", "--dry-run").out
    assert "1 purged" in over("purge").out
    assert served.rows() == []


def test_a_command_runs_under_a_lock_that_is_gone_after_it(served: Site) -> None:
    answer = spawn(
        *("--database", served.url, "run", "plan/p1", "--", "sh", "-c", "echo $LOCKWATCH_RESOURCE $LOCKWATCH_FENCE")
    )
    assert (answer.code, answer.err) == (0, "")
    resource, fence = answer.out.split()
    assert (resource, int(fence) > 0, served.rows()) == ("plan/p1", True, [])


def test_plans_move_on(over: Cli) -> None:
    for call in ("create x --project shop --id x1", "advance x1", "start x1", "fail x1 --reason no", "retry x1"):
        assert over("plans", *call.split()).code == 0, call
    (plan,) = json.loads(over("plans", "list", "--json").out)["plans"]
    assert (plan["phase"], plan["state"]) == ("strategize", "queued")
    assert over("plans", "complete", "x1").code == 1
    assert over("plans", "recover").out == "no plan is abandoned\n"


def test_diagnostics_name_the_server_and_end_with_0(over: Cli, served: Site) -> None:
    answer = over("diagnostics")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(f"OK       Database         {_name(served.url)} answers in ")
    assert f"Server           {'PostgreSQL' if served.kind == 'postgres' else 'MariaDB'} " in answer.out


def test_the_table_is_made_once_and_current_says_so(over_new: Cli) -> None:
    assert over_new("db", "current").out.startswith("none: ")
    assert over_new("db", "upgrade").out.startswith(f"made at {HEAD_REVISION}: ")
    assert over_new("db", "upgrade").out.startswith(f"already at {HEAD_REVISION}: ")
    assert over_new("db", "current").out == f"{HEAD_REVISION}\n"


def test_a_table_of_another_program_is_shown_settled_and_upgraded_rather_than_made(
    over_new: Cli, new_site: Site
) -> None:
    new_site.make_table(new_site.numbered)
    fence = new_site.insert_row("plan/p1", "a", new_site.text(600))
    assert [lock["fence"] for lock in json.loads(over_new("list", "--json").out)["locks"]] == [fence]
    assert over_new("renew", "plan/p1", "--owner", "a", "--ttl", "900").code == 0
    assert over_new("diagnostics").code == 1
    assert over_new("db", "upgrade").out.startswith(f"upgraded to {HEAD_REVISION}: ")
    assert over_new("diagnostics").code == 0


READS = ("list", "show plan/p1", "purge --dry-run", "plans list")
WRITES = ("acquire plan/p1 --owner a", "release plan/p1 --owner a", "run plan/p1 -- true", "plans create x --project s")


@pytest.mark.parametrize("call", [*READS, *WRITES])
@on(*SERVERS, fixture="new_site")
def test_a_database_without_the_table_is_one_line_that_says_what_makes_it(
    over_new: Cli, new_site: Site, call: str
) -> None:
    answer = over_new(*call.split())
    assert (answer.code, answer.out, len(answer.err.splitlines())) == (5, "", 1)
    assert answer.err.startswith(f"lockwatch: {_name(new_site.url)}: the database has no table")
    assert "`lockwatch db upgrade` makes" in answer.err


@on(*SERVERS, fixture="new_site")
def test_diagnostics_of_a_database_without_the_table_fail_on_its_schema(over_new: Cli) -> None:
    answer = over_new("diagnostics", "--json")
    found = {check["name"]: check for check in json.loads(answer.out)["checks"]}
    assert (answer.code, found["Schema"]["status"]) == (2, "failure")
    assert "no table `locks` yet" in found["Schema"]["message"]


def test_an_older_schema_is_used_and_diagnostics_say_what_brings_it_up(over_new: Cli, new_site: Site) -> None:
    _upgrade_to(new_site, EARLIER_REVISIONS[-1])
    assert over_new("acquire", "plan/p1", "--owner", "a").code == 0
    assert over_new("list").code == 0
    missing = over_new("plans", "list")
    assert (missing.code, len(missing.err.splitlines())) == (5, 1)
    assert "no tables of plans yet" in missing.err
    warned = over_new("diagnostics")
    assert warned.code == 1
    assert f"WARNING  Schema       at {EARLIER_REVISIONS[-1]}, which lacks what came after it" in warned.out
    assert "`lockwatch db upgrade` brings it to the newest" in warned.out


def _upgrade_to(site: Site, revision: str) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(migrations_path()))
    with Database.from_url(site.url).upgrading() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


@pytest.mark.parametrize("call", [*READS[:1], *READS[2:], "diagnostics", "db current", "plans recover", "purge"])
def test_who_may_only_read_can_read(over: Cli, reader: str, call: str) -> None:
    answer = over("--database", reader, *call.split())
    assert (answer.code, answer.err) == (0, "")


@pytest.mark.parametrize("call", [WRITES[0], *WRITES[2:], "renew plan/held --fence {fence}", "purge"])
def test_who_may_only_read_is_refused_in_one_line_and_changes_nothing(
    over: Cli, served: Site, reader: str, call: str
) -> None:
    with lockwatch.connect(served.url) as service:
        fence = service.acquire("plan", "held", "a").id
    served.insert_row("plan/dead", "gone")
    before = _all(served)
    answer = over("--database", reader, *call.format(fence=fence).split())
    assert (answer.code, len(answer.err.splitlines())) == (5, 1)
    assert answer.err.startswith(f"lockwatch: {_name(served.url)}: the database refused the user (")
    assert _all(served) == before


def _all(site: Site) -> list[Any]:
    return [*site.rows(), *site.execute("SELECT * FROM plans"), *site.execute("SELECT * FROM plan_runs")]


def test_the_demo_stays_in_a_file_of_its_own_whatever_database_is_set(served: Site) -> None:
    answer = spawn("demo", "--workers", "5", "--seconds", "1", env={settings.DATABASE_URL: served.url})
    assert (answer.code, served.rows()) == (0, [])
