"""Verbs over a file work where SQLAlchemy cannot be imported: then none of them waits for it to load."""

from __future__ import annotations

import pytest

import lockwatch
from tests.cli.running import Answer, spawn

WITHOUT = """
import sys
sys.modules["sqlalchemy"] = None  # an import of it fails
from lockwatch.cli import main
sys.exit(main(sys.argv[1:]))
"""


def _without_sqlalchemy(url: str, *arguments: str) -> Answer:
    return spawn("--database", url, *arguments, interpreter=("-c", WITHOUT))


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
def test_a_verb_over_a_file_needs_no_sqlalchemy(url: str, call: str) -> None:
    with lockwatch.connect(url) as now:
        now.acquire("plan", "p1", "a")
    answer = _without_sqlalchemy(url, *call.split())
    assert (answer.code, answer.err) == (0, "")


def test_a_verb_of_plans_needs_it(url: str) -> None:
    answer = _without_sqlalchemy(url, "plans", "list")
    assert answer.code == 1
    assert "sqlalchemy" in answer.err
