"""What is told of the lease under the cursor, in the pane and on a screen of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockwatch import LockService
from lockwatch.cells import width
from lockwatch.core.holding import new_owner
from lockwatch.core.model import Lock, Outcome, OutcomeKind
from lockwatch.plans import Phase, Plan, PlanState
from lockwatch.tui.detail import MOST_LINES, detail, full_detail
from lockwatch.tui.freshness import Freshness
from lockwatch.tui.look import Look
from lockwatch.tui.owners import Process, name_of, process_of
from lockwatch.tui.scene import Scene
from lockwatch.tui.spans import Line, Role, Span
from tests.tui.making import at, lock, see, snapshot, text
from tests.tui.running import dashboard
from tests.tui.test_activity import HOSTILE

CELLS = (1, 2, 14, 25, 40, 60, 80, 120, 200)


def scene(*looks: tuple[float, list[Lock]]) -> Scene:
    """What stands on the screen once it has seen these, by the seconds of their looks."""
    last = looks[-1][0]
    made = Scene(
        look=Look(name="orders.db"),
        freshness=Freshness(started=0.0, every=1.0, taken_at=at(last), polled=0.0),
        steady=lambda: 0.0,
    )
    for seconds, locks in looks:
        see(made.board, snapshot(locks, seconds))
    return made


def pane(shown: Scene, cells: int = 120) -> str:
    return text(*detail(shown, cells))


def full(shown: Scene, cells: int = 120) -> list[str]:
    return [" ".join(line.split()) for line in text(*full_detail(shown, cells)).splitlines()]


def spans(lines: list[Line], part: str) -> list[Span]:
    return [span for line in lines for span in line if part in span.text]


def late_holder(*, now: float) -> Scene:
    """A holder that renewed every 20 s, last at 60."""
    renewals = [(20.0 * number, [lock(1, 20 * number + 60)]) for number in range(4)]
    return scene(*renewals, (now, [lock(1, 120)]))


def plan() -> Plan:
    return Plan(
        id="p1",
        project_id="shop",
        name="EU report",
        phase=Phase.EXECUTE,
        state=PlanState.PROCESSING,
        error=None,
        created_at=at(0),
        updated_at=at(0),
    )


def test_the_pane_tells_who_since_when_until_when_and_how_it_went_on() -> None:
    shown = scene((0, [lock(4377, 6, name="report [EU]", owner="cron@b:991", held=24)]))
    assert pane(shown).splitlines() == [
        f"─ plan/report [EU] {'─' * 101}",
        "  owner cron   host b   pid 991   fence 4377",
        "  acquired 11:59:36Z (24s ago)   expires 12:00:06Z (6s left)   ttl 30s",
        "  renewed not yet",
    ]


def test_renewals_are_told_with_how_often_and_after_which_time_usually() -> None:
    assert "renewed 5s ago, 3 times since this dashboard began, every ~20s" in pane(late_holder(now=65))


def test_that_a_holder_is_late_is_told_with_what_it_is_measured_by() -> None:
    shown = late_holder(now=107)
    (late,) = spans(detail(shown, 120), "late")
    assert late.text == "late: 47s since the last renewal, usually every 20s"
    assert late.role is Role.LATE
    assert "late: 47s since the last renewal, usually every 20s" in full(shown)
    assert "late: 47s, usually every 20s" in pane(shown, 40)
    assert "state ◔ LATE" in full(shown)


def test_a_holder_that_is_in_time_is_not_called_late() -> None:
    assert "late" not in pane(late_holder(now=89))
    assert not any("late" in line for line in full(late_holder(now=89)))


def test_an_operators_renewal_is_not_taken_for_the_holders() -> None:
    shown = late_holder(now=65)
    renewed = lock(1, 135)
    shown.board.note("renewed", [Outcome(kind=OutcomeKind.DONE, seen=lock(1, 120), now=renewed, at=at(75))])
    see(shown.board, snapshot([renewed], 75))
    see(shown.board, snapshot([renewed], 107))
    shown.freshness = replace(shown.freshness, taken_at=at(107))
    assert "renewed 32s ago by you, 4 times" in pane(shown)
    assert "late: 47s since its holder's last renewal, usually every 20s" in pane(shown)


def test_a_lease_that_was_renewed_before_says_so_and_that_its_ttl_is_unknown() -> None:
    shown = scene((0, [lock(1, 40.5)]))
    assert "ttl unknown" in pane(shown)
    assert "renewed not since this dashboard began" in pane(shown)


def test_of_a_lease_that_was_taken_over_it_is_told_by_whom() -> None:
    shown = scene((0, [lock(1, 5, name="a", owner="A")]), (9, [lock(2, 60, name="a", owner="B@h:7", held=-8)]))
    shown.board.move(-1)
    assert shown.board.selected == lock(1, 5, name="a", owner="A")
    assert "taken over by B@h:7 0s ago, 4s after its expiry" in pane(shown)
    assert "went taken over by B@h:7 0s ago, 4s after its expiry" in full(shown)
    assert "holder now B@h:7, fence 2, for 1s" in full(shown)


def test_an_unreadable_expiry_is_shown_as_it_is_stored() -> None:
    shown = scene((0, [replace(lock(1, None), expires_text="to\x1bmorrow")]))
    assert "expires 'to␛morrow': cannot be read, so it never expires" in pane(shown)


def test_the_screen_tells_every_fact_on_its_own_line() -> None:
    shown = scene((0, [lock(4377, 6, name="p1", owner="cron@b:991:x7", held=24)]))
    shown.note_plan(plan(), read_at=0.0)
    assert full(shown) == [
        "resource plan/p1",
        "owner cron@b:991:x7",
        "name cron",
        "host b",
        "pid 991",
        "rest x7",
        "fence 4377",
        "acquired 11:59:36Z (24s ago)",
        "expires 12:00:06Z (6s left)",
        "ttl 30s",
        "renewed not yet",
        "state ◐ EXPIRING",
        "plan EU report · execute · processing",
    ]


def test_without_a_lock_there_is_nothing_to_tell() -> None:
    assert full(scene((0, []))) == ["no lock is under the cursor"]
    assert pane(scene((0, []))).strip("─\n") == ""


@pytest.mark.parametrize("cells", CELLS)
@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_of_the_table_breaks_a_line_or_reaches_a_terminal_raw(name: str, cells: int) -> None:
    mine = lock(1, 60, name=name, owner=f"{name}@h:1")
    for locks in ([lock(2, 60, name=name, owner=name)], [replace(lock(1, None, name=name), expires_text=name)], []):
        shown = scene((0, [mine]), (1, locks))
        lines = [*detail(shown, cells), *full_detail(shown, cells)]
        assert len(detail(shown, cells)) <= MOST_LINES
        for line in map(text, lines):
            assert line.isprintable()
            assert width(line) <= cells


@pytest.mark.parametrize("cells", [25, 40, 120])
def test_the_screen_cuts_nothing_off(cells: int) -> None:
    name, owner = "n" * 250, "o" * 250
    shown = "".join(text(*full_detail(scene((0, [lock(1, 60, name=name, owner=owner)])), cells)).split())
    assert name in shown
    assert owner in shown
    assert all(
        width(line) <= cells for line in text(*full_detail(scene((0, [lock(1, name=name)])), cells)).splitlines()
    )


@pytest.mark.parametrize(
    ("owner", "process"),
    [
        ("cron@b:991", Process(name="cron", host="b", pid="991", rest="")),
        ("worker-3@db1.example.org:4242", Process(name="worker-3", host="db1.example.org", pid="4242", rest="")),
        ("deploy bot@10.0.0.7:1:x-1", Process(name="deploy bot", host="10.0.0.7", pid="1", rest="x-1")),
        ("ci-7:1209", Process(name="", host="ci-7", pid="1209", rest="")),
        ("ci-7:1209:0a1b2c3d", Process(name="", host="ci-7", pid="1209", rest="0a1b2c3d")),
        ("Büro Süd:1209:0a1b2c3d", Process(name="", host="Büro Süd", pid="1209", rest="0a1b2c3d")),
        *(
            (owner, None)
            for owner in (
                "", "worker-1", "worker-1:0a1b2c3d", "10:30", "a:b", "ci-7:0", "ci-7:0123", "ci-7:9999999",
                "ci-7:1209:", "ci-7:1209:xyz", "cron@b", "cron@b:991:", "cron@:991", "@b:991", "a@b@c:991", "b:٣",
                "b:991\n", "\x1b[2J:991",
            )
        ),
    ],
)  # fmt: skip
def test_an_owner_is_taken_apart_only_where_it_clearly_names_a_process(owner: str, process: Process | None) -> None:
    assert process_of(owner) == process


def test_the_owners_that_lockwatch_makes_are_taken_apart() -> None:
    process = process_of(new_owner())
    assert process is not None
    assert process.host
    assert process_of(new_owner("nightly")) is None


@given(st.text(max_size=60))
def test_the_name_of_an_owner_is_always_where_it_begins(owner: str) -> None:
    assert owner.startswith(name_of(owner))


async def test_where_the_pane_has_no_room_the_detail_has_a_screen(service: LockService) -> None:
    service.acquire("plan", "a", "cron@b:991", ttl_seconds=60)
    async with dashboard(service, size=(80, 14)) as running:
        assert running.line("pid") == ""
        await running.press("enter")
        await running.until_shown("pid        991")
        await running.press("r", "p", "x", "question_mark")
        await running.until_shown("Help: the keys of a text")
        await running.press("escape")
        await running.until_shown("pid        991")
        service.release("plan", "a", "cron@b:991")
        await running.poll()
        await running.until_shown("went       gone")
        await running.press("enter")
        await running.until(lambda: running.app.screen is running.app.watch_screen)
