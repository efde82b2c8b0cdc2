"""The dashboard over PostgreSQL and MariaDB: its flows, a user who may only read, and a server that goes away."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

import pytest
from sqlalchemy import make_url

import lockwatch
from lockwatch import LockService
from lockwatch.cli.screen import finding
from lockwatch.core.dialect import ANSWER_TIMEOUT_SECS, CONNECT_TIMEOUT_SECS
from lockwatch.core.timestamps import utc_now
from lockwatch.database import Database
from lockwatch.plans import PlanLifecycleService
from lockwatch.server import Server
from lockwatch.tui import freshness
from tests.contract.sites import Site, reader_of
from tests.faults.proxy import Proxy
from tests.tui.running import dashboard
from tests.tui.terminal import terminal

INTERVAL_SECS: Final = 0.5
SLACK_SECS: Final = 2.0
"""How much later a busy machine may show it."""
COMMAND: Final = (
    "import sys; from lockwatch.cli import main; sys.exit(main(['--interval', '0.5', '--database', sys.argv[1]]))"
)


@pytest.fixture
def service(served: Site) -> Iterator[LockService]:
    """The dashboard's service."""
    with lockwatch.connect(served.url) as opened:
        yield opened


@pytest.fixture
def other(served: Site) -> Iterator[LockService]:
    """Another program's."""
    with lockwatch.connect(served.url) as opened:
        yield opened


async def test_release_and_renew_reach_the_server(served: Site, service: LockService, other: LockService) -> None:
    other.acquire("plan", "a", "A", 60)
    renewed = other.acquire("plan", "b", "B", 300)
    async with dashboard(service) as running:
        await running.until_shown("2 held")
        await running.press("r")
        await running.until_shown("held by A")
        await running.press("y")
        await running.until(lambda: served.row("plan/a") is None)
        await running.until_shown("released by you")
        await running.press("j", "n", "y")
        await running.until(lambda: (served.row("plan/b") or [""] * 6)[5] > renewed.expires_text)
        await running.until(lambda: "renewed plan/b of B" in running.notices)


async def test_purge_takes_the_stale_ones_and_no_other(served: Site, service: LockService, other: LockService) -> None:
    for number in range(3):
        served.insert_row(f"plan/dead-{number}", "gone")
    kept = other.acquire("plan", "alive", "A")
    async with dashboard(service) as running:
        await running.until_shown("3 stale")
        await running.press("p", "y")
        await running.until(lambda: "3 purged" in running.notices)
    assert [row[0] for row in served.rows()] == [kept.id]


async def test_what_was_taken_over_or_renewed_under_a_dialog_is_left_alone(
    served: Site, service: LockService, other: LockService
) -> None:
    other.acquire("plan", "a", "A", 60)
    async with dashboard(service) as running:
        await running.press("r")
        other.renew("plan", "a", "A", 600)
        await running.press("y")
        await running.until_shown("renewed")
        assert running.dialog is not None
        served.age("plan/a")
        taken = other.acquire("plan", "a", "B", 60)
        await running.press("y")
        await running.until(lambda: "taken over since: now held by B" in running.notices)
        assert other.get("plan", "a") == taken


async def test_the_state_of_a_plan_is_in_its_detail(served: Site, service: LockService) -> None:
    plans = PlanLifecycleService(service, Database.from_url(served.url).transactional_engine())
    plan = plans.create("import", project_id="shop")
    service.acquire("plan", plan.id, "A", 60)
    async with dashboard(service, find_plan=plans.get) as running:
        await running.until_shown("import · action · queued")


def test_plans_are_read_on_one_connection_until_it_breaks(
    served: Site, service: LockService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To open one takes far longer than to read a plan, and the dashboard reads one with every poll."""
    database = Database.from_url(served.url)
    assert isinstance(database, Server)
    connect, opened = type(database)._connect, list[Any]()

    def noted(self: Server) -> Any:
        opened.append(connect(self))
        return opened[-1]

    plan = PlanLifecycleService(service, database.transactional_engine()).create("import", project_id="shop")
    monkeypatch.setattr(type(database), "_connect", noted)
    with finding(service, database, read_only=False) as find_plan:
        assert [find_plan(plan.id).name for _ in range(3)] == ["import"] * 3
        assert len(opened) == 1
        opened[0].close()
        assert find_plan(plan.id).name == "import"
        assert len(opened) == 2
    assert getattr(opened[1], "closed", True)
    assert not getattr(opened[1], "open", False)


async def test_a_countdown_goes_by_the_servers_clock_and_a_skew_is_shown(
    service: LockService, other: LockService, monkeypatch: pytest.MonkeyPatch
) -> None:
    other.acquire("plan", "a", "A", 300)
    monkeypatch.setattr("lockwatch.tui.poller.utc_now", lambda: utc_now() + timedelta(minutes=10))
    async with dashboard(service) as running:
        await running.until_shown("this machine's clock is 10m ahead of the database's")
        assert "4m" in running.line("plan/a")
        assert "HELD" in running.line("plan/a")


async def test_a_server_that_answers_slowly_is_not_taken_for_one_whose_clock_is_off(
    served: Site, proxy: Proxy, other: LockService
) -> None:
    assert served.is_server
    other.acquire("plan", "a", "A", 300)
    proxy.statements.delay_seconds = proxy.answers.delay_seconds = 0.1
    with lockwatch.connect(proxy.url) as slow:
        async with dashboard(slow) as running:
            await running.until_shown("plan/a")
            assert running.app.scene.freshness.took > freshness.SKEW_SECS, "the first look connects, too"
            assert abs(running.app.scene.freshness.skew) < 0.1


async def test_a_server_that_refuses_is_shown_at_once_and_so_is_its_return(proxy: Proxy, other: LockService) -> None:
    other.acquire("plan", "a", "A", 300)
    with lockwatch.connect(proxy.url) as service:
        async with dashboard(service, interval=INTERVAL_SECS) as running:
            await running.until_shown("plan/a")
            proxy.refuse()
            proxy.cut()
            begun = time.monotonic()
            await running.until_shown(" DISCONNECTED  data ")
            assert time.monotonic() - begun < INTERVAL_SECS + SLACK_SECS
            await running.press("r")
            await running.until(lambda: "release: refused while DISCONNECTED" in running.notices)
            assert "plan/a" in running.screen()
            proxy.admit()
            await running.press("ctrl+r")
            await running.until_shown("● live")


async def test_a_server_that_swallows_all_is_disconnected_in_time_and_no_driver_is_waited_for(
    proxy: Proxy, other: LockService
) -> None:
    other.acquire("plan", "a", "A", 300)
    with lockwatch.connect(proxy.url) as service:
        async with dashboard(service, interval=INTERVAL_SECS) as running:
            await running.until_shown("plan/a")
            proxy.black_hole()
            begun = time.monotonic()
            await running.until_shown(" DISCONNECTED  data ")
            assert time.monotonic() - begun < INTERVAL_SECS + freshness.PATIENCE_SECS + SLACK_SECS
            await running.until_shown("the database does not answer")
            proxy.heal()
            await running.until_shown("● live")


def test_the_screen_has_given_a_server_up_before_its_driver_does() -> None:
    assert freshness.PATIENCE_SECS < CONNECT_TIMEOUT_SECS < ANSWER_TIMEOUT_SECS


def test_it_is_quit_at_once_while_the_server_swallows_all(proxy: Proxy, other: LockService) -> None:
    other.acquire("plan", "a", "A", 300)
    with terminal(proxy.url, program=COMMAND) as opened:
        opened.until(lambda: "plan/a" in opened.screen())
        proxy.black_hole()
        opened.until(lambda: "DISCONNECTED" in opened.screen())
        begun = time.monotonic()
        opened.type("q")
        assert opened.end() == 0
        assert time.monotonic() - begun < 0.5 + SLACK_SECS


def test_the_command_over_a_server_shows_and_frees_a_lock(served: Site, other: LockService) -> None:
    other.acquire("plan", "a", "A", 300)
    with terminal(served.url, program=COMMAND, columns=140) as opened:
        opened.until(lambda: "plan/a" in opened.screen())
        assert str(make_url(served.url).port) in opened.screen().splitlines()[0]
        opened.type("r")
        opened.until(lambda: "held by A" in opened.screen())
        time.sleep(0.4)  # no key counts that comes at once
        opened.type("y")
        opened.until(lambda: "released by you" in opened.screen())
        opened.type("q")
        assert opened.end() == 0
    assert served.rows() == []


def test_who_may_only_read_gets_the_dashboard_to_read_with_the_reason(served: Site, other: LockService) -> None:
    lock = other.acquire("plan", "a", "A", 300)
    with reader_of(served) as reader, terminal(reader, program=COMMAND, columns=140) as opened:
        opened.until(lambda: "plan/a" in opened.screen())
        opened.type("r")
        opened.until(lambda: "read-only: this user may not change the locks" in opened.screen())
        opened.type("q")
        assert opened.end() == 0
    assert [row[0] for row in served.rows()] == [lock.id]
