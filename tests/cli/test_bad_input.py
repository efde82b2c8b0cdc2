from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.cli.running import Cli, spawn
from tests.support import LONG_AGO, dump, execute, rows

VERBS = [
    ("list",),
    ("list", "--json"),
    ("show", "plan/p1"),
    ("acquire", "plan/p1", "--owner", "a"),
    ("renew", "plan/p1", "--owner", "a"),
    ("renew", "plan/p1", "--fence", "1"),
    ("release", "plan/p1", "--owner", "a"),
    ("release", "plan/p1", "--fence", "1"),
    ("purge",),
    ("purge", "--dry-run"),
    ("run", "plan/p1", "--", "false"),
    ("plans", "list"),
    ("plans", "show", "p1"),
    ("plans", "create", "import", "--project", "shop"),
    ("plans", "start", "p1"),
    ("plans", "fail", "p1", "--reason", "x"),
    ("plans", "recover"),
    ("db", "upgrade"),
]
"""All that needs a database, except `db current` and `diagnostics`, whose answer a bad one is."""

BAD_RESOURCES = ["p1", "", "/", "plan/", "plan/ ", "plan/ x", "plan/x ", "plan/a\nb", "plan/\x1b[2J", "plan/\x7f"]
BAD_RESOURCES += [
    f"plan/{'x' * 256}",
    f"plan/{'😀' * 256}",
    "job/p1",
    "PLAN/p1",
    "plan\n/p1",
    " plan/p1",
    "pl\x1ban/p1",
]
BAD_TTLS = ["0", "-1", "4.999", "3600.001", "nan", "inf", "-inf", "1e12", "True", "five", "", "5s", "0x10"]
BAD_URLS = ["postgresql://u:secret@db", "mysql+pymysql://u:secret@db/", "oracle://u:secret@db/x"]
BAD_URLS += [
    "nonsense",
    "",
    "sqlite://",
    "sqlite:///:memory:",
    "sqlite://u:secret@db/x.db",
    "://u:secret@x",
    "http://x",
]
BAD_URLS += ["sqlite:///x.db?mode=ro&password=secret", "u:secret@db", "postgresql://u:se%40cret@[db/x"]


def _is_one_clear_line(text: str) -> bool:
    return text.startswith("lockwatch: ") and text.endswith("\n") and text.count("\n") == 1 and "Traceback" not in text


@pytest.mark.parametrize("resource", BAD_RESOURCES)
@pytest.mark.parametrize(
    "call", [("acquire", "--owner", "a"), ("renew", "--owner", "a"), ("release", "--owner", "a"), ("show",)]
)
def test_a_bad_resource_is_a_usage_error(cli: Cli, url: str, call: tuple[str, ...], resource: str) -> None:
    answer = cli(*call, "--", resource)
    assert (answer.code, answer.out) == (2, "")
    assert _is_one_clear_line(answer.err)
    assert rows(url) == []


@pytest.mark.parametrize("verb", ["renew", "release"])
@pytest.mark.parametrize("resource", ["p1", "job/p1", "plan/", f"plan/{'x' * 256}"])
def test_a_fence_makes_a_typing_error_no_better(cli: Cli, verb: str, resource: str) -> None:
    answer = cli(verb, resource, "--fence", "1")
    assert (answer.code, answer.out) == (2, "")
    assert _is_one_clear_line(answer.err)


@pytest.mark.parametrize("owner", ["", " ", "\t", "a\nb", "a\x00b", "\x1b[2J", " a", "a ", "x" * 256])
@pytest.mark.parametrize("verb", ["acquire", "renew", "release"])
def test_a_bad_owner_is_a_usage_error(cli: Cli, url: str, verb: str, owner: str) -> None:
    answer = cli(verb, "plan/p1", "--owner", owner)
    assert (answer.code, answer.out) == (2, "")
    assert _is_one_clear_line(answer.err)
    assert rows(url) == []


@pytest.mark.parametrize("ttl", BAD_TTLS)
@pytest.mark.parametrize("call", [("acquire", "--owner", "a"), ("renew", "--owner", "a"), ("renew", "--fence", "1")])
def test_a_ttl_out_of_range_is_a_usage_error(cli: Cli, url: str, call: tuple[str, ...], ttl: str) -> None:
    cli("acquire", "plan/p1", "--owner", "a", "--ttl", "5")
    before = rows(url)
    answer = cli(*call, "plan/p1", "--ttl", ttl)
    assert (answer.code, answer.out) == (2, "")
    assert _is_one_clear_line(answer.err)
    assert rows(url) == before


@pytest.mark.parametrize("ttl", ["5", "3600", "5.5"])
def test_the_limits_of_a_ttl_are_allowed(cli: Cli, ttl: str) -> None:
    assert cli("acquire", "plan/p1", "--owner", "a", "--ttl", ttl).code == 0


def test_names_at_the_limit_are_allowed(cli: Cli) -> None:
    assert cli("acquire", f"plan/{'😀' * 255}", "--owner", "😁" * 255).code == 0


@pytest.mark.parametrize("fence", ["x", "1.5", "", "9" * 30])
def test_a_fence_that_is_no_number_of_ours_settles_nothing(cli: Cli, url: str, fence: str) -> None:
    cli("acquire", "plan/p1", "--owner", "a")
    before = rows(url)
    answer = cli("release", "plan/p1", "--fence", fence)
    assert answer.code in (2, 4)
    assert _is_one_clear_line(answer.err)
    assert rows(url) == before


@pytest.mark.parametrize("bad", BAD_URLS)
@pytest.mark.parametrize("call", [("list",), ("plans", "list"), ("diagnostics",), ("db", "upgrade"), ("db", "current")])
def test_a_bad_url_is_a_usage_error_that_holds_no_password(cli: Cli, call: tuple[str, ...], bad: str) -> None:
    before_verb, after_verb = cli("--database", bad, *call), cli(*call, "--database", bad)
    assert before_verb == after_verb
    assert (after_verb.code, after_verb.out) == (2, "")
    assert _is_one_clear_line(after_verb.err)
    assert "cret" not in after_verb.err


def test_a_url_in_the_wrong_place_shows_no_password(cli: Cli) -> None:
    url = "postgresql://user:secret@db/x"
    for call in ((url, "list"), ("list", url), ("purge", f"--{url}"), ("show", url), ("acquire", url, "--owner", "a")):
        answer = cli(*call)
        assert (answer.code, answer.out) == (2, "")
        assert "secret" not in answer.err


def test_an_unknown_verb_or_option_names_the_help(cli: Cli) -> None:
    for call in (("frobnicate",), ("list", "--frobnicate"), ("acquire",), ("db",), ("db", "x"), ("show", "a/b", "c")):
        answer = cli(*call)
        assert answer.code == 2
        assert _is_one_clear_line(answer.err)
        assert "--help`" in answer.err


@contextmanager
def _unchanged(folder: Path) -> Iterator[None]:
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    yield
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with all kinds of things that are no database of ours."""
    folder = tmp_path / "things"
    folder.mkdir()
    (folder / "text.db").write_text("this is no database\n" * 500)
    (folder / "folder.db").mkdir()
    execute(f"sqlite:///{folder}/foreign.db", "CREATE TABLE locks (id INTEGER PRIMARY KEY, door TEXT)")
    execute(f"sqlite:///{folder}/foreign.db", "INSERT INTO locks (door) VALUES ('front')")
    return folder


@pytest.mark.parametrize("name", ["text.db", "folder.db", "foreign.db"])
@pytest.mark.parametrize("call", VERBS, ids=" ".join)
def test_what_is_no_database_of_ours_is_an_error_and_stays_as_it_is(
    cli: Cli, folder: Path, name: str, call: tuple[str, ...]
) -> None:
    with _unchanged(folder):
        answer = cli("--database", f"sqlite:///{folder / name}", *call)
    assert (answer.code, answer.out) == (5, "")
    assert _is_one_clear_line(answer.err)


@pytest.mark.parametrize("call", [*VERBS[:-1], ("diagnostics",)], ids=" ".join)
def test_a_missing_file_is_an_error_and_is_not_made(cli: Cli, folder: Path, call: tuple[str, ...]) -> None:
    with _unchanged(folder):
        answer = cli("--database", f"sqlite:///{folder}/missing.db", *call)
    assert answer.code == (2 if call == ("diagnostics",) else 5)
    assert "there is no database file" in answer.err + answer.out


def test_a_folder_that_is_missing_is_an_error_of_the_upgrade(cli: Cli, folder: Path) -> None:
    answer = cli("--database", f"sqlite:///{folder}/missing/x.db", "db", "upgrade")
    assert answer.code == 5
    assert _is_one_clear_line(answer.err)


@contextmanager
def _without_privileges() -> Iterator[None]:
    """Permission bits do not bind root: act as nobody for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def read_only() -> Iterator[str]:
    """A database of ours that cannot be written, in a folder that everybody may enter and nobody may write."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "locks.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(
                "CREATE TABLE locks (id INTEGER PRIMARY KEY AUTOINCREMENT, owner_id TEXT, resource_type TEXT,"
                " resource_id TEXT, acquired_at TEXT, expires_at TEXT, UNIQUE (resource_type, resource_id))"
            )
            connection.execute(
                "INSERT INTO locks VALUES (1, 'a', 'plan', 'p1', ?, '2998-01-01')",
                (LONG_AGO,),
            )
            connection.execute("INSERT INTO locks VALUES (2, 'b', 'plan', 'p2', ?, ?)", (LONG_AGO, LONG_AGO))
            connection.commit()
        path.chmod(0o444)
        Path(name).chmod(0o555)
        yield f"sqlite:///{path}"
        Path(name).chmod(0o755)


@pytest.mark.parametrize(
    "call",
    [
        ("acquire", "plan/p3", "--owner", "a"),
        ("release", "plan/p1", "--owner", "a"),
        ("release", "plan/p1", "--fence", "1"),
        ("purge",),
        ("run", "plan/p3", "--", "false"),
        ("db", "upgrade"),
    ],
    ids=" ".join,
)
def test_a_file_that_cannot_be_written_is_read_and_left_as_it_is(
    cli: Cli, read_only: str, call: tuple[str, ...]
) -> None:
    cli("db", "current")  # all that is imported late, while it can be read
    before = dump(read_only)
    with _without_privileges():
        shown = cli("--database", read_only, "list")
        answer = cli("--database", read_only, *call)
    assert (shown.code, shown.out.count("\n")) == (0, 3)
    assert answer.code == 5
    assert _is_one_clear_line(answer.err)
    assert "cannot be written" in answer.err
    assert dump(read_only) == before


@pytest.mark.parametrize(
    "call", [("list", "--database", "postgresql://u:secret@db"), ("acquire", "job/x", "--owner", "a"), ("show", "x")]
)
def test_a_process_of_its_own_says_it_in_one_line_too(url: str, call: tuple[str, ...]) -> None:
    answer = spawn("--database", url, *call)
    assert (answer.code, answer.out) == (2, "")
    assert _is_one_clear_line(answer.err)
    assert "secret" not in answer.err


@pytest.mark.parametrize(
    ("given", "flag"),
    [
        (("acquire", "plan/p1", "--owner", "a", "--ttl", "1"), "--ttl"),
        (("acquire", "plan/p1", "--owner", " "), "--owner"),
        (("run", "plan/p1", "--wait", "-1", "--", "true"), "--wait"),
        (("plans", "create", "import", "--project", " "), "--project"),
    ],
)
def test_what_breaks_a_rule_is_called_as_it_was_typed(cli: Cli, given: tuple[str, ...], flag: str) -> None:
    refused = cli(*given)
    assert (refused.code, refused.err.startswith(f"lockwatch: {flag}: must ")) == (2, True), refused.err
