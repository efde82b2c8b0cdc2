"""URLs, files and the default database: what is opened, made, upgraded, refused."""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import lockwatch
from lockwatch import migrating, settings
from lockwatch.database import HEAD_REVISION, Database, connect, open_database
from lockwatch.sqlite_file import BUSY_TIMEOUT_SECS, SqliteFile
from tests.support import Clock, dump, execute, path_of, together


def _bytes_and_names(folder: Path) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.is_file()}


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("sqlite://", "in memory"),
        ("sqlite:///", "in memory"),
        ("sqlite:///:memory:", "in memory"),
        ("sqlite:///file:locks.db", "in memory"),
        ("sqlite:///locks.db?mode=memory", "without parameters"),
        ("sqlite:///locks\0.db", "NUL"),
        ("sqlite://host/locks.db", "SQLite file"),
        ("sqlite+aiosqlite:///locks.db", "SQLite file"),
        ("oracle://host/locks", "SQLite file"),
        ("nonsense://host/locks", "SQLite file"),
        ("sqlite://:port/locks.db", "SQLite file"),
        ("locks.db", "SQLite file"),
        ("", "SQLite file"),
        (5, "SQLite file"),
        (b"sqlite:///locks.db", "SQLite file"),
        (Path("locks.db"), "SQLite file"),
    ],
)
def test_a_url_of_what_is_not_served_is_refused(url: str, rule: str) -> None:
    with pytest.raises(lockwatch.ValidationError, match=rule) as refused:
        Database.from_url(url)
    assert refused.value.argument == "database"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hunter2@host",
        "postgresql://me:hunter2@host:port/locks",
        "mysql+pymysql://me:hunter2@host/?charset=utf8mb4",
        "unknown://me:hunter2@host/locks",
        "sqlite://me:hunter2@/locks.db",
        "sqlite://me:hunter2@/locks.db?timeout=3",
        "sqlite://me:hunter2@host/locks.db",
        "sqlite://me:hunter2@/:memory:",
        "sqlite:///locks.db?password=hunter2",
        "me:hunter2@host/locks",
    ],
)
def test_a_password_is_in_no_message(url: str) -> None:
    with pytest.raises(lockwatch.ValidationError) as refused:
        Database.from_url(url)
    assert "hunter2" not in f"{refused.value} {refused.value!r} {refused.value.args}"


@pytest.mark.parametrize("name", ["a b.db", "100%.db", "a?b#c.db", "ключ.db", "-x.db", "a'b\"c.db"])
def test_any_file_name_works(tmp_path: Path, upgraded_database: Path, name: str) -> None:
    shutil.copyfile(upgraded_database, tmp_path / name)
    file = SqliteFile(tmp_path / name)
    assert not file.upgrade()
    with lockwatch.LockService(file.engine(), identity=file.identity) as service:
        assert service.acquire("plan", "p1", "a").id == 1


def test_a_path_with_two_leading_slashes_is_that_path(url: str) -> None:
    with connect(f"sqlite:////{path_of(url)}") as service:
        assert service.snapshot().locks == ()


def test_a_relative_path_keeps_its_meaning_when_the_program_changes_folder(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with connect(f"sqlite:///{path_of(url).name}") as service:
        monkeypatch.chdir("/")
        assert service.acquire("plan", "p1", "a").id == 1


def test_a_relative_path_from_a_folder_that_is_gone_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(
        lockwatch.DatabaseError, match=r"^x/locks\.db cannot be found from here: the current folder is gone"
    ):
        connect("sqlite:///x/locks.db")
    assert Database.from_url("sqlite:////x/locks.db").name == "/x/locks.db"


def test_an_explicit_url_is_never_made_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = f"sqlite:///{tmp_path}/missing.db"
    monkeypatch.setenv("LOCKWATCH_DATABASE_URL", missing)
    for url in (missing, None):
        with connect(url) as service, pytest.raises(lockwatch.DatabaseError, match=r"no database file.*db upgrade"):
            service.snapshot()
    assert _bytes_and_names(tmp_path) == {}


def test_an_explicit_url_is_never_upgraded_unasked(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    with (
        connect(f"sqlite:///{tmp_path}/empty.db") as service,
        pytest.raises(lockwatch.DatabaseError, match=r"no table `locks` yet.*db upgrade"),
    ):
        service.acquire("plan", "p1", "a")
    assert _bytes_and_names(tmp_path) == {"empty.db": b""}


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("dear diary, " * 500)
    before = _bytes_and_names(tmp_path)
    url = f"sqlite:///{tmp_path}/notes.txt"
    with connect(url) as service, pytest.raises(lockwatch.DatabaseError, match="not an SQLite database") as refused:
        service.acquire("plan", "p1", "a")
    assert isinstance(refused.value.__cause__, sqlite3.DatabaseError)
    for call in (Database.from_url(url).upgrade, Database.from_url(url).revision):
        with pytest.raises(lockwatch.DatabaseError, match="not an SQLite database"):
            call()
    assert _bytes_and_names(tmp_path) == before


def test_a_folder_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}"
    with connect(url) as service, pytest.raises(lockwatch.DatabaseError, match="is not a file"):
        service.snapshot()
    for call in (Database.from_url(url).upgrade, Database.from_url(url).revision):
        with pytest.raises(lockwatch.DatabaseError, match="is not a file"):
            call()


@pytest.mark.parametrize("name", ["no/such/folder.db", "x" * 300])
def test_a_path_where_no_file_can_be_is_a_database_error(tmp_path: Path, name: str) -> None:
    file = SqliteFile(tmp_path / name)
    with pytest.raises(lockwatch.DatabaseError):
        file.upgrade()
    with connect(f"sqlite:///{file.path}") as service, pytest.raises(lockwatch.DatabaseError):
        service.snapshot()


def test_a_file_that_cannot_be_opened_is_a_database_error(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> sqlite3.Connection:
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(SqliteFile, "_connect", refuse)
    with connect(url) as service, pytest.raises(lockwatch.DatabaseError, match="unable to open") as refused:
        service.snapshot()
    assert isinstance(refused.value.__cause__, sqlite3.OperationalError)
    for call in (Database.from_url(url).upgrade, Database.from_url(url).revision):
        with pytest.raises(lockwatch.DatabaseError, match="unable to open"):
            call()


def test_the_environment_names_the_database(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCKWATCH_DATABASE_URL", url)
    with connect() as service:
        assert service.acquire("plan", "p1", "a").id == 1
    assert execute(url, "SELECT owner_id FROM locks") == [("a",)]


def test_an_argument_is_stronger_than_the_environment(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCKWATCH_DATABASE_URL", "sqlite:////nowhere/at/all.db")
    with connect(url) as service:
        assert service.snapshot().locks == ()


def test_the_environment_allows_more_resource_types(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCKWATCH_RESOURCE_TYPES", " job, ,deployment ")
    with connect(url) as service:
        assert service.resource_types == {"plan", "project", "job", "deployment"}
    with connect(url, resource_types=["queue"]) as service:
        assert service.resource_types == {"plan", "project", "queue"}
    with connect(url, resource_types=()) as service:
        assert service.resource_types == {"plan", "project"}


def test_a_type_that_cannot_be_is_told_with_the_variable_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCKWATCH_RESOURCE_TYPES", "job,a/b")
    with pytest.raises(lockwatch.ValidationError, match=r"^LOCKWATCH_RESOURCE_TYPES: .*slash.*'a/b'$"):
        connect("sqlite:///locks.db")


def test_the_default_database_is_made_and_upgraded_at_first_use(tmp_path: Path) -> None:
    with connect() as service:
        assert service.acquire("plan", "p1", "a").id == 1
    assert settings.default_database().is_relative_to(tmp_path / "home")
    assert settings.default_database().is_file()
    assert open_database().is_at_head()
    assert not lockwatch.upgrade()
    with connect() as service:
        assert [lock.owner_id for lock in service.snapshot().locks] == ["a"]


def test_a_default_folder_that_cannot_be_made_is_a_database_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(settings, "default_database", lambda: tmp_path / "file" / "folder" / "locks.db")
    with pytest.raises(lockwatch.DatabaseError, match="cannot be made"):
        connect()


def _use_default_first(home: str, owner: str) -> int:
    os.environ["HOME"] = home
    os.environ["XDG_DATA_HOME"] = home
    with connect() as service:
        return service.acquire("plan", owner, owner).id


def test_two_first_users_of_the_default_database_at_once_both_succeed(tmp_path: Path) -> None:
    home = str(tmp_path)
    assert sorted(together(_use_default_first, (home, "a"), (home, "b"), (home, "c"))) == [1, 2, 3]


def test_an_upgraded_file_has_a_write_ahead_log(url: str, tmp_path: Path) -> None:
    assert execute(url, "PRAGMA journal_mode") == [("wal",)]
    assert SqliteFile(path_of(url)).journal_mode() == "wal"
    with pytest.raises(lockwatch.DatabaseError, match="no database file"):
        SqliteFile(tmp_path / "missing.db").journal_mode()
    (tmp_path / "notes.txt").write_text("dear diary, " * 500)
    with pytest.raises(lockwatch.DatabaseError, match="not an SQLite database"):
        SqliteFile(tmp_path / "notes.txt").journal_mode()


def test_a_file_that_is_made_has_small_pages_and_one_that_was_there_keeps_its_own(url: str, tmp_path: Path) -> None:
    assert execute(url, "PRAGMA page_size") == [(1024,)]
    there = f"sqlite:///{tmp_path / 'there.db'}"
    with closing(sqlite3.connect(path_of(there))) as connection:
        connection.execute("PRAGMA page_size = 8192")
        connection.execute("CREATE TABLE notes (text)")
    lockwatch.upgrade(there)
    assert execute(there, "PRAGMA page_size") == [(8192,)]


def test_connections_do_not_wait_for_the_disk_at_every_commit(service: lockwatch.LockService) -> None:
    with service._tables.use() as table:
        assert table.connection.rows("PRAGMA synchronous") == [(1,)]
        assert table.connection.rows("PRAGMA busy_timeout") == [(int(BUSY_TIMEOUT_SECS * 1000),)]


def test_revision_tells_the_migration_or_none(url: str, tmp_path: Path) -> None:
    assert Database.from_url(url).revision() == HEAD_REVISION
    assert Database.from_url(url).is_at_head()
    assert SqliteFile(tmp_path / "missing.db").revision() is None
    (tmp_path / "empty.db").touch()
    assert SqliteFile(tmp_path / "empty.db").revision() is None
    execute(url, "DELETE FROM lockwatch_version")
    assert Database.from_url(url).revision() is None


@pytest.mark.parametrize(
    "spoil",
    [
        "UPDATE lockwatch_version SET version_num = 'm9_from_the_future'",
        "DROP TABLE lockwatch_version; CREATE TABLE lockwatch_version (x TEXT)",
        "DROP TABLE lockwatch_version; CREATE VIEW lockwatch_version AS SELECT 1 AS version_num",
    ],
)
def test_a_version_that_is_not_known_is_a_database_error_and_nothing_is_changed(url: str, spoil: str) -> None:
    for statement in spoil.split("; "):
        execute(url, statement)
    before = dump(url)
    with pytest.raises(lockwatch.DatabaseError):
        lockwatch.upgrade(url)
    assert dump(url) == before


def test_a_version_that_is_no_text_is_read_as_text(url: str) -> None:
    for value, told in (("x'ff1b'", "\udcff\x1b"), ("NULL", None), ("5", "5")):
        execute(url, "DROP TABLE lockwatch_version")
        execute(url, f"CREATE TABLE lockwatch_version AS SELECT {value} AS version_num")
        assert Database.from_url(url).revision() == told


def test_of_many_upgrades_at_once_one_says_that_it_was_done(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/new.db"
    assert sorted(together(lockwatch.upgrade, *[(url,)] * 4)) == [False, False, False, True]


def test_a_path_without_its_folder_is_named_by_the_upgrade(tmp_path: Path) -> None:
    with pytest.raises(lockwatch.DatabaseError, match=f"no folder {tmp_path}/missing"):
        lockwatch.upgrade(f"sqlite:///{tmp_path}/missing/x.db")


@pytest.mark.parametrize(
    ("given", "shown"), [("locks.db", "'locks.db'"), ("user:secret@host/x", "'…'"), ("password=secret", "'…'")]
)
def test_what_is_no_url_is_shown_unless_it_may_hold_a_password(given: str, shown: str) -> None:
    with pytest.raises(lockwatch.ValidationError) as refused:
        Database.from_url(given)
    assert str(refused.value).endswith(f"got {shown}")


def test_an_upgrade_leaves_the_logging_of_its_program_alone(tmp_path: Path) -> None:
    root = logging.getLogger()
    before = (root.level, list(root.handlers), logging.getLogger("program").disabled)
    assert lockwatch.upgrade(f"sqlite:///{tmp_path}/new.db")
    assert (root.level, list(root.handlers), logging.getLogger("program").disabled) == before


def test_an_upgrade_prints_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lockwatch.upgrade(f"sqlite:///{tmp_path}/new.db")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("layout", ["wheel", "checkout"])
def test_migrations_are_found_in_a_wheel_and_in_a_checkout(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "lockwatch"
    (tmp_path / "migrations").mkdir()
    package.mkdir()
    if layout == "wheel":
        (package / "migrations").mkdir()
    monkeypatch.setattr(migrating, "__file__", str(package / "migrating.py"))
    expected = package / "migrations" if layout == "wheel" else tmp_path / "migrations"
    assert migrating.migrations_path() == expected


def test_migrations_are_found_here() -> None:
    assert (migrating.migrations_path() / "env.py").is_file()


def test_a_service_with_a_moved_clock_judges_by_it(url: str, clock: Clock) -> None:
    with connect(url, clock=clock) as service:
        assert service.now() == clock.now
