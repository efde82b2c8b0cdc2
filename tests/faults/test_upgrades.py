"""An upgrade that is broken off is an error of the database, and the next one completes it."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine, event

import lockwatch
from lockwatch import plans
from tests.contract.sites import SERVERS, Site, on

LAST_STATEMENTS = (
    "CREATE TABLE lockwatch_version",
    "CREATE TABLE locks",
    "CREATE INDEX ix_locks_owner_id",
    "INSERT INTO lockwatch_version",
    "CREATE TABLE plans",
    "CREATE INDEX ix_plans_project_id",
    "CREATE TABLE plan_runs",
    "CREATE INDEX ix_plan_runs_ended_at",
)


def _end_session(site: Site, driver: Any) -> None:
    if site.kind == "postgres":
        site.execute(f"SELECT pg_terminate_backend({driver.info.backend_pid})")
    else:
        site.execute(f"KILL {driver.thread_id()}")


@pytest.mark.parametrize("last", LAST_STATEMENTS)
@on(*SERVERS, fixture="new_site")
def test_an_upgrade_whose_session_is_ended_says_so_and_the_next_one_completes_it(new_site: Site, last: str) -> None:

    def end_after(connection: Any, _cursor: object, statement: str, *_: object) -> None:
        if " ".join(statement.split()).startswith(last):
            _end_session(new_site, connection.connection.driver_connection)

    event.listen(Engine, "after_cursor_execute", end_after)
    try:
        with pytest.raises(lockwatch.DatabaseError, match=r"cannot be reached|ended the connection"):
            lockwatch.upgrade(new_site.url)
    finally:
        event.remove(Engine, "after_cursor_execute", end_after)
    assert lockwatch.upgrade(new_site.url)
    with lockwatch.connect(new_site.url) as service:
        assert service.acquire("plan", "p1", "a").id == 1
    with plans.connect(new_site.url) as planning:
        assert planning.advance(planning.create("x", project_id="shop").id).phase == "strategize"
