"""What the command line and the settings decide about the dashboard ends in one `Look`."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockwatch import settings
from lockwatch.cli.screen import GARBAGE_AFTER
from lockwatch.tui.look import Look
from tests.cli.running import Cli, on_terminal
from tests.support import path_of

FAKE = """
import lockwatch.tui
def draw(service, look, find_plan):
    print(repr(look))
lockwatch.tui.run = draw
"""
FLAGS = [
    "--interval",
    "2.5",
    "--theme",
    "nord",
    "--filter",
    "a[/]b",
    "--owner",
    "me",
    "--type",
    "plan",
    "--log",
    "x.log",
]


def _look(*arguments: str) -> str:
    answer = on_terminal(*arguments, code=FAKE, columns=1000)
    assert answer.code == 0
    return answer.out.strip()


def test_garbage_is_looked_for_seldom_while_the_first_frame_is_made(url: str) -> None:
    code = "import gc, lockwatch.tui\nlockwatch.tui.run = lambda *_, **__: print(gc.isenabled(), gc.get_threshold()[0])"
    answer = on_terminal("--database", url, code=code)
    assert answer.out.strip() == f"True {GARBAGE_AFTER}"


@pytest.mark.parametrize("verb", [[], ["dashboard"]])
def test_every_flag_reaches_the_dashboard_with_a_verb_and_without(url: str, verb: list[str]) -> None:
    assert _look("--database", url, *verb, *FLAGS) == repr(
        Look(
            name=str(path_of(url)),
            interval=2.5,
            theme="nord",
            text="a[/]b",
            owner="me",
            resource_type="plan",
            log=Path("x.log"),
        )
    )


def test_flags_before_the_verb_count_unless_they_come_after_it_too(url: str) -> None:
    look = _look("--interval", "2", "--owner", "me", "dashboard", "--interval", "3", "--database", url)
    assert look == repr(Look(name=str(path_of(url)), interval=3.0, owner="me"))


def test_without_flags_the_environment_and_the_config_decide(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(
        f'theme = "nord"\ninterval = 4\n[databases.prod]\nurl = "{url}"\nlabel = "PROD"\ncolour = "red"\ninterval = 5'
    )
    monkeypatch.setenv(settings.CONFIG, str(config))
    named = {"name": str(path_of(url)), "label": "PROD", "colour": "red"}
    assert _look("--on", "prod") == repr(Look(**named, interval=5.0, theme="nord"))  # type: ignore[arg-type]
    monkeypatch.setenv(settings.INTERVAL, "6")
    monkeypatch.setenv(settings.THEME, "lockwatch-light")
    assert _look("--on", "prod") == repr(Look(**named, interval=6.0, theme="lockwatch-light"))  # type: ignore[arg-type]


@pytest.mark.parametrize("given", ["--interval 2", "--theme nord", "--filter x", "--owner x", "--type plan", "--log x"])
@pytest.mark.parametrize("verb", ["purge", "list", "release plan/p1", "demo", "plans list"])
def test_a_flag_of_the_dashboard_before_another_verb_is_refused(cli: Cli, given: str, verb: str) -> None:
    (flag, value), (name, *rest) = given.split(), verb.split()
    answer = cli(flag, value, name, *rest)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"lockwatch: Invalid value for {flag}: before {name} it has no meaning")


@pytest.mark.parametrize(
    "call", [("--theme", "nonsense"), ("dashboard", "--theme", "nonsense"), ("demo", "--theme", "no")]
)
def test_a_theme_that_there_is_not_lists_those_that_there_are(url: str, call: tuple[str, ...]) -> None:
    database = () if "demo" in call else ("--database", url)
    answer = on_terminal(*database, *call, columns=2000)
    assert answer.code == 2
    assert answer.out.startswith("lockwatch: theme: must be one of lockwatch, lockwatch-light, ")
    assert answer.out.count("\n") == 1


@pytest.mark.parametrize(
    ("variable", "value"), [("LOCKWATCH_INTERVAL", "0"), ("LOCKWATCH_THEME", "a b"), ("LOCKWATCH_READ_ONLY", "?")]
)
def test_a_bad_variable_is_one_line_that_names_it(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    answer = cli()
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"lockwatch: {variable}: must be ")
    assert answer.err.endswith(f"; got {value!r}\n")


def test_what_only_the_dashboard_needs_stops_no_other_verb(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(settings.INTERVAL, "0")
    monkeypatch.setenv(settings.THEME, "a b")
    assert cli("list").code == 0
