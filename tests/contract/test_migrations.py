"""Migrations on every database: up, down, adopted, refused, and what works before them."""

from __future__ import annotations

import itertools

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext

import lockwatch
from lockwatch import LossReason, OutcomeKind
from lockwatch.core.schema import metadata
from lockwatch.database import VERSION_TABLE, Database
from lockwatch.migrating import migrations_path
from tests.contract.sites import SERVERS, SIX_COLUMNS, Site, on


def _config(site: Site) -> Config:
    config = Config()
    config.set_main_option("script_location", str(migrations_path()))
    config.set_main_option("sqlalchemy.url", site.url.replace("%", "%%"))
    return config


def _differences(site: Site) -> list[object]:
    with Database.from_url(site.url).engine().connect() as connection:
        options = {
            "version_table": VERSION_TABLE,
            "include_name": lambda name, kind, _: kind != "table" or name in TABLES,
        }
        context = MigrationContext.configure(connection, opts=options)
        return list(compare_metadata(context, metadata))


TABLES = ("locks", "plans", "plan_runs")
KEY = "(resource_type, resource_id)"


def test_up_yields_the_schema_down_nothing_and_up_again(new_site: Site) -> None:
    database = Database.from_url(new_site.url)
    for _ in range(2):
        command.upgrade(_config(new_site), "head")
        assert database.is_at_head()
        assert _differences(new_site) == []
        with lockwatch.connect(new_site.url) as service:
            assert service.acquire("plan", "p1", "a").id == 1
        command.downgrade(_config(new_site), "base")
        assert not database.is_at_head()
        with lockwatch.connect(new_site.url) as service, pytest.raises(lockwatch.DatabaseError, match="db upgrade"):
            service.snapshot()


@on(*SERVERS, fixture="new_site")
def test_a_database_without_the_table_is_not_upgraded_unasked(new_site: Site) -> None:
    with lockwatch.connect(new_site.url) as service, pytest.raises(lockwatch.DatabaseError, match="no table `locks`"):
        service.acquire("plan", "p1", "a")
    assert Database.from_url(new_site.url).revision() is None


@pytest.mark.parametrize("is_numbered", [True, False])
def test_a_fitting_table_is_adopted_with_its_rows_and_its_ids_never_come_back(
    new_site: Site, is_numbered: bool
) -> None:
    new_site.make_table(new_site.numbered if is_numbered else new_site.plain)
    insert = "INSERT INTO locks VALUES (?, 'a', 'plan', ?, '2001-01-01', ?)"
    for number in (3, 41):
        new_site.execute(insert, number, f"p{number}", new_site.text(600))
    before = new_site.rows()
    assert lockwatch.upgrade(new_site.url) is True
    assert lockwatch.upgrade(new_site.url) is False
    assert new_site.rows() == before
    assert _differences(new_site) == []
    with lockwatch.connect(new_site.url) as service:
        assert service.release("plan", "p41", "a")
        assert service.acquire("plan", "p41", "b").id > 41
        for name in ("Job", "job", "😀"):
            service.acquire("plan", name, "b")


_WITHOUT_KEY = SIX_COLUMNS.partition(", UNIQUE")[0]
ODD_KEYS = {
    "deferred": (f"{SIX_COLUMNS} DEFERRABLE INITIALLY DEFERRED",),
    "deferrable, of our name": (f"{_WITHOUT_KEY}, CONSTRAINT uq_locks_resource UNIQUE {KEY} DEFERRABLE",),
    "with a third column in its index": (_WITHOUT_KEY, f"CREATE UNIQUE INDEX k ON locks {KEY} INCLUDE (owner_id)"),
    "of other letters": (
        _WITHOUT_KEY,
        "CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "CREATE UNIQUE INDEX k ON locks (resource_type, resource_id COLLATE blind)",
    ),
}


@pytest.mark.parametrize("key", ODD_KEYS)
@on("postgres", fixture="new_site")
def test_a_key_that_no_grant_could_rely_on_becomes_one_of_ours(new_site: Site, key: str) -> None:
    columns, *more = ODD_KEYS[key]
    new_site.make_table(new_site.numbered, columns)
    for statement in more:
        new_site.execute(statement)
    number = new_site.insert_row("plan/old", "a", new_site.text(600))
    lockwatch.upgrade(new_site.url)
    assert _differences(new_site) == []
    with lockwatch.connect(new_site.url) as service:
        assert number < service.acquire("plan", "Old", "b").id < service.acquire("plan", "OLD", "c").id
        with pytest.raises(lockwatch.LockConflictError):
            service.acquire("plan", "old", "b")


@on("postgres", fixture="new_site")
@pytest.mark.parametrize("key", ODD_KEYS)
def test_with_such_a_key_nothing_is_granted_before(new_site: Site, key: str) -> None:
    columns, *more = ODD_KEYS[key]
    new_site.make_table(new_site.numbered, columns)
    for statement in more:
        new_site.execute(statement)
    _refuses(new_site, "can have two rows of one resource")


@on("postgres", fixture="new_site")
def test_nor_where_one_id_is_taken_for_another_or_a_crash_would_empty_the_table(new_site: Site) -> None:
    new_site.make_table(new_site.numbered)
    new_site.execute("ALTER TABLE locks SET UNLOGGED")
    _refuses(new_site, "UNLOGGED")
    new_site.execute("ALTER TABLE locks SET LOGGED")
    new_site.execute(ODD_KEYS["of other letters"][1])
    new_site.execute("ALTER TABLE locks ALTER resource_id TYPE VARCHAR(255) COLLATE blind")
    _refuses(new_site, "takes ids for one another")


def _refuses(site: Site, why: str) -> None:
    refusing = pytest.raises(lockwatch.DatabaseError, match=f"nothing can be acquired here: .*{why}.*db upgrade")
    with lockwatch.connect(site.url) as service, refusing:
        service.acquire("plan", "p1", "a")


@on("postgres", fixture="new_site")
def test_a_table_that_a_crash_would_empty_becomes_a_lasting_one(new_site: Site) -> None:
    new_site.make_table(new_site.numbered)
    new_site.execute("ALTER TABLE locks SET UNLOGGED")
    lockwatch.upgrade(new_site.url)
    ask = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relpersistence <> 'p'"
    assert new_site.execute(ask) == []


def test_ids_that_were_given_and_deleted_before_the_adoption_stay_given(new_site: Site) -> None:
    new_site.make_table(new_site.numbered)
    for _ in range(5):
        number = new_site.insert_row()
        new_site.execute("DELETE FROM locks")
    lockwatch.upgrade(new_site.url)
    with lockwatch.connect(new_site.url) as service:
        assert service.acquire("plan", "p1", "a").id > number


MISFITS = {
    "a column less": "owner_id VARCHAR(255) NOT NULL",
    "a column more": f"price INTEGER, {SIX_COLUMNS}",
    "no unique key": SIX_COLUMNS.partition(", UNIQUE")[0],
    "a number for a text": SIX_COLUMNS.replace("expires_at VARCHAR(30)", "expires_at INTEGER"),
}


@pytest.mark.parametrize("misfit", MISFITS)
def test_a_table_that_does_not_fit_is_refused_and_left_as_it_is(new_site: Site, misfit: str) -> None:
    new_site.make_table(new_site.numbered, MISFITS[misfit])
    with pytest.raises(lockwatch.DatabaseError, match="not lockwatch's, and was left as it is"):
        lockwatch.upgrade(new_site.url)
    assert Database.from_url(new_site.url).revision() is None
    assert new_site.execute("SELECT * FROM locks") == []


def test_a_null_in_a_column_is_refused(new_site: Site) -> None:
    new_site.make_table(
        new_site.numbered, SIX_COLUMNS.replace("acquired_at VARCHAR(30) NOT NULL", "acquired_at VARCHAR(30)")
    )
    new_site.execute("INSERT INTO locks VALUES (1, 'a', 'plan', 'p1', NULL, '2001-01-01')")
    with pytest.raises(lockwatch.DatabaseError, match="acquired_at has a NULL"):
        lockwatch.upgrade(new_site.url)


def test_a_table_with_only_the_six_columns_is_watched_and_settled(new_site: Site) -> None:
    new_site.make_table(new_site.plain)
    insert = "INSERT INTO locks VALUES (?, ?, 'plan', ?, '2001-01-01', ?)"
    for number, owner in enumerate(("a", "b", "c"), start=1):
        new_site.execute(insert, number, owner, f"p{number}", "2001-01-01" if owner == "c" else new_site.text(600))
    with lockwatch.connect(new_site.url) as service:
        locks = service.snapshot().locks
        assert [lock.owner_id for lock in locks] == ["a", "b", "c"]
        assert service.renew("plan", "p1", "a", 900).id == 1
        assert service.renew_exact(locks[1], 900).is_done
        assert service.release_exact(locks[0]).kind is OutcomeKind.RENEWED_SINCE
        assert service.release("plan", "p2", "b")
        assert [outcome.is_done for outcome in service.purge_exact([locks[2]])] == [True]
        with pytest.raises(lockwatch.DatabaseError, match="db upgrade"):
            service.acquire("plan", "p9", "a")
        with pytest.raises(lockwatch.LockExpiredError) as lost:
            service.renew("plan", "p9", "a")
        assert lost.value.reason is LossReason.REMOVED
        assert lockwatch.upgrade(new_site.url)
        assert service.acquire("plan", "p9", "a").id > 1  # no row had a greater id when it was adopted


def test_a_service_goes_on_after_the_adoption_under_it(new_site: Site) -> None:
    new_site.make_table(new_site.numbered)
    with lockwatch.connect(new_site.url) as service:
        for _ in range(3):
            service.snapshot()
        new_site.insert_row("plan/p1", "a", new_site.text(600))
        held = service.get("plan", "p1")
        lockwatch.upgrade(new_site.url)
        for _ in itertools.repeat(None, 2):
            try:
                found = service.get("plan", "p1")
                break
            except lockwatch.DatabaseError:  # a server may have to be asked anew once
                continue
        assert found == held
        assert service.acquire("plan", "p2", "a").owner_id == "a"
