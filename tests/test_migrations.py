"""Migrations: what they make, what they adopt with its rows and ids, what they refuse and leave as it was."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

import lockwatch
from lockwatch.core.schema import locks, metadata
from lockwatch.database import HEAD_REVISION, VERSION_TABLE, Database
from lockwatch.migrating import migrations_path
from tests.support import ROOT, Clock, dump, execute, meet, path_of, raw, together

TEXTS = "owner_id TEXT, resource_type TEXT, resource_id TEXT, acquired_at TEXT, expires_at TEXT"
FITTING = f"CREATE TABLE locks (id INTEGER PRIMARY KEY, {TEXTS}, UNIQUE (resource_type, resource_id))"
WITHOUT_KEY = FITTING.replace(", UNIQUE (resource_type, resource_id)", "")
FITTING_WITH_SEQUENCE = FITTING.replace("PRIMARY KEY", "PRIMARY KEY AUTOINCREMENT")
NULL_TYPE = "; INSERT INTO locks VALUES (1, 'a', NULL, 'p1', 'x', 'x')"
TEXT_ID = "; INSERT INTO locks VALUES ('one', 'a', 'plan', 'p1', 'x', 'x')"
INSERT = "INSERT INTO locks (owner_id, resource_type, resource_id, acquired_at, expires_at) VALUES (?, ?, ?, ?, ?)"
ROW = "INSERT INTO locks VALUES ({id}, 'a', 'plan', 'p{id}', '2020-01-01 00:00:00', '{expires}')"

Make = Callable[..., str]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Make a database with another program's statements: its URL."""

    def _make(*statements: str) -> str:
        url = f"sqlite:///{tmp_path}/foreign.db"
        with raw(url) as connection:
            connection.executescript(";".join(statements))
        return url

    return _make


def _config(connection: sa.Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(migrations_path()))
    config.attributes["connection"] = connection
    return config


def _migrate(url: str, *revisions: str) -> None:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    for revision in revisions:
        with engine.begin() as connection:
            step = command.downgrade if revision == "base" else command.upgrade
            step(_config(connection), revision)


def _schema(url: str) -> list[str]:
    return [line for line in dump(url) if line.startswith("CREATE")]


def test_up_down_and_up_again(url: str) -> None:
    upgraded = _schema(url)
    _migrate(url, "base")
    assert not any("locks" in line for line in _schema(url))
    assert Database.from_url(url).revision() is None
    _migrate(url, "head")
    assert sorted(_schema(url)) == sorted(upgraded)
    assert Database.from_url(url).is_at_head()


def test_head_revision_is_the_newest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(migrations_path()))
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD_REVISION]


def test_the_migrations_yield_exactly_the_schema(url: str) -> None:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={"version_table": VERSION_TABLE, "compare_type": True, "compare_server_default": True},
        )
        assert compare_metadata(context, metadata) == []


def test_the_migrated_table_is_the_one_that_the_schema_would_make(url: str, tmp_path: Path) -> None:
    made = f"sqlite:///{tmp_path}/made.db"
    engine = sa.create_engine(made, poolclass=sa.NullPool)
    metadata.create_all(engine)
    assert _what_is(url) == _what_is(made)


def _what_is(url: str) -> dict[str, object]:
    inspector = sa.inspect(sa.create_engine(url, poolclass=sa.NullPool))
    ((sql,),) = execute(url, "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = 'locks'")
    return {
        "columns": [{**column, "type": str(column["type"])} for column in inspector.get_columns("locks")],
        "key": inspector.get_pk_constraint("locks"),
        "unique": inspector.get_unique_constraints("locks"),
        "indexes": inspector.get_indexes("locks"),
        "autoincrement": "AUTOINCREMENT" in sql,
    }


def test_the_schema_is_the_one_of_the_reference(url: str) -> None:
    found = execute(url, "PRAGMA table_info(locks)")
    assert [(name, kind, bool(required), bool(key)) for _, name, kind, required, _, key in found] == [
        ("id", "INTEGER", True, True),
        ("owner_id", "VARCHAR(255)", True, False),
        ("resource_type", "VARCHAR(50)", True, False),
        ("resource_id", "VARCHAR(255)", True, False),
        ("acquired_at", "VARCHAR(30)", True, False),
        ("expires_at", "VARCHAR(30)", True, False),
    ]
    assert {constraint.name for constraint in locks.constraints if isinstance(constraint, sa.UniqueConstraint)} == {
        "uq_locks_resource"
    }


@pytest.mark.parametrize("column", ["owner_id", "resource_type", "resource_id", "acquired_at", "expires_at"])
def test_the_schema_refuses_a_null(url: str, column: str) -> None:
    values = dict.fromkeys(locks.columns.keys()[1:], "x") | {column: None}
    with pytest.raises(sqlite3.IntegrityError, match=f"NOT NULL constraint failed: locks.{column}"):
        execute(url, INSERT, tuple(values.values()))


def test_the_schema_refuses_a_second_row_of_a_resource(url: str) -> None:
    execute(url, INSERT, ("a", "plan", "p1", "x", "x"))
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        execute(url, INSERT, ("b", "plan", "p1", "y", "y"))


def test_an_upgrade_tells_whether_anything_was_left_to_do(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/new.db"
    assert [lockwatch.upgrade(url), lockwatch.upgrade(url)] == [True, False]


@pytest.mark.parametrize(
    "table",
    [
        FITTING,
        FITTING_WITH_SEQUENCE,
        FITTING.replace("TEXT", "VARCHAR(10) NOT NULL"),
        FITTING.replace("resource_id TEXT", "resource_id TEXT COLLATE NOCASE"),
        FITTING.replace("UNIQUE (resource_type, resource_id)", 'UNIQUE ("resource_id", "resource_type")'),
        FITTING.replace("UNIQUE (resource_type, resource_id)", "unique\n(\n[resource_type]\n,\n`resource_id`\n)"),
        FITTING.replace("UNIQUE (", "/* UNIQUE (owner_id) */ CONSTRAINT one UNIQUE ( "),
        f"{WITHOUT_KEY}; CREATE UNIQUE INDEX u ON locks (resource_type, resource_id)",
        f"{FITTING} WITHOUT ROWID",
        FITTING.replace("locks", '"locks"'),
        f"{FITTING}; CREATE INDEX ix_locks_owner_id ON locks (owner_id); CREATE INDEX more ON locks (acquired_at)",
    ],
)
def test_a_fitting_table_is_adopted_with_its_rows_and_ids(make: Make, table: str, clock: Clock) -> None:
    url = make(table, ROW.format(id=7, expires=clock.text(60)), ROW.format(id=3, expires="soon"))
    before = execute(url, "SELECT * FROM locks ORDER BY id")
    assert lockwatch.upgrade(url)
    assert execute(url, "SELECT * FROM locks ORDER BY id") == before
    assert _what_is(url)["autoincrement"]
    assert compare_metadata_of(url) == []
    with lockwatch.connect(url, clock=clock) as service:
        assert service.acquire("plan", "new", "b").id == 8
        with pytest.raises(lockwatch.LockConflictError):
            service.acquire("plan", "p7", "b")


def compare_metadata_of(url: str) -> list[object]:
    with sa.create_engine(url, poolclass=sa.NullPool).connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "version_table": VERSION_TABLE,
                "include_name": lambda name, kind, _parents: kind != "table" or name in metadata.tables,
            },
        )
        return list(compare_metadata(context, metadata))


def test_ids_of_an_adopted_table_never_come_back(make: Make) -> None:
    url = make(FITTING, *(ROW.format(id=number, expires="2020-01-01") for number in (1, 2, 40)))
    lockwatch.upgrade(url)
    execute(url, "DELETE FROM locks")
    with lockwatch.connect(url) as service:
        assert service.acquire("plan", "p1", "a").id == 41


@pytest.mark.parametrize("rows", [(), (3,)])
def test_a_sequence_above_the_greatest_id_survives_the_adoption(make: Make, rows: Iterable[int]) -> None:
    url = make(
        FITTING_WITH_SEQUENCE,
        ROW.format(id=99, expires="x"),
        "DELETE FROM locks",
        *(ROW.format(id=number, expires="x") for number in rows),
    )
    lockwatch.upgrade(url)
    with lockwatch.connect(url) as service:
        assert service.acquire("plan", "new", "a").id == 100


def test_an_application_keeps_its_tables_and_its_own_alembic_version(make: Make) -> None:
    theirs = (
        "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)",
        "CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, lock_id INTEGER REFERENCES locks (id))",
        "CREATE VIEW held AS SELECT owner_id FROM locks",
        "CREATE TRIGGER paid AFTER INSERT ON orders BEGIN SELECT count(*) FROM locks; END",
        "CREATE INDEX ix_orders ON orders (lock_id)",
        FITTING,
    )
    url = make(
        *theirs,
        "INSERT INTO alembic_version VALUES ('abc')",
        "INSERT INTO orders VALUES (5, 1)",
        ROW.format(id=1, expires="x"),
    )
    lockwatch.upgrade(url)
    schema = dict(execute(url, "SELECT name, sql FROM sqlite_master"))
    assert [schema[name] for name in ("alembic_version", "orders", "held", "paid", "ix_orders")] == list(theirs[:5])
    assert execute(url, "SELECT * FROM alembic_version") == [("abc",)]
    assert execute(url, "SELECT * FROM orders") == [(5, 1)]
    assert execute(url, "SELECT * FROM held") == [("a",)]
    assert execute(url, "SELECT seq FROM sqlite_sequence WHERE name = 'orders'") == [(5,)]
    assert not [name for name in schema if "adopted" in name]
    assert execute(url, "PRAGMA integrity_check") == [("ok",)]


REFUSED = [
    (FITTING.replace(", expires_at TEXT", ""), "it has no column expires_at"),
    (FITTING.replace("owner_id", "owner"), "it has no column owner_id; it has a column owner of its own"),
    (FITTING.replace(", UNIQUE", ", note TEXT, UNIQUE"), "it has a column note of its own"),
    (FITTING.replace(", UNIQUE", ', "\x1b[2J" TEXT, UNIQUE'), "it has a column ␛[2J of its own"),
    (FITTING.replace(", UNIQUE", ", note TEXT AS (owner_id), UNIQUE"), "it has a column note of its own"),
    (FITTING.replace("id INTEGER", "id TEXT"), "id is not an INTEGER PRIMARY KEY"),
    (FITTING.replace("id INTEGER", "id BIGINT"), "id is not an INTEGER PRIMARY KEY"),
    (FITTING.replace("INTEGER PRIMARY KEY", "INTEGER"), "id is not an INTEGER PRIMARY KEY"),
    (FITTING.replace("expires_at TEXT", "expires_at DATETIME"), "expires_at is DATETIME, not text"),
    (FITTING.replace("expires_at TEXT", "expires_at INTEGER"), "expires_at is INTEGER, not text"),
    (WITHOUT_KEY, "no unique constraint"),
    (FITTING.replace("(resource_type, resource_id)", "(resource_type, resource_id, owner_id)"), "no unique constraint"),
    (
        f"{WITHOUT_KEY}; CREATE UNIQUE INDEX u ON locks (resource_type, resource_id) WHERE owner_id > 'a'",
        "no unique constraint",
    ),
    (FITTING + NULL_TYPE, "resource_type has a NULL"),
    (f"{FITTING}; CREATE TRIGGER t AFTER DELETE ON locks BEGIN SELECT 1; END", "it has triggers"),
    ("CREATE TABLE others (id INTEGER); CREATE VIEW locks AS SELECT * FROM others", "it is a view"),
    (FITTING.replace("locks", "LOCKS"), "its name is written LOCKS"),
    (
        FITTING.replace("id INTEGER", "id INT") + TEXT_ID,
        "an id is not an integer",
    ),
]


@pytest.mark.parametrize(("table", "difference"), REFUSED)
def test_a_table_that_does_not_fit_is_refused_by_what_differs_and_nothing_is_changed(
    make: Make, table: str, difference: str
) -> None:
    url = make(table, "CREATE TABLE IF NOT EXISTS counted (id INTEGER PRIMARY KEY AUTOINCREMENT)")
    before = path_of(url).read_bytes()
    with pytest.raises(lockwatch.DatabaseError, match=r"`locks`|refused") as refused:
        lockwatch.upgrade(url)
    assert difference in str(refused.value)
    assert path_of(url).read_bytes() == before
    assert [entry.name for entry in path_of(url).parent.iterdir() if entry.is_file()] == ["foreign.db"]


def _alembic(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "alembic", *arguments],
        cwd=ROOT,
        env={**os.environ, "LOCKWATCH_DATABASE_URL": url},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_alembic_by_hand_upgrades_and_finds_nothing_to_add(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/new.db"
    assert _alembic(url, "upgrade", "head").returncode == 0
    assert Database.from_url(url).is_at_head()
    assert "No new upgrade operations detected" in _alembic(url, "check").stdout


def test_an_adoption_that_fails_half_way_changes_nothing(make: Make) -> None:
    occupied = "CREATE TABLE other (a TEXT); CREATE INDEX ix_locks_owner_id ON other (a)"
    url = make(FITTING, ROW.format(id=1, expires="x"), occupied)
    before = dump(url)
    with pytest.raises(lockwatch.DatabaseError, match="ix_locks_owner_id already exists"):
        lockwatch.upgrade(url)
    assert dump(url) == before
    assert _alembic(url, "upgrade", "head").returncode == 1
    assert dump(url) == before


def _upgrade(url: str, rounds: int) -> list[bool]:
    done = []
    for number in range(rounds):
        meet()
        done.append(lockwatch.upgrade(url.replace("?", str(number))))
    return done


@pytest.mark.parametrize("adopted", [False, True])
def test_two_processes_that_upgrade_at_once_upgrade_once(tmp_path: Path, adopted: bool) -> None:
    rounds = 8
    url = f"sqlite:///{tmp_path}/?.db"
    for number in range(rounds if adopted else 0):
        execute(url.replace("?", str(number)), FITTING)
    first, second = together(_upgrade, (url, rounds), (url, rounds))
    assert [a + b for a, b in zip(first, second, strict=True)] == [1] * rounds
    modes = [execute(url.replace("?", str(number)), "PRAGMA journal_mode") for number in range(rounds)]
    assert modes == [[("wal",)]] * rounds
