from __future__ import annotations

import json

from lockwatch.plans import Phase, PlanState
from tests.cli.running import Cli
from tests.plans.placing import put
from tests.support import execute, insert_row, path_of


def test_the_command_tells_of_stale_locks_and_ends_with_1(cli: Cli, url: str) -> None:
    insert_row(url, "plan/p1", "a")
    answer = cli("diagnostics")
    assert (answer.code, answer.err) == (1, "")
    assert "WARNING Stale locks 1 not cleaned up" in " ".join(answer.out.split())


def test_the_command_ends_with_2_where_the_database_is_missing(cli: Cli, url: str) -> None:
    path_of(url).unlink()
    answer = cli("diagnostics")
    assert (answer.code, answer.err) == (2, "")
    assert answer.out.startswith("FAILURE  Database  there is no database file")


def test_the_command_in_json(cli: Cli, url: str) -> None:
    insert_row(url, "plan/p1", "a")
    answer = cli("diagnostics", "--json")
    told = json.loads(answer.out)
    assert told["exit_code"] == answer.code == 1
    stale = next(check for check in told["checks"] if check["name"] == "Stale locks")
    assert stale["status"] == "warning"
    assert set(stale) == {"name", "status", "message", "hint"}


def test_the_command_names_what_recovers_abandoned_plans_and_that_does(cli: Cli, url: str) -> None:
    put(url, Phase.EXECUTE, PlanState.PROCESSING)
    execute(url, "UPDATE plan_runs SET is_manual = 0")
    answer = cli("diagnostics")
    assert answer.code == 1
    assert "WARNING  Abandoned plans  1 processing, but left by who worked on them: p1 of me (fence 1)" in answer.out
    assert "`lockwatch plans recover`" in answer.out
    cli("plans", "recover")
    assert cli("diagnostics").code == 0
