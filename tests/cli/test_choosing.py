"""Databases by name: `--on`, what is listed of them, and what is said of those that are not there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from lockwatch import settings
from lockwatch.cli.opening import repeating
from tests.cli.running import Answer, Cli, spawn
from tests.support import insert_row, path_of, rows

FUTURE = "2999-01-01T00:00:00.000000Z"
LISTS = ["list", "show plan/p1", "purge --dry-run", "plans list", "diagnostics", "db current"]
"""Verbs that look at a database and change nothing."""


@pytest.fixture
def other(url: str, tmp_path: Path) -> str:
    """Another database than that of the environment, with one lock."""
    path = tmp_path / "other.db"
    shutil.copyfile(path_of(url), path)
    insert_row(f"sqlite:///{path}", "plan/p1", "of-other", expires_at=FUTURE)
    return f"sqlite:///{path}"


@pytest.fixture
def config(url: str, other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `config.toml` that names these two, and a server."""
    path = tmp_path / "config.toml"
    path.write_text(
        f'default = "other"\n[databases.other]\nurl = "{other}"\nlabel = "OTHER"\ncolour = "red"\n'
        f'[databases.first]\nurl = "{url}"\nread_only = true\n'
        '[databases.far]\nurl = "postgresql://app:s3cret@db1/orders?password=s3cret"\n'
    )
    monkeypatch.setenv(settings.CONFIG, str(path))
    return path


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize("call", LISTS)
def test_on_is_taken_before_a_verb_and_after_it(cli: Cli, call: str) -> None:
    before, after = cli("--on", "other", *call.split()), cli(*call.split(), "--on", "other")
    assert (before.code, before.err) == (after.code, after.err)
    warned = call == "diagnostics"  # of an expiry that is so far ahead
    assert before.code == (1 if warned else 0)
    if call in ("list", "show plan/p1"):
        assert "of-other" in before.out
        assert "of-other" in after.out


@pytest.mark.usefixtures("config")
def test_after_the_verb_counts_more_than_before_it(cli: Cli) -> None:
    assert "of-other" in cli("--on", "first", "list", "--on", "other").out


@pytest.mark.usefixtures("config")
def test_a_flag_is_stronger_than_the_environment_and_that_than_the_default(
    cli: Cli, url: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "of-other" not in cli("list").out
    monkeypatch.delenv(settings.DATABASE_URL)
    assert "of-other" in cli("list").out
    monkeypatch.setenv(settings.ON, "first")
    assert "of-other" not in cli("list").out
    assert "of-other" in cli("list", "--database", other).out
    assert rows(url) == []


@pytest.mark.usefixtures("config")
def test_what_settles_acts_on_the_named_database(cli: Cli, url: str, other: str) -> None:
    assert cli("--on", "other", "release", "plan/p1", "--owner", "of-other").code == 0
    assert cli("acquire", "plan/p2", "--owner", "me", "--on", "other").code == 0
    assert cli("run", "--on", "other", "plan/p3", "--", "true").code == 0
    assert cli("plans", "create", "import", "--project", "shop", "--on", "other").code == 0
    assert [cells[3] for cells in rows(other)] == [b"p2"]
    assert rows(url) == []


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize(
    "call", ["--on other --database {} list", "--on other list --database {}", "--database {} list --on other"]
)
def test_on_together_with_database_is_a_usage_error(cli: Cli, url: str, call: str) -> None:
    answer = cli(*call.format(url).split())
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == ("lockwatch: --on: must not be given together with --database: both name one; got 'other'\n")


@pytest.mark.parametrize("call", [("list",), ("acquire", "plan/x", "--owner", "a"), ("db", "upgrade"), ()])
def test_an_unknown_name_lists_those_that_there_are(cli: Cli, config: Path, call: tuple[str, ...]) -> None:
    answer = cli("--on", "othr", *call)
    assert (answer.code, answer.out) == (2, "")
    named = f"must be one of the databases that {config} names: other, first, far"
    assert answer.err == f"lockwatch: --on: {named}; got 'othr'\n"


def test_a_bad_config_is_one_line_that_ends_with_2(cli: Cli, config: Path) -> None:
    config.write_text('[databases.prod]\nurl = "postgresql://app:s3cret@db/x"\ncolour = "pink"')
    for call in (("list",), ("databases",), ("demo",), ()):
        answer = cli(*call)
        assert (answer.code, answer.out) == (2, "")
        rule = "must be one of red, orange, yellow, green, blue, purple, grey; got 'pink'"
        assert answer.err == f"lockwatch: {config}: databases.prod.colour: {rule}\n"


@pytest.mark.parametrize("call", ["--help", "--version", "list --help", "db --help"])
def test_help_reads_no_config(cli: Cli, config: Path, call: str) -> None:
    config.write_text("nonsense")
    assert cli(*call.split()).code == 0


def test_a_url_that_cannot_be_served_is_named_by_its_place_in_the_config(cli: Cli, config: Path) -> None:
    config.write_text('[databases.prod]\nurl = "oracle://app:s3cret@db/x"')
    answer = cli("--on", "prod", "list")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"lockwatch: {config}: databases.prod.url: must be ")
    assert "s3cret" not in answer.err


def test_a_url_that_cannot_be_served_is_named_by_its_variable(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(settings.DATABASE_URL, "oracle://app:s3cret@db/x")
    for call in LISTS:
        answer = cli(*call.split())
        assert (answer.code, answer.out) == (2, "")
        assert answer.err.startswith("lockwatch: LOCKWATCH_DATABASE_URL: must be ")
        assert "s3cret" not in answer.err
    assert cli("--database", "oracle://db/x", "list").err.startswith("lockwatch: database: must be ")


@pytest.mark.usefixtures("config")
def test_a_password_that_cannot_be_is_not_taken_for_a_fault_of_the_url(
    cli: Cli, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.write_text('[databases.prod]\nurl = "postgresql://app@db/x"')
    monkeypatch.setenv(settings.PASSWORD, "s3cret\udcff")
    answer = cli("--on", "prod", "list")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("lockwatch: password: must be text in UTF-8")
    assert "s3cret" not in answer.err


@pytest.mark.usefixtures("config")
def test_databases_are_listed_without_passwords(cli: Cli, url: str, other: str) -> None:
    answer = cli("databases")
    assert (answer.code, answer.err) == (0, "")
    assert [line.split() for line in answer.out.splitlines()] == [
        ["NAME", "LABEL", "DEFAULT", "READ-ONLY", "URL"],
        ["other", "OTHER", "yes", "–", other],
        ["first", "–", "–", "yes", url],
        ["far", "–", "–", "–", "postgresql://app@db1/orders?…"],
    ]


def test_databases_in_json(cli: Cli, config: Path, other: str) -> None:
    answer = json.loads(cli("databases", "--json").out)
    assert answer["config"] == str(config)
    assert answer["databases"][0] == {
        "name": "other",
        "label": "OTHER",
        "colour": "red",
        "default": True,
        "read_only": False,
        "url": other,
    }
    assert answer["databases"][2]["label"] is None
    assert "s3cret" not in json.dumps(answer)


def test_without_a_config_no_database_is_listed(cli: Cli) -> None:
    answer = cli("databases")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("no database is named in ")
    assert json.loads(cli("databases", "--json").out)["databases"] == []


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("lockwatch --on ", ["other", "first", "far"]),
        ("lockwatch --on f", ["first", "far"]),
        ("lockwatch list --on o", ["other"]),
        ("lockwatch list --on x", []),
        ("lockwatch --theme lockw", ["lockwatch", "lockwatch-light"]),
        ("lockwatch dashboard --theme nor", ["nord"]),
    ],
)
def test_a_shell_completes_names(words: str, offered: list[str]) -> None:
    assert _completed(words).out.split() == offered


def test_a_bad_config_offers_a_shell_nothing_and_no_error(config: Path) -> None:
    config.write_text("nonsense")
    answer = _completed("lockwatch --on ")
    assert (answer.out.strip(), answer.err) == ("", "")


def _completed(words: str) -> Answer:
    position = str(len(words.split(" ")) - 1)
    return spawn(env={"_LOCKWATCH_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": position})


@pytest.fixture
def texts(tmp_path: Path) -> str:
    """A file that is no database."""
    path = tmp_path / "text.db"
    path.write_text("this is no database\n" * 500)
    return f"sqlite:///{path}"


@pytest.mark.parametrize(
    "call", [*LISTS[:4], "db current", "db upgrade", "purge", "acquire plan/x --owner a", "plans recover"]
)
def test_what_is_wrong_with_a_file_is_said_with_its_name(cli: Cli, texts: str, call: str) -> None:
    answer = cli("--database", texts, *call.split())
    assert (answer.code, answer.out) == (5, "")
    assert answer.err == (f"lockwatch: {path_of(texts)}: the file is not an SQLite database (file is not a database)\n")


def test_a_name_that_is_in_the_error_is_not_said_twice(cli: Cli, tmp_path: Path) -> None:
    answer = cli("--database", f"sqlite:///{tmp_path}/none.db", "list")
    assert answer.err.partition(";")[0].count(f"{tmp_path}/none.db") == 1


@pytest.mark.usefixtures("config")
def test_a_password_is_asked_for_only_where_there_can_be_one(cli: Cli) -> None:
    answer = cli("--on", "other", "--ask-password", "list")
    assert (answer.code, answer.out) == (2, "")
    assert "--ask-password: must be for a server's database: a file has no password" in answer.err


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("call", ["list", "purge", "plans list", "db current", "diagnostics", "diagnostics --json"])
def test_what_is_recommended_is_about_the_database_that_was_asked_for(
    cli: Cli, config: Path, tmp_path: Path, call: str, before: bool
) -> None:
    config.write_text(f'{config.read_text()}[databases.new]\nurl = "sqlite:///{tmp_path}/a new.db"\n')
    for flags, repeated in (
        (("--on", "new"), "--on new"),
        (("--database", f"sqlite:///{tmp_path}/a new.db"), f"--database 'sqlite:///{tmp_path}/a new.db'"),
    ):
        answer = cli(*flags, *call.split()) if before else cli(*call.split(), *flags)
        assert f"`lockwatch {repeated} db upgrade`" in answer.out + answer.err


def test_a_hint_repeats_the_flag_alone_where_its_url_is_a_servers() -> None:
    target = settings.choose(database="postgresql://app:s3cret@db1/orders")
    assert repeating("`lockwatch db upgrade` makes it", target) == "`lockwatch --database URL db upgrade` makes it"


@pytest.mark.usefixtures("config")
def test_what_is_recommended_repeats_no_flag_that_was_not_given() -> None:
    assert repeating("`lockwatch db upgrade` makes it", settings.choose()) == "`lockwatch db upgrade` makes it"
