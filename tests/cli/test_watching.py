from __future__ import annotations

import json
import sys
from types import ModuleType

import pytest

from lockwatch.plans import Phase, PlanState
from tests.cli.running import Cli, on_terminal, spawn
from tests.plans.placing import put
from tests.support import execute, insert_row, path_of

FUTURE = "2999-01-01T00:00:00.000000Z"
HOSTILE = [
    "a[/]b",
    "[red]x[/red]",
    "[@click=app.quit]x[/]",
    "([sys:LOCK=1…])",
    '{"a": [true]}',
    "\x1b[2J",
    "\x1b[?1049l",
    "\x1b]52;c;aGk=",
    "\u202eevil",
    "\x9b2J",
    "a\r\nb",
]


def test_list_has_a_header_and_the_least_time_left_first(cli: Cli, url: str) -> None:
    insert_row(url, "plan/long", "a", expires_at=FUTURE)
    insert_row(url, "plan/stale", "b")
    lines = cli("list").out.splitlines()
    assert lines[0].split() == ["RESOURCE", "OWNER", "STATE", "LEFT", "TTL", "HELD", "FENCE"]
    assert [line.split()[:3] for line in lines[1:]] == [["plan/stale", "b", "STALE"], ["plan/long", "a", "HELD"]]


def test_list_of_an_empty_table_is_its_header(cli: Cli) -> None:
    answer = cli("list")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == "RESOURCE  OWNER  STATE  LEFT  TTL  HELD  FENCE\n"


def test_a_pipe_gets_names_in_full(cli: Cli, url: str) -> None:
    insert_row(url, f"plan/{'r' * 200}", "o" * 200, expires_at=FUTURE)
    assert f"plan/{'r' * 200}  {'o' * 200}  HELD" in cli("list").out


def test_a_terminal_gets_lines_that_fit(url: str) -> None:
    insert_row(url, f"plan/{'r' * 200}", "o" * 200, expires_at=FUTURE)
    answer = on_terminal("list", "--database", url, columns=60)
    assert answer.code == 0
    assert [line for line in answer.out.splitlines() if len(line) > 60] == []
    assert "HELD" in answer.out


def test_list_in_json_has_all_that_is_known(cli: Cli, url: str) -> None:
    insert_row(url, "plan/p1", "a", expires_at=FUTURE)
    insert_row(url, "plan/p2", "b", acquired_at="?", expires_at="soon")
    answer = json.loads(cli("list", "--json").out)
    unreadable, held = answer["locks"]
    assert len(answer["taken_at"]) == 27
    assert (held["state"], held["expires_at"], held["fence"]) == ("held", FUTURE, 1)
    assert unreadable == {
        "resource": "plan/p2",
        "resource_type": "plan",
        "resource_id": "p2",
        "owner_id": "b",
        "fence": 2,
        "state": "unreadable",
        "acquired_at": None,
        "expires_at": None,
        "expires_text": "soon",
        "remaining_seconds": None,
        "held_seconds": None,
        "ttl_seconds": None,
    }


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("call", [("list",), ("list", "--json"), ("purge", "--dry-run"), ("diagnostics",)])
def test_text_from_the_table_is_never_raw_and_never_markup(
    cli: Cli, url: str, name: str, call: tuple[str, ...]
) -> None:
    insert_row(url, f"plan/{name}", name)
    answer = cli(*call)
    assert _harmful(answer.out) == []
    assert "plan/" in answer.out
    if name.isprintable() and "--json" not in call:
        assert name in answer.out
    if "--json" in call:
        assert json.loads(answer.out)["locks"][0]["owner_id"] == name


@pytest.mark.parametrize("name", HOSTILE)
def test_complaints_hold_nothing_raw(cli: Cli, url: str, name: str) -> None:
    insert_row(url, f"plan/{name}", name, expires_at=FUTURE)
    insert_row(url, "plan/p1", name, expires_at=FUTURE)
    calls = [
        ("acquire", "plan/p1", "--owner", "me"),
        ("release", f"plan/{name}", "--fence", "99"),
        ("show", f"{name}/x"),
        ("show", name),
        ("acquire", "plan/p2", "--owner", "x", "--ttl", name),
        (f"x{name}",),
        ("list", f"--{name}"),
        ("list", "--database", f"{name}://x"),
        ("list", "--database", f"sqlite:///{name.replace('/', '')}"),
    ]
    for answer in (cli(*call) for call in calls):
        assert answer.code in (1, 2, 3, 4, 5)
        assert answer.out == ""
        assert answer.err.count("\n") == 1
        assert _harmful(answer.err) == []


def test_show_has_a_line_for_each_fact(cli: Cli, url: str) -> None:
    insert_row(url, "plan/p1", "a", acquired_at="2998-12-31T23:59:00Z", expires_at=FUTURE)
    answer = cli("show", "plan/p1")
    facts = dict(line.split(maxsplit=1) for line in answer.out.splitlines())
    assert (answer.code, answer.err) == (0, "")
    assert list(facts) == ["resource", "owner", "state", "left", "ttl", "held", "fence"]
    assert (facts["resource"], facts["owner"], facts["state"]) == ("plan/p1", "a", "HELD")
    assert facts["left"].endswith(", until 2999-01-01 00:00:00Z")
    assert (facts["ttl"], facts["fence"]) == ("1m", "1")


def test_show_of_an_expired_lock_shows_it(cli: Cli, url: str) -> None:
    insert_row(url, "plan/p1", "a")
    assert "STALE" in cli("show", "plan/p1").out
    assert json.loads(cli("show", "plan/p1", "--json").out)["state"] == "stale"


def test_show_of_an_unreadable_lock_shows_what_is_stored(cli: Cli, url: str) -> None:
    insert_row(url, "plan/p1", "a", expires_at="so\x1bon")
    answer = cli("show", "plan/p1")
    assert answer.code == 0
    assert "the expiry 'so␛on' cannot be read" in answer.out


@pytest.mark.parametrize(("options", "out"), [((), ""), (("--json",), "null\n")])
def test_show_of_an_absent_lock_ends_with_1_and_says_so(cli: Cli, options: tuple[str, ...], out: str) -> None:
    answer = cli("show", "plan/p1", *options)
    assert (answer.code, answer.out, answer.err) == (1, out, "lockwatch: nobody holds plan/p1\n")


@pytest.mark.parametrize("call", [(), ("dashboard",), ("dashboard", "--interval", "2")])
def test_the_dashboard_without_a_terminal_ends_with_2_and_names_list(cli: Cli, call: tuple[str, ...]) -> None:
    answer = cli(*call)
    assert (answer.code, answer.out) == (2, "")
    assert "`lockwatch list`" in answer.err


@pytest.mark.parametrize("term", ["dumb", ""])
def test_the_dashboard_on_a_terminal_that_cannot_draw_ends_with_2(url: str, term: str) -> None:
    answer = on_terminal("--database", url, env={"TERM": term})
    assert answer.code == 2
    assert "`lockwatch list`" in answer.out


def test_the_dashboard_is_not_drawn_into_a_log(url: str) -> None:
    answer = on_terminal("--database", url, code="import sys; sys.stderr = open('/dev/null', 'w')")
    assert (answer.code, answer.out) == (2, "")


@pytest.mark.parametrize("call", [("--database", "{}"), ("dashboard", "--database", "{}", "--interval", "2.5")])
def test_the_dashboard_is_what_runs_on_a_terminal(url: str, call: tuple[str, ...]) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)
    fake = """
import lockwatch.tui
def draw(service, look, find_plan):
    print("DRAWN", service.snapshot().locks, look.name, look.interval, find_plan("p1").name)
lockwatch.tui.run = draw
"""
    answer = on_terminal(*(part.format(url) for part in call), code=fake, columns=300)
    interval = 2.5 if "--interval" in call else 1.0
    assert (answer.code, answer.out) == (0, f"DRAWN () {path_of(url)} {interval} plan p1\n")


def test_the_dashboard_tells_of_a_database_that_cannot_be_used_before_it_draws(url: str) -> None:
    path_of(url).unlink()
    answer = on_terminal("--database", url, columns=300)
    assert answer.code == 5
    assert answer.out.startswith("lockwatch: there is no database file")
    assert answer.out.count("\n") == 1


def test_the_demo_gets_its_numbers(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[dict[str, object]] = []

    def run(**given: object) -> int:
        calls.append(given)
        return 0

    fake = ModuleType("lockwatch.demo")
    monkeypatch.setattr(fake, "run", run, raising=False)
    monkeypatch.setitem(sys.modules, "lockwatch.demo", fake)
    assert cli("demo").code == 0
    assert cli("demo", "--workers", "5", "--seconds", "1.5").code == 0
    assert cli("demo", "--interval", "0.5", "--theme", "nord").code == 0
    assert calls == [
        {"workers": 8, "seconds": 15.0, "interval": 1.0, "theme": None},
        {"workers": 5, "seconds": 1.5, "interval": 1.0, "theme": None},
        {"workers": 8, "seconds": 15.0, "interval": 0.5, "theme": "nord"},
    ]


@pytest.mark.parametrize(
    "options",
    [
        ("--workers", "4"),
        ("--workers", "65"),
        ("--workers", "x"),
        ("--seconds", "0"),
        ("--seconds", "nan"),
        ("--seconds", "inf"),
    ],
)
def test_the_demo_refuses_numbers_out_of_range(cli: Cli, options: tuple[str, str]) -> None:
    answer = cli("demo", *options)
    assert (answer.code, answer.out) == (2, "")
    assert options[0] in answer.err


@pytest.mark.parametrize("interval", ["0", "-1", "nan", "inf", "x"])
def test_the_dashboard_refuses_an_interval_out_of_range(cli: Cli, interval: str) -> None:
    answer = cli("dashboard", "--interval", interval)
    assert (answer.code, answer.out) == (2, "")
    assert "--interval" in answer.err


def test_list_works_in_a_process_of_its_own(url: str) -> None:
    insert_row(url, "plan/p1", "a", expires_at=FUTURE)
    answer = spawn("list", "--database", url)
    assert (answer.code, answer.err) == (0, "")
    assert "plan/p1" in answer.out


@pytest.mark.parametrize(
    "call", ["list", "list --json", "show plan/p0", "purge --dry-run --json", "purge", "diagnostics"]
)
def test_ids_of_any_kind_in_another_programs_table_do_no_harm(cli: Cli, url: str, call: str) -> None:
    execute(url, "DROP TABLE locks")
    execute(url, "CREATE TABLE locks (id, owner_id, resource_type, resource_id, acquired_at, expires_at)")
    for number, cell in enumerate(("\x1b[2J", b"\xff\x9b", None, 2.5, float("inf"), 7)):
        execute(url, "INSERT INTO locks VALUES (?, 'a', 'plan', ?, 'x', '2020-01-01')", (cell, f"p{number}"))
    answer = cli(*call.split())
    assert answer.code in (0, 1)
    assert _harmful(answer.out + answer.err) == []


def _harmful(text: str) -> list[str]:
    return [letter for letter in text.replace("\n", "") if not letter.isprintable()]
