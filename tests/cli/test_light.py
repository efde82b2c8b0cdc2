"""Verbs over a file work where what takes long to load cannot be imported: then none of them waits for it."""

from __future__ import annotations

import pytest

import lockwatch
from tests.cli.running import Answer, spawn
from tests.tui.terminal import terminal

WITHOUT = """
import sys
sys.modules[{module!r}] = None  # an import of it fails
from lockwatch.cli import main
sys.exit(main(sys.argv[1:]))
"""


def _without(module: str, url: str, *arguments: str) -> Answer:
    return spawn("--database", url, *arguments, interpreter=("-c", WITHOUT.format(module=module)))


@pytest.fixture
def held(url: str) -> str:
    """The URL of a database where `a` holds plan/p1."""
    with lockwatch.connect(url) as service:
        service.acquire("plan", "p1", "a")
    return url


@pytest.mark.parametrize(
    "call",
    [
        "list",
        "list --json",
        "show plan/p1",
        "acquire plan/p2 --owner b",
        "renew plan/p1 --owner a",
        "release plan/p1 --owner a",
        "purge",
        "run plan/p3 -- true",
        "db current",
    ],
)
def test_a_verb_over_a_file_needs_no_sqlalchemy(held: str, call: str) -> None:
    answer = _without("sqlalchemy", held, *call.split())
    assert (answer.code, answer.err) == (0, "")


def test_a_verb_of_plans_needs_it(url: str) -> None:
    answer = _without("sqlalchemy", url, "plans", "list")
    assert answer.code == 1
    assert "sqlalchemy" in answer.err


@pytest.mark.parametrize("call", ["list", "acquire plan/p2 --owner a --ttl 60", "run plan/p3 -- true", "plans list"])
def test_no_value_needs_pydantic(held: str, call: str) -> None:
    answer = _without("pydantic", held, *call.split())
    assert (answer.code, answer.err) == (0, "")


@pytest.mark.parametrize("module", ["sqlalchemy", "pydantic", "lockwatch.cli.verbs"])
def test_the_first_frame_of_the_dashboard_over_a_file_needs_none_of_them(held: str, module: str) -> None:
    program = WITHOUT.format(module=module).replace("sys.argv[1:]", '["--database", sys.argv[1]]')
    with terminal(held, program=program) as opened:
        opened.until(lambda: "plan/p1" in opened.screen())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("release plan/p1 --fence x", "--fence"),
        ("acquire plan/p2 --owner b --ttl soon", "--ttl"),
        ("list --json=maybe", "--json"),
        ("show", "RESOURCE"),
        ("--interval often list", "--interval"),
        ("--interval 0 list", "--interval"),
    ],
)
def test_what_is_not_of_its_type_is_refused_as_ever(held: str, call: str, words: str) -> None:
    answer = spawn("--database", held, *call.split())
    assert (answer.code, answer.out) == (2, "")
    assert words.lower() in answer.err.lower()
