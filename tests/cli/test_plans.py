from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

import lockwatch
from lockwatch.cli import INTERRUPTED
from lockwatch.plans import Operation, Phase, PlanState
from tests.cli.running import DEADLINE_SECS, Cli, on_terminal, spawn
from tests.cli.test_help import PROBE
from tests.plans.placing import outcomes, put, stage
from tests.support import ROOT, dump, execute, insert_row, row, rows

FAR = "2998-01-01T00:00:00.000000Z"
VERBS = ("list", "show", "create", *Operation, "recover")
MOVES = [
    ("advance", (), Phase.STRATEGIZE, PlanState.COMPLETE, "queued in phase execute"),
    ("start", (), Phase.EXECUTE, PlanState.QUEUED, "processing in phase execute"),
    ("complete", (), Phase.EXECUTE, PlanState.PROCESSING, "complete in phase execute"),
    ("fail", ("--reason", "no disk"), Phase.EXECUTE, PlanState.PROCESSING, "errored in phase execute: no disk"),
    ("constrain", ("--reason", "cost"), Phase.EXECUTE, PlanState.PROCESSING, "constrained in phase execute: cost"),
    ("retry", (), Phase.EXECUTE, PlanState.ERRORED, "queued in phase execute"),
    ("revert", (), Phase.EXECUTE, PlanState.ERRORED, "queued in phase strategize"),
    ("cancel", (), Phase.EXECUTE, PlanState.QUEUED, "cancelled in phase execute"),
    ("cancel", ("--reason", "old"), Phase.EXECUTE, PlanState.PROCESSING, "cancelled in phase execute: old"),
]


@pytest.mark.parametrize(("verb", "more", "phase", "state", "where"), MOVES)
def test_each_operation_moves_the_plan_and_says_where_it_is(
    cli: Cli, url: str, verb: str, more: tuple[str, ...], phase: Phase, state: PlanState, where: str
) -> None:
    put(url, phase, state)
    answer = cli("plans", verb, "p1", *more)
    assert (answer.code, answer.out, answer.err) == (0, f"plan p1 is {where}\n", "")
    assert "{1} in phase {0}".format(*stage(url)) == where.partition(":")[0]
    assert rows(url) == []


@pytest.mark.parametrize("operation", Operation)
def test_there_is_a_verb_for_every_operation_and_one_that_is_not_allowed_ends_with_1(
    cli: Cli, url: str, operation: Operation
) -> None:
    put(url, Phase.APPLY, PlanState.APPLIED)
    before = [line for line in dump(url) if "plan" in line]
    reason = ("--reason", "x") if operation in (Operation.FAIL, Operation.CONSTRAIN) else ()
    answer = cli("plans", operation, "p1", *reason)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == (
        f"lockwatch: `{operation}` is not allowed while plan p1 is applied in phase apply; that is final\n"
    )
    assert [line for line in dump(url) if "plan" in line and "sqlite_sequence" not in line] == [
        line for line in before if "sqlite_sequence" not in line
    ]


def test_create_makes_an_action_and_says_its_id(cli: Cli, url: str) -> None:
    answer = cli("plans", "create", "import customers", "--project", "shop", "--id", "p1")
    assert (answer.code, answer.out, answer.err) == (0, "plan p1 is queued in phase action\n", "")
    answer = cli("plans", "create", "another", "--project", "shop", "--json")
    (known, new) = execute(url, "SELECT id, name FROM plans ORDER BY created_at")
    assert known == ("p1", "import customers")
    assert json.loads(answer.out)["id"] == new[0]


def test_create_of_a_known_id_ends_with_1_and_a_bad_one_with_2(cli: Cli) -> None:
    cli("plans", "create", "import", "--project", "shop", "--id", "p1")
    answer = cli("plans", "create", "again", "--project", "shop", "--id", "p1")
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == "lockwatch: there is a plan p1 already: import, queued in phase action\n"
    assert cli("plans", "create", "x", "--project", "shop", "--id", " p").code == 2
    assert cli("plans", "create", "x", "--project", "").code == 2
    assert cli("plans", "create", "x").code == 2


def test_a_transition_in_json_has_the_plan_and_what_is_allowed(cli: Cli, url: str) -> None:
    put(url, Phase.EXECUTE, PlanState.PROCESSING)
    answer = json.loads(cli("plans", "fail", "p1", "--reason", "no disk", "--json").out)
    assert len(answer.pop("updated_at")) == len(answer.pop("created_at")) == 27
    assert answer == {
        "id": "p1",
        "project_id": "shop",
        "name": "plan p1",
        "phase": "execute",
        "state": "errored",
        "error": "no disk",
        "allowed": ["retry", "revert", "cancel"],
    }


def test_a_plan_that_is_held_ends_with_3_and_names_the_holder(cli: Cli, url: str) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)
    cli("acquire", "plan/p1", "--owner", "other")
    answer = cli("plans", "start", "p1")
    assert (answer.code, answer.out) == (3, "")
    assert answer.err.startswith("lockwatch: plan/p1 is held by other since ")
    assert stage(url) == ("execute", "queued")


def test_a_wait_that_is_no_number_of_seconds_ends_with_2(cli: Cli, url: str) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)
    for wait in ("-1", "nan", "inf", "soon"):
        answer = cli("plans", "start", "p1", "--wait", wait)
        assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert stage(url) == ("execute", "queued")


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP), (signal.SIGINT, INTERRUPTED)],
)
def test_a_signal_while_it_waits_for_the_project_frees_the_plan(url: str, number: signal.Signals, code: int) -> None:
    put(url, Phase.APPLY, PlanState.QUEUED)
    insert_row(url, "project/shop", "other", expires_at=FAR)
    command = [sys.executable, "-m", "lockwatch", "--database", url, "plans", "start", "p1", "--wait", "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        deadline = time.monotonic() + DEADLINE_SECS
        while row(url, "plan/p1") is None and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(number)
        out, err = process.communicate(timeout=DEADLINE_SECS)
    assert (process.returncode, out, err) == (code, "", "")
    assert [cells[3] for cells in rows(url)] == [b"shop"]
    assert stage(url) == ("apply", "queued")


@pytest.mark.parametrize("call", [("show", "p9"), ("start", "p9"), ("cancel", "p9"), ("fail", "p9", "--reason", "x")])
def test_a_plan_that_is_not_there_ends_with_1(cli: Cli, url: str, call: tuple[str, ...]) -> None:
    answer = cli("plans", *call)
    assert (answer.code, answer.out, answer.err) == (1, "", "lockwatch: there is no plan p9\n")
    assert rows(url) == []


def test_fail_and_constrain_need_a_reason(cli: Cli, url: str) -> None:
    put(url, Phase.EXECUTE, PlanState.PROCESSING)
    for verb in ("fail", "constrain"):
        assert cli("plans", verb, "p1").code == 2
        assert cli("plans", verb, "p1", "--reason", " ").code == 2
    assert stage(url) == ("execute", "processing")


def test_list_prints_a_line_for_each_plan_the_oldest_first(cli: Cli, url: str) -> None:
    assert cli("plans", "list").out.split() == ["PLAN", "PROJECT", "NAME", "PHASE", "STATE", "FOR"]
    put(url, Phase.EXECUTE, PlanState.QUEUED)
    put(url, Phase.APPLY, PlanState.APPLIED, "p2", "mail")
    lines = cli("plans", "list").out.splitlines()
    assert [line.split()[:6] for line in lines[1:]] == [
        ["p1", "shop", "plan", "p1", "execute", "QUEUED"],
        ["p2", "mail", "plan", "p2", "apply", "APPLIED"],
    ]


def test_list_is_narrowed_by_project_phase_and_state(cli: Cli, url: str) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)
    put(url, Phase.EXECUTE, PlanState.ERRORED, "p2")
    put(url, Phase.APPLY, PlanState.QUEUED, "p3", "mail")

    def listed(*options: str) -> list[str]:
        return [plan["id"] for plan in json.loads(cli("plans", "list", "--json", *options).out)["plans"]]

    assert listed() == ["p1", "p2", "p3"]
    assert listed("--project", "shop") == ["p1", "p2"]
    assert listed("--phase", "apply") == ["p3"]
    assert listed("--project", "shop", "--state", "queued") == ["p1"]


@pytest.mark.parametrize("option", ["--phase", "--state"])
def test_a_phase_or_state_that_is_none_ends_with_2_and_names_those_that_are(cli: Cli, option: str) -> None:
    answer = cli("plans", "list", option, "done\x1b")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"lockwatch: {option[2:]}: must be one of ")
    assert answer.err.endswith("; got 'done\\x1b'\n")


def test_show_prints_the_plan_and_its_runs(cli: Cli, url: str) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)
    cli("plans", "start", "p1")
    cli("plans", "fail", "p1", "--reason", "no disk")
    cli("plans", "retry", "p1")
    cli("plans", "start", "p1")
    lines = cli("plans", "show", "p1").out.splitlines()
    assert lines[:5] == ["plan     p1", "name     plan p1", "project  shop", "phase    execute", "state    processing"]
    assert lines[7] == "allowed  complete, fail, constrain, cancel"
    assert lines[8].startswith("run 1    execute by hand, by ")
    assert lines[8].endswith("Z: no disk")
    assert lines[9].endswith("not ended")


def test_show_in_json_has_the_runs(cli: Cli, url: str) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)
    cli("plans", "start", "p1")
    answer = json.loads(cli("plans", "show", "p1", "--json").out)
    (run,) = answer["runs"]
    assert (answer["id"], run["phase"], run["is_manual"], run["outcome"]) == ("p1", "execute", True, None)
    assert (run["ended_at"], len(run["started_at"])) == (None, 27)


def test_recover_makes_abandoned_plans_errored_and_names_them(cli: Cli, url: str) -> None:
    assert cli("plans", "recover").out == "no plan is abandoned\n"
    put(url, Phase.EXECUTE, PlanState.PROCESSING)
    execute(url, "UPDATE plan_runs SET is_manual = 0")
    answer = cli("plans", "recover")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("plan p1 is errored in phase execute: abandoned: me (fence 1) ")
    assert outcomes(url) == ["abandoned"]
    assert json.loads(cli("plans", "recover", "--json").out) == {"recovered": []}


HOSTILE = "[red]a[/]\x1b[2J\u202eb"


def test_what_the_table_holds_reaches_the_terminal_harmless(cli: Cli, url: str) -> None:
    put(url, Phase.EXECUTE, PlanState.PROCESSING)
    execute(url, "UPDATE plans SET name = ?, project_id = ?, error = ?", (HOSTILE,) * 3)
    execute(url, "UPDATE plan_runs SET owner_id = ?, error = ?", (HOSTILE,) * 2)
    for call in (("list",), ("show", "p1"), ("complete", "p1"), ("create", "x", "--project", "x", "--id", "p1")):
        answer = cli("plans", *call)
        assert "\x1b" not in answer.out + answer.err
        assert "\u202e" not in answer.out + answer.err
    assert "[red]a[/]␛[2J·b" in cli("plans", "list").out
    assert json.loads(cli("plans", "show", "p1", "--json").out)["name"] == HOSTILE


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_a_terminal_gets_lines_of_its_width_and_a_pipe_all(cli: Cli, url: str, columns: int) -> None:
    put(url, Phase.STRATEGIZE, PlanState.PROCESSING, "p" * 50, "q" * 50)
    execute(url, "UPDATE plans SET name = ?", ("n" * 100,))
    answer = on_terminal("--database", url, "plans", "list", columns=columns)
    assert answer.code == 0
    header, line = answer.out.splitlines()
    assert len(line) == columns
    assert "strategize  PROCESSING" in line
    assert ("PROJECT" in header) == ("FOR" in header) == (columns >= 60)
    assert "n" * 100 in cli("plans", "list").out


def test_a_database_without_plans_ends_with_5_and_says_what_makes_them(cli: Cli, url: str) -> None:
    execute(url, "DROP TABLE plan_runs")
    execute(url, "DROP TABLE plans")
    for call in (("list",), ("show", "p1"), ("start", "p1"), ("recover",)):
        answer = cli("plans", *call)
        assert (answer.code, answer.out) == (5, "")
        assert "`lockwatch db upgrade` makes them" in answer.err
    with lockwatch.connect(url) as service:
        assert service.snapshot().locks == ()


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_imports_no_database_and_no_dashboard(verb: str) -> None:
    answer = spawn(*f"plans {verb} --help".split(), interpreter=("-c", PROBE))
    assert (answer.code, answer.err) == (0, "")
    assert answer.out


def test_help_names_every_verb_and_cuts_none_short(cli: Cli) -> None:
    text = cli("plans", "--help").out.partition("Commands:")[2]
    assert [verb for verb in VERBS if f"  {verb}  " not in text] == []
    assert "..." not in text
