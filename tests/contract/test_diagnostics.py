"""Diagnostics on every database."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import make_url

import lockwatch
from lockwatch import mariadb_database, postgres_database
from lockwatch.core.timestamps import utc_now
from lockwatch.diagnostics import Status, examine
from tests.contract.sites import SERVERS, Site, on

OF_KIND = {
    "sqlite": {"Journal"},
    "postgres": {"Server", "Isolation", "Durability", "Collation", "Bloat"},
    "mysql": {"Server", "Isolation", "Durability", "Collation", "Bloat"},
}


def test_all_is_well_with_a_new_database(site: Site) -> None:
    checks = {check.name: check for check in examine(site.url)}
    assert {check.status for check in checks.values()} == {Status.OK}
    assert OF_KIND[site.kind] <= set(checks)
    if site.is_server:
        assert f"{make_url(site.url).database}@" in checks["Database"].message
        assert "read committed" in checks["Isolation"].message


def test_stale_and_unreadable_locks_are_counted(site: Site) -> None:
    site.insert_row("plan/p1", "gone")
    site.insert_row("plan/p2", "odd", "soon")
    checks = {check.name: check for check in examine(site.url)}
    assert checks["Stale locks"].status is checks["Unreadable"].status is Status.WARNING


@on(*SERVERS)
def test_a_clock_that_is_off_is_told(site: Site) -> None:
    checks = {check.name: check for check in examine(site.url, here=lambda: utc_now() + timedelta(seconds=3))}
    assert checks["Clock"].status is Status.WARNING
    assert "behind" in checks["Clock"].message


def test_another_programs_table_is_a_warning(new_site: Site) -> None:
    new_site.make_table(new_site.plain)
    checks = {check.name: check for check in examine(new_site.url)}
    assert checks["Schema"].status is checks["Fencing"].status is Status.WARNING
    assert checks["Fencing"].message.startswith("nothing can be acquired: ids of the table `locks` can come back")
    assert lockwatch.upgrade(new_site.url)
    checks = {check.name: check for check in examine(new_site.url)}
    assert checks["Schema"].status is checks["Fencing"].status is Status.OK


def test_a_server_that_cannot_be_reached_is_named_and_nothing_else_is_asked(served: Site) -> None:
    url = make_url(served.url).set(port=1)
    (check,) = examine(url.render_as_string(hide_password=False))
    assert (check.name, check.status) == ("Database", Status.FAILURE)
    assert check.message.startswith(f"{url.database}@127.0.0.1:1: the database cannot be reached (")


@pytest.mark.parametrize(
    ("live", "dead", "is_bloated"), [(0, 10_000, False), (0, 10_001, True), (10_001, 10_001, False)]
)
def test_a_table_with_many_more_dead_rows_than_live_ones_is_bloated(live: int, dead: int, is_bloated: bool) -> None:
    condition = postgres_database._bloat((live, dead, 2**20))
    assert condition.message == f"the table `locks` has {live} live and {dead} dead rows in 1024 KiB"
    assert (condition.hint is not None) is is_bloated


@pytest.mark.parametrize(
    ("used", "free", "is_bloated"), [(0, 100 * 2**20, False), (0, 101 * 2**20, True), (2**30, 2**29, False)]
)
def test_a_table_with_much_more_free_than_used_is_bloated(used: int, free: int, is_bloated: bool) -> None:
    assert (mariadb_database._bloat((used, free)).hint is not None) is is_bloated


@on(*SERVERS, fixture="new_site")
def test_names_that_a_collation_takes_for_one_another_are_a_warning(new_site: Site) -> None:
    new_site.make_table(new_site.numbered)
    if new_site.kind == "postgres":
        new_site.execute("CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
        new_site.execute("ALTER TABLE locks ALTER resource_id TYPE VARCHAR(255) COLLATE blind")
    check = {check.name: check for check in examine(new_site.url)}["Collation"]
    assert check.status is Status.WARNING
    assert "names that differ by case or accent may be one lock" in check.message
    lockwatch.upgrade(new_site.url)
    assert {check.name: check for check in examine(new_site.url)}["Collation"].status is Status.OK
