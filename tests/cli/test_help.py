from __future__ import annotations

import pytest

from lockwatch.version import __version__
from tests.cli.running import Cli, spawn

VERBS = (
    "dashboard",
    "list",
    "show",
    "acquire",
    "renew",
    "release",
    "purge",
    "run",
    "plans",
    "diagnostics",
    "databases",
    "demo",
    "db",
    "db upgrade",
    "db current",
)
HEAVY = ("sqlalchemy", "textual", "alembic")
PROBE = f"""
import sys
from lockwatch.cli import main
code = main(sys.argv[1:])
sys.exit(code or ",".join(name for name in {HEAVY} if name in sys.modules) or 0)
"""


@pytest.mark.parametrize("call", ["--help", "--version", *(f"{verb} --help" for verb in VERBS)])
def test_help_and_version_import_no_database_and_no_dashboard(call: str) -> None:
    answer = spawn(*call.split(), interpreter=("-c", PROBE))
    assert (answer.code, answer.err) == (0, "")
    assert answer.out


@pytest.mark.parametrize("module", HEAVY)
def test_the_probe_for_heavy_imports_can_fail(module: str) -> None:
    answer = spawn("--version", interpreter=("-c", f"import {module}\n{PROBE}"))
    assert answer.code == 1
    assert module in answer.err


def test_help_names_every_verb(cli: Cli) -> None:
    text = cli("--help").out
    assert [verb for verb in VERBS if f"  {verb.split()[0]}  " not in text] == []


def test_help_cuts_no_verb_short(cli: Cli) -> None:
    assert "..." not in cli("--help").out.partition("Commands:")[2]


def test_the_version_is_printed_and_the_call_is_done(cli: Cli) -> None:
    answer = cli("--version")
    assert (answer.code, answer.out, answer.err) == (0, f"lockwatch {__version__}\n", "")


def test_it_runs_as_a_module() -> None:
    answer = spawn("--version")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("lockwatch ")


def test_shell_completion_knows_the_verbs() -> None:
    completion = {"_LOCKWATCH_COMPLETE": "complete_bash", "COMP_WORDS": "lockwatch di", "COMP_CWORD": "1"}
    assert spawn(env=completion).out.split() == ["diagnostics"]


@pytest.mark.parametrize("verb", ["list", "purge", "plans list", "db current"])
@pytest.mark.parametrize("flag", ["--read-only", "--no-read-only", "--ask-password"])
def test_a_flag_that_goes_before_the_verb_is_said_to(cli: Cli, verb: str, flag: str) -> None:
    answer = cli(*verb.split(), flag)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == f"lockwatch: No such option: {flag}; it goes before the verb: `lockwatch {flag} {verb}`\n"


@pytest.mark.parametrize("call", ["list --interval 1", "list --bogus"])
def test_no_other_flag_is_said_to_go_before_the_verb(cli: Cli, call: str) -> None:
    assert cli(*call.split()).err.endswith("see `lockwatch list --help`.\n")


def test_a_flag_of_the_command_that_is_run_is_said_to_come_after_dashes(cli: Cli) -> None:
    answer = cli("run", "plan/p1", "ls", "-d", "/")
    assert (answer.code, answer.out) == (2, "")
    assert (
        answer.err
        == "lockwatch: No such option: -d; flags of the command come after `--`; see `lockwatch run --help`.\n"
    )
