from __future__ import annotations

import json
from pathlib import Path

import pytest

from lockwatch.database import HEAD_REVISION
from tests.cli.running import Cli
from tests.support import LONG_AGO, dump, execute, path_of

SIX_COLUMNS = """CREATE TABLE locks (
    id INTEGER PRIMARY KEY, owner_id VARCHAR(255) NOT NULL, resource_type VARCHAR(50) NOT NULL,
    resource_id VARCHAR(255) NOT NULL, acquired_at VARCHAR(30) NOT NULL, expires_at VARCHAR(30) NOT NULL,
    UNIQUE (resource_type, resource_id))"""
FUTURE = "2999-01-01T00:00:00.000000Z"


@pytest.fixture
def six(tmp_path: Path) -> str:
    """A database of another program that has the six columns and nothing else of ours."""
    url = f"sqlite:///{tmp_path / 'six.db'}"
    execute(url, SIX_COLUMNS)
    for number, (name, expires_at) in enumerate({"live": FUTURE, "stale": LONG_AGO, "odd": "soon"}.items(), 1):
        execute(url, "INSERT INTO locks VALUES (?, 'a', 'plan', ?, ?, ?)", (number, name, LONG_AGO, expires_at))
    return url


def test_upgrade_makes_a_database_then_finds_it_made(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    first, second = (cli("db", "upgrade", "--database", f"sqlite:///{path}") for _ in range(2))
    assert (first.code, first.out) == (0, f"made at {HEAD_REVISION}: {path}\n")
    assert (second.code, second.out) == (0, f"already at {HEAD_REVISION}: {path}\n")


def test_upgrade_adopts_a_table_with_its_rows(cli: Cli, six: str) -> None:
    before = execute(six, "SELECT * FROM locks ORDER BY id")
    answer = cli("db", "upgrade", "--database", six)
    assert (answer.code, answer.out) == (0, f"upgraded to {HEAD_REVISION}: {path_of(six)}\n")
    assert execute(six, "SELECT * FROM locks ORDER BY id") == before


def test_upgrade_in_json(cli: Cli, six: str) -> None:
    first, second = (json.loads(cli("db", "upgrade", "--database", six, "--json").out) for _ in range(2))
    common = {"database": str(path_of(six)), "revision": HEAD_REVISION, "is_at_head": True, "made": False}
    assert first == {**common, "upgraded": True}
    assert second == {**common, "upgraded": False}


def test_current_prints_the_revision(cli: Cli) -> None:
    answer = cli("db", "current")
    assert (answer.code, answer.out, answer.err) == (0, f"{HEAD_REVISION}\n", "")


def test_current_says_that_there_is_none_and_makes_nothing(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "none.db"
    url = f"sqlite:///{path}"
    answer = cli("db", "current", "--database", url)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(f"none: `lockwatch --database {url} db upgrade`")
    assert json.loads(cli("db", "current", "--database", url, "--json").out) == {
        "database": str(path),
        "revision": None,
        "is_at_head": False,
    }
    assert not path.exists()


def test_the_default_file_is_made_and_upgraded_at_first_use(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCKWATCH_DATABASE_URL")
    assert cli("db", "current").out.startswith("none: ")
    assert cli("acquire", "plan/p1", "--owner", "a").code == 0
    assert cli("db", "upgrade").out.startswith("already at ")
    assert "plan/p1" in cli("list").out


def test_upgrade_says_that_it_made_the_default_file(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCKWATCH_DATABASE_URL")
    assert cli("db", "upgrade").out.startswith(f"made at {HEAD_REVISION}: ")


def test_the_option_after_the_verb_is_stronger_than_before_it_and_than_the_environment(
    cli: Cli, url: str, tmp_path: Path
) -> None:
    missing = f"sqlite:///{tmp_path / 'missing.db'}"
    assert cli("--database", missing, "list").code == 5
    assert cli("--database", missing, "list", "--database", url).code == 0
    assert cli("--database", url, "db", "current").out == f"{HEAD_REVISION}\n"


def test_a_database_without_the_table_ends_with_5_and_names_the_upgrade(cli: Cli, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'other.db'}"
    execute(url, "CREATE TABLE things (id INTEGER)")
    before = dump(url)
    answer = cli("list", "--database", url)
    assert (answer.code, answer.out) == (5, "")
    assert f"`lockwatch --database {url} db upgrade`" in answer.err
    assert dump(url) == before


def test_a_table_of_six_columns_is_shown_and_settled(cli: Cli, six: str) -> None:
    assert [line.split()[0] for line in cli("list", "--database", six).out.splitlines()[1:]] == [
        "plan/odd",
        "plan/stale",
        "plan/live",
    ]
    assert "HELD" in cli("show", "plan/live", "--database", six).out
    assert cli("renew", "plan/live", "--fence", "1", "--database", six).code == 0
    assert cli("release", "plan/live", "--owner", "a", "--database", six).code == 0
    assert cli("release", "plan/odd", "--fence", "3", "--database", six).code == 0
    assert cli("purge", "--database", six).out.endswith("1 purged\n")
    assert execute(six, "SELECT count(*) FROM locks") == [(0,)]


def test_acquire_on_a_table_of_six_columns_names_the_upgrade_and_changes_nothing(cli: Cli, six: str) -> None:
    before = dump(six)
    answer = cli("acquire", "plan/new", "--owner", "a", "--database", six)
    assert (answer.code, answer.out) == (5, "")
    assert f"`lockwatch --database {six} db upgrade`" in answer.err
    assert dump(six) == before
    cli("db", "upgrade", "--database", six)
    assert cli("acquire", "plan/new", "--owner", "a", "--database", six).code == 0
