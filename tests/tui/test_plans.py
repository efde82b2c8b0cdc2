"""The detail of a plan's lock shows the plan, and nothing about plans ever comes in the way of the locks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest
from textual.geometry import Region
from textual.strip import Strip

import lockwatch
from lockwatch import LockService
from lockwatch.cells import width
from lockwatch.core.model import Lock
from lockwatch.database import Database
from lockwatch.plans import Phase, Plan, PlanLifecycleService, PlanState
from lockwatch.tui.detail import detail
from lockwatch.tui.freshness import PATIENCE_SECS, Freshness, Link
from lockwatch.tui.look import Look
from lockwatch.tui.messages import PlanRead
from lockwatch.tui.plan_reader import PlanReader
from lockwatch.tui.scene import Scene
from lockwatch.tui.widgets.lock_table import LockTable
from tests.plans.placing import put
from tests.support import execute, insert_row
from tests.tui.making import at, lock, see, snapshot, text
from tests.tui.running import dashboard

FAR = "2998-01-01T00:00:00.000000Z"
HOSTILE = "[red]EU[/]\x1b[2J\u202e\nreport"
HARMLESS = "[red]EU[/]␛[2J·␊report"
SIX_COLUMNS = (
    "CREATE TABLE locks (id INTEGER PRIMARY KEY AUTOINCREMENT, owner_id TEXT, resource_type TEXT, resource_id TEXT,"
    " acquired_at TEXT, expires_at TEXT, UNIQUE (resource_type, resource_id))"
)


def plan(plan_id: str = "p1", name: str = "EU report", state: PlanState = PlanState.PROCESSING) -> Plan:
    return Plan(
        id=plan_id,
        project_id="shop",
        name=name,
        phase=Phase.EXECUTE,
        state=state,
        error=None,
        created_at=at(0),
        updated_at=at(0),
    )


def scene(*locks: Lock) -> Scene:
    freshness = Freshness(started=0.0, every=1.0, taken_at=at(0), polled=0.0)
    made = Scene(look=Look(name="orders.db"), freshness=freshness, steady=lambda: 0.0)
    see(made.board, snapshot(locks or [lock(1), lock(2, 70)]))
    return made


def test_the_detail_of_a_plans_lock_ends_with_its_name_phase_and_state() -> None:
    shown = scene()
    assert shown.note_plan(plan(), read_at=0.0)
    assert text(*detail(shown, 120)).splitlines()[-1] == "  plan    EU report · execute · processing"


def test_a_plan_is_shown_at_no_lock_but_its_own() -> None:
    shown = scene()
    assert not shown.note_plan(plan("p2"), read_at=0.0)
    assert "execute" not in text(*detail(shown, 120))
    shown.board.move(1)
    assert "plan    EU report" in text(*detail(shown, 120))


def test_a_project_of_the_same_id_is_no_plan() -> None:
    shown = scene(replace(lock(1), resource_type="project"))
    shown.note_plan(plan(), read_at=0.0)
    assert shown.plan_id() is None
    assert "EU report" not in text(*detail(shown, 120))


def test_a_plan_that_was_read_long_before_the_locks_is_not_shown() -> None:
    shown = scene()
    shown.note_plan(plan(), read_at=0.0)
    for later, is_shown in ((1 + PATIENCE_SECS, True), (1.1 + PATIENCE_SECS, False)):
        shown.freshness = replace(shown.freshness, polled=later)
        assert (shown.plan() is not None) == is_shown


@pytest.mark.parametrize("cells", [20, 40, 60, 80, 120, 200])
@pytest.mark.parametrize("name", ["EU report", HOSTILE, "漢字" * 200, "x" * 100_000])
def test_a_plans_line_fits_every_width_and_its_name_gives_way_first(cells: int, name: str) -> None:
    shown = scene()
    shown.note_plan(plan(name=name), read_at=0.0)
    line = text(detail(shown, cells)[-1])
    assert width(line) <= cells
    assert line.isprintable()
    assert cells < 40 or line.endswith(" · execute · processing")


def test_the_pane_keeps_its_height_when_the_cursor_leaves_a_plan() -> None:
    shown = scene()
    shown.note_plan(plan(), read_at=0.0)
    with_plan = len(detail(shown, 120))
    shown.board.move(1)
    assert len(detail(shown, 120)) == with_plan
    shown.note_plan(None, read_at=0.0)
    assert len(detail(shown, 120)) == with_plan


class Plans:
    """Finds plans when it is let, and knows who was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.goes_on = threading.Event()
        self.began = threading.Event()
        self.answers: list[PlanRead] = []
        self.answered = threading.Semaphore(0)

    def find(self, plan_id: str) -> Plan:
        self.asked.append(plan_id)
        self.began.set()
        assert self.goes_on.wait(30)
        return plan(plan_id)

    def post(self, answer: PlanRead) -> None:
        self.answers.append(answer)
        self.answered.release()

    def wait(self) -> None:
        assert self.answered.acquire(timeout=10)


def test_only_the_plan_that_was_asked_for_last_is_read_next() -> None:
    plans = Plans()
    reader = PlanReader(plans.find, plans.post, lambda: 7.0)
    reader.begin()
    reader.ask("p1")
    assert plans.began.wait(10)
    for number in range(2, 50):
        reader.ask(f"p{number}")
    plans.goes_on.set()
    plans.wait()
    plans.wait()
    reader.stop(wait=5)
    assert plans.asked == ["p1", "p49"]
    assert [(answer.plan and answer.plan.id, answer.began) for answer in plans.answers] == [("p1", 7.0), ("p49", 7.0)]


@pytest.mark.parametrize("failure", [lockwatch.DatabaseError("gone"), lockwatch.PlanNotFoundError("p1"), ValueError()])
def test_whatever_goes_wrong_is_no_plan_and_the_next_question_is_answered(failure: Exception) -> None:
    plans, failures = Plans(), [failure]

    def find(plan_id: str) -> Plan:
        if failures:
            raise failures.pop()
        return plan(plan_id)

    reader = PlanReader(find, plans.post, lambda: 0.0)
    reader.begin()
    for _ in range(2):
        reader.ask("p1")
        plans.wait()
    reader.stop(wait=5)
    assert [answer.plan for answer in plans.answers] == [None, plan()]


def test_where_nothing_is_to_be_found_no_thread_is_started() -> None:
    for find, question in ((None, "p1"), (Plans().find, None)):
        reader = PlanReader(find, Plans().post, lambda: 0.0)
        reader.begin()
        reader.ask(question)
        assert reader._thread.ident is None
        reader.stop()


def test_an_app_that_is_over_ends_the_thread() -> None:
    def post(_: PlanRead) -> None:
        raise RuntimeError("the loop is closed")

    reader = PlanReader(plan, post, lambda: 0.0)
    reader.begin()
    reader.ask("p1")
    reader._thread.join(10)
    assert not reader._thread.is_alive()


def test_nothing_is_read_before_it_may_begin_and_then_what_was_asked_for_last() -> None:
    plans = Plans()
    reader = PlanReader(plans.find, plans.post, lambda: 0.0)
    plans.goes_on.set()
    reader.ask("p1")
    reader.follow("p2")
    assert reader._thread.ident is None
    reader.begin()
    plans.wait()
    reader.stop(wait=5)
    assert plans.asked == ["p2"]


async def test_a_plan_is_looked_for_when_there_are_rows_on_the_screen(
    service: LockService, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened: list[str] = []
    service.acquire("plan", "a", "A", ttl_seconds=60)
    render_lines = LockTable.render_lines

    def paint(table: LockTable, crop: Region) -> list[Strip]:
        strips = render_lines(table, crop)
        happened.extend("painted" for strip in strips if "plan/a" in strip.text)
        return strips

    def find(plan_id: str) -> Plan:
        happened.append("looked for")
        return plan(plan_id)

    monkeypatch.setattr(LockTable, "render_lines", paint)
    async with dashboard(service, find_plan=find) as running:
        await running.until_shown("plan    EU report · execute · processing")
    assert happened[0] == "painted"
    assert "looked for" in happened


@pytest.fixture
def find_plan(url: str, service: LockService) -> Callable[[str], Plan]:
    return PlanLifecycleService(service, Database.from_url(url).transactional_engine()).get


async def test_the_plan_is_found_as_soon_as_the_cursor_is_on_its_lock(
    url: str, service: LockService, find_plan: Callable[[str], Plan]
) -> None:
    put(url, Phase.EXECUTE, PlanState.PROCESSING, "a")
    put(url, Phase.APPLY, PlanState.QUEUED, "b")
    execute(url, "UPDATE plans SET name = ? WHERE id = 'b'", (HOSTILE,))
    service.acquire("plan", "a", "A", ttl_seconds=60)
    service.acquire("plan", "b", "B", ttl_seconds=70)
    async with dashboard(service, find_plan=find_plan) as running:
        await running.until_shown("plan    plan a · execute · processing")
        await running.press("j")
        await running.until_shown(f"plan    {HARMLESS} · apply · queued")
        assert "\x1b" not in running.screen()
        execute(url, "UPDATE plans SET state = 'complete' WHERE id = 'b'")
        await running.poll()
        await running.until_shown("apply · complete")
        execute(url, "UPDATE plans SET state = 'b\x1bad' WHERE id = 'b'")
        await running.poll()
        await running.until(lambda: " · " not in running.line("plan    "))
        assert running.app.scene.link() is Link.LIVE


async def test_a_plan_that_hangs_or_fails_keeps_no_lock_from_being_read(service: LockService) -> None:
    plans = Plans()
    service.acquire("plan", "a", "A", ttl_seconds=60)
    async with dashboard(service, find_plan=plans.find) as running:
        await running.until(plans.began.is_set)
        service.acquire("plan", "b", "B", ttl_seconds=70)
        await running.poll()
        await running.until_shown("plan/b")
        await running.poll()
        assert plans.asked == ["a"]
        assert running.app.scene.link() is Link.LIVE
        plans.goes_on.set()
        await running.until_shown("plan    EU report · execute · processing")


async def test_a_database_of_six_columns_has_no_line_of_a_plan(tmp_path_factory: pytest.TempPathFactory) -> None:
    url = f"sqlite:///{tmp_path_factory.mktemp('six')}/locks.db"
    execute(url, SIX_COLUMNS)
    insert_row(url, "plan/a", "A", expires_at=FAR)
    with lockwatch.connect(url) as service:
        asked: list[str] = []
        plans = PlanLifecycleService(service, Database.from_url(url).transactional_engine())

        def find(plan_id: str) -> Plan:
            asked.append(plan_id)
            return plans.get(plan_id)

        async with dashboard(service, find_plan=find) as running:
            await running.until(lambda: len(asked) > 0)
            await running.poll()
            await running.until(lambda: len(asked) > 1)
            assert running.line("plan    ") == ""
            assert running.app.scene.link() is Link.LIVE
            assert len(detail(running.app.scene, 120)) == 4
