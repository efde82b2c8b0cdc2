"""Diagnostics on every database."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import make_url

import lockwatch
from lockwatch.core.timestamps import utc_now
from lockwatch.diagnostics import Status, examine
from tests.contract.sites import Site

OF_KIND = {
    "sqlite": {"Journal"},
    "postgres": {"Server", "Isolation", "Bloat"},
    "mysql": {"Server", "Isolation", "Collation", "Bloat"},
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


def test_a_clock_that_is_off_is_told(site: Site) -> None:
    if not site.is_server:
        pytest.skip("an SQLite file has no clock but this machine's")
    checks = {check.name: check for check in examine(site.url, here=lambda: utc_now() + timedelta(seconds=3))}
    assert checks["Clock"].status is Status.WARNING
    assert "behind" in checks["Clock"].message


def test_another_programs_table_is_a_warning(new_site: Site) -> None:
    new_site.make_table(new_site.numbered)
    checks = {check.name: check for check in examine(new_site.url)}
    assert checks["Schema"].status is Status.WARNING
    assert lockwatch.upgrade(new_site.url)
    assert {check.name: check for check in examine(new_site.url)}["Schema"].status is Status.OK
