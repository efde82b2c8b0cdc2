"""What happened while the dashboard watched: told once, by the right hand, bounded, and harmless on a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

import pytest

from lockwatch import LockService
from lockwatch.cells import width
from lockwatch.core.model import Lock, Outcome, OutcomeKind
from lockwatch.tui.activity import Activity, entry_line, lines
from lockwatch.tui.board import Board
from lockwatch.tui.diff import lease_of
from lockwatch.tui.happenings import Event, Happening, Rest
from lockwatch.tui.spans import Role
from lockwatch.tui.widgets.line_view import Lines
from lockwatch.tui.wish import Filter, Standing
from tests.support import age, execute
from tests.tui.making import at, lock, see, snapshot, text
from tests.tui.running import dashboard

ALL = Filter()
HOSTILE = (
    "a[/]b",
    "[red]x[/red]",
    "[@click=app.quit]x[/]",
    "([sys:LOCK=1…])",
    '{"a": [true]}',
    "\x1b[2J",
    "\x1b[?1049l",
    "\x1b]52;c;aGk=",
    "\u202edlrow",
    "\udcff\udcfe",
    "日本" * 60,
    "x" * 5000,
)


class Watch:
    """A board and what happened, as looks show it."""

    def __init__(self, *locks: Lock, limit: int = 1000) -> None:
        self.board = Board()
        self.activity = Activity(limit)
        self.look(locks, 0)

    def look(self, locks: Iterable[Lock], seconds: float) -> list[Event]:
        previous = self.board.taken_at if self.board.is_filled else None
        changes = see(self.board, snapshot(locks, seconds))
        return self.activity.see(changes, self.board.catalogue, previous, self.board)

    def answer(self, done: str, *seen: Lock, now: Lock | None = None, kind: OutcomeKind = OutcomeKind.DONE) -> None:
        outcomes = [Outcome(kind=kind, seen=one, now=now, at=self.board.taken_at) for one in seen]
        self.board.note(done, outcomes)
        self.activity.note(done, outcomes)

    def told(self, cells: int = 120) -> list[str]:
        entries = self.activity.events(with_routine=True)
        return [text(entry_line(entry, cells, self.activity.seen_at)).strip() for entry in entries]


def test_what_is_there_at_the_first_look_did_not_happen() -> None:
    assert Watch(lock(1), lock(2, -5)).told() == []


def test_how_long_nothing_was_seen_stands_before_what_was_seen_then() -> None:
    watch = Watch(lock(1, 500))
    watch.activity.miss(at(0), at(90))
    watch.look([], 90)
    released, unseen = watch.told()
    assert released.split()[1] == "released"
    assert unseen == "12:00:00  unseen     until 12:01:30Z: the database did not answer"
    assert watch.told(30)[-1].startswith("12:00 unseen until 12:01:30")
    assert list(watch.activity.events(Filter(text="nothing"))) == list(watch.activity.events())[1:]


async def test_a_database_that_was_away_leaves_a_gap_in_the_activity(url: str, service: LockService) -> None:
    async with dashboard(service) as running:
        await running.press("l")
        await running.until_shown("nothing yet")
        execute(url, "ALTER TABLE locks RENAME TO away")
        await running.press("ctrl+r")
        await running.until_shown("DISCONNECTED")
        execute(url, "ALTER TABLE away RENAME TO locks")
        await running.press("ctrl+r")
        await running.until_shown("unseen     until")


def test_each_happening_reads_as_a_sentence() -> None:
    ours, theirs = "worker-4@a:1", "worker-1@b:2"
    watch = Watch(
        lock(1, 300, name="long"),
        lock(2, 3, name="sync-ledger", owner="worker-9@c:3"),
        lock(3, 60, name="mail-digest", owner=ours),
        lock(4, 60, name="done", owner=ours),
        lock(5, -60, name="old", owner=ours),
        lock(6, 60, name="fixed"),
    )
    watch.look(
        [
            lock(1, 310, name="long"),
            lock(2, 3, name="sync-ledger", owner="worker-9@c:3"),
            lock(6, 20, name="fixed"),
            lock(7, 65, name="mail-digest", owner=theirs),
            lock(8, 65, name="thumbnails", owner="worker-5@c:21"),
        ],
        5,
    )
    assert sorted(watch.told()) == [
        "12:00:03  expired    plan/sync-ledger of worker-9@c:3: not renewed for 3s",
        "12:00:05  changed    plan/fixed of worker@host:1: its expiry is 12:00:20Z now",
        "12:00:05  granted    plan/thumbnails to worker-5@c:21",
        "12:00:05  purged     plan/old of worker-4@a:1, 1m after its expiry",
        "12:00:05  released   plan/done of worker-4@a:1, 55s before its expiry",
        "12:00:05  renewed    plan/long by worker@host:1",
        "12:00:05  taken over plan/mail-digest from worker-4@a:1 by worker-1@b:2",
    ]


def test_a_takeover_is_told_once_and_not_as_a_grant_too() -> None:
    watch = Watch(lock(1, -5, name="a", owner="A"))
    (event,) = watch.look([lock(2, 60, name="a", owner="B")], 1)
    assert event.happening is Happening.TAKEN_OVER
    assert event.successor == lock(2, 60, name="a", owner="B")


def test_an_owner_that_takes_its_own_expired_lock_is_not_called_another() -> None:
    watch = Watch(lock(1, -5, name="a", owner="A"))
    watch.look([lock(2, 60, name="a", owner="A")], 1)
    assert watch.told() == ["12:00:01  taken over plan/a anew by A"]


def test_a_grant_and_an_expiry_are_told_with_their_own_times_and_not_with_that_of_the_look() -> None:
    watch = Watch(lock(1, 20, name="a"))
    watch.look([lock(1, 20, name="a"), lock(2, 90, name="b", held=-30)], 60)
    assert [event.at for event in watch.activity.events()] == [at(30), at(20)]


def test_a_time_in_the_table_that_cannot_be_is_not_believed() -> None:
    watch = Watch(lock(1))
    watch.look([lock(1), lock(2, 900, held=-800)], 1)
    watch.look([lock(1), lock(2, 900, held=-800), lock(3, 60, held=5000)], 2)
    assert [event.at for event in watch.activity.events()] == [at(2), at(1)]


def test_a_renewal_comes_before_the_expiry_that_the_same_look_shows() -> None:
    watch = Watch(lock(1, 60))
    watch.look([lock(1, 90)], 300)
    assert [event.happening for event in watch.activity.events() if isinstance(event, Event)] == [
        Happening.EXPIRED,
        Happening.RENEWED,
    ]


def test_how_a_lease_ended_that_might_have_expired_first_is_not_guessed() -> None:
    watch = Watch(lock(1, 60, name="a"), lock(2, None, name="b"))
    watch.look([], 120)
    assert sorted(watch.told()) == [
        "12:02:00  gone       plan/a of worker@host:1, before its expiry at 12:01:00Z or after it",
        "12:02:00  gone       plan/b of worker@host:1",
    ]


def test_an_expiry_is_told_once() -> None:
    watch = Watch(lock(1, 5))
    for seconds in (4, 5, 6, 7):
        watch.look([lock(1, 5)], seconds)
    assert len(watch.told()) == 1


@pytest.mark.parametrize("answer_first", [True, False])
@pytest.mark.parametrize(
    ("done", "seen", "successor", "told"),
    [
        ("released", lock(40, 60, name="legacy", owner="B"), None, "released   plan/legacy by you (was B, fence 40)"),
        ("released", lock(40, -9, name="legacy", owner="B"), None, "released   plan/legacy by you (was B, fence 40)"),
        ("released", lock(40, None, name="legacy", owner="B"), None, "released   plan/legacy by you (was B, fence 40)"),
        ("purged", lock(40, -9, name="legacy", owner="B"), None, "purged     plan/legacy by you (was B, fence 40)"),
        (
            "released",
            lock(40, 60, name="legacy", owner="B"),
            lock(41, 60, name="legacy", owner="C"),
            "released   plan/legacy by you (was B, fence 40), then to C",
        ),
    ],
)  # fmt: skip
def test_what_this_dashboard_ended_is_by_you_whether_the_look_or_the_answer_comes_first(
    done: str, seen: Lock, successor: Lock | None, told: str, answer_first: bool
) -> None:
    watch = Watch(seen)
    after = [successor] if successor else []
    if answer_first:
        watch.answer(done, seen)
        watch.look([seen], 1)
        watch.look(after, 2)
    else:
        watch.look(after, 2)
        watch.answer(done, seen)
    assert watch.told() == [f"12:00:02  {told}"]


@pytest.mark.parametrize("answer_first", [True, False])
def test_what_this_dashboard_renewed_is_by_you_and_news_whether_the_look_or_the_answer_comes_first(
    answer_first: bool,
) -> None:
    seen, renewed = lock(1, 60, name="a", owner="B"), lock(1, 99, name="a", owner="B")
    watch = Watch(seen)
    if answer_first:
        watch.answer("renewed", seen, now=renewed)
    watch.look([renewed], 2)
    if not answer_first:
        watch.answer("renewed", seen, now=renewed)
    (event,) = watch.activity.events(with_routine=False)
    assert isinstance(event, Event)
    assert event.by_you
    assert watch.told() == ["12:00:02  renewed    plan/a by you (is B, fence 1)"]


def test_what_somebody_else_did_to_a_lease_that_this_dashboard_left_alone_is_not_by_you() -> None:
    seen = lock(1, 60, name="a")
    watch = Watch(seen)
    watch.answer("released", seen, kind=OutcomeKind.GONE)
    watch.answer("renewed", seen, now=seen)
    watch.look([], 1)
    assert [event.by_you for event in watch.activity.events() if isinstance(event, Event)] == [False]


def test_a_renewal_that_changed_nothing_claims_no_later_one_of_the_holder() -> None:
    seen = lock(1, 60, name="a")
    watch = Watch(seen)
    watch.answer("renewed", seen, now=seen)
    watch.look([lock(1, 80, name="a")], 20)
    assert watch.told() == ["12:00:20  renewed    plan/a by worker@host:1"]


def test_of_each_lease_only_the_last_renewal_by_its_holder_is_kept_and_none_is_in_the_pane() -> None:
    watch = Watch(lock(1, 60, name="a"), lock(2, 60, name="b"))
    for seconds in (1, 2, 3):
        watch.look([lock(1, 60 + seconds, name="a"), lock(2, 60 + seconds, name="b")], seconds)
    assert watch.told() == [
        "12:00:03  renewed    plan/b by worker@host:1",
        "12:00:03  renewed    plan/a by worker@host:1",
    ]
    assert text(*lines(watch.activity, ALL, 120, 4)).split("\n")[1:] == ["  nothing yet", "", "", ""]


def test_renewals_never_push_out_what_is_news() -> None:
    watch = Watch(lock(0, 60), limit=40)
    watch.look([lock(0, 60), lock(1, 60, name="news")], 1)
    for seconds in range(2, 60):
        watch.look([lock(0, 60), *(lock(number, 60 + seconds) for number in range(2, 60))], seconds)
    kept = list(watch.activity.events())
    assert len(kept) <= 40
    assert "news" in "\n".join(watch.told())


def test_only_so_many_are_kept_the_newest_first() -> None:
    watch = Watch(lock(0), limit=40)
    for number in range(1, 100):
        watch.look([lock(0), lock(number)], number / 10)
    kept = [event for event in watch.activity.events() if isinstance(event, Event)]
    assert len(kept) <= 40
    assert [event.at for event in kept] == sorted((event.at for event in kept), reverse=True)
    assert kept[0].lock.id in (98, 99)


def crowd(count: int, left: float, first: int = 1) -> list[Lock]:
    return [lock(number, left) for number in range(first, first + count)]


def rests(watch: Watch) -> list[str]:
    found = [entry for entry in watch.activity.events() if isinstance(entry, Rest)]
    return [text(entry_line(rest, 120, watch.activity.seen_at)).strip() for rest in found]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (crowd(1000, 60), [], "700 more released"),
        (crowd(1000, -60), [], "700 more purged"),
        (crowd(1000, 5), [], "700 more gone"),
        (crowd(1, 60), crowd(1001, 60), "700 more granted"),
        (crowd(1000, 5), crowd(1000, 5), "700 more expired"),
        (crowd(1000, 60), crowd(1000, 30), "700 more changed"),
        (
            crowd(1000, -60),
            [lock(number + 1000, 60, name=f"p{number}") for number in range(1, 1001)],
            "700 more taken over",
        ),
        (crowd(500, -60) + crowd(500, 60, 501), [], "700 more: 500 purged, 200 released"),
    ],
)
def test_of_a_crowd_the_newest_are_told_one_by_one_and_the_rest_as_a_number(
    before: list[Lock], after: list[Lock], words: str
) -> None:
    watch = Watch(*before)
    events = watch.look(after, 10)
    assert len(events) == 300
    assert [rest.partition("  ")[2] for rest in rests(watch)] == [words]


def test_a_crowd_of_holders_that_renew_is_not_news() -> None:
    watch = Watch(*crowd(1000, 60))
    assert watch.look(crowd(1000, 90), 10) == []
    assert rests(watch) == []


def test_one_change_that_is_news_is_found_in_a_crowd_of_renewals() -> None:
    watch = Watch(*crowd(1000, 60))
    (event,) = watch.look([lock(1, 20), *crowd(999, 90, 2)], 10)
    assert (event.happening, event.lock.id) == (Happening.CHANGED, 1)


@pytest.mark.parametrize("answer_first", [True, False])
def test_the_rest_of_a_crowd_is_by_you_too_whether_the_look_or_the_answer_comes_first(answer_first: bool) -> None:
    stale = crowd(1000, -60)
    watch = Watch(*stale)

    def answer() -> None:
        for start in range(0, 900, 90):
            watch.answer("purged", *stale[start : start + 90])

    if answer_first:
        answer()
    watch.look([], 10)
    if not answer_first:
        answer()
    assert [rest.partition("  ")[2] for rest in rests(watch)] == ["700 more purged by you"]
    told = [event.by_you for event in watch.activity.events() if isinstance(event, Event)]
    assert told.count(True) == 200
    assert told.count(False) == 100


def test_an_answer_that_is_told_twice_counts_once() -> None:
    stale = crowd(1000, -60)
    watch = Watch(*stale)
    watch.look([], 10)
    for _ in range(2):
        watch.answer("purged", *stale[:350])
    assert [rest.partition("  ")[2] for rest in rests(watch)] == ["700 more: 350 purged by you, 350 purged"]


def test_a_renewed_crowd_is_counted_as_by_you() -> None:
    before, after = crowd(1000, 60), crowd(1000, 90)
    watch = Watch(*before)
    outcomes = [
        Outcome(kind=OutcomeKind.DONE, seen=seen, now=now, at=at(5)) for seen, now in zip(before, after, strict=True)
    ]
    watch.activity.note("renewed", outcomes)
    watch.look(after, 10)
    assert [rest.partition("  ")[2] for rest in rests(watch)] == ["700 more renewed by you"]


def test_a_hundred_thousand_changes_cost_the_interface_less_than_to_name_each_lease_once() -> None:
    """A ratio, since machines differ: it took 12 ms where naming them took 40."""
    stale = crowd(100_000, -60)
    watch = Watch(*stale)
    previous = watch.board.taken_at
    outcomes = [Outcome(kind=OutcomeKind.DONE, seen=one, now=None, at=at(1)) for one in stale]
    changes = see(watch.board, snapshot([], 1))
    spent: list[float] = []
    naming: list[float] = []
    for _ in range(5):
        activity = Activity()
        activity.note("purged", outcomes)
        began = time.perf_counter()
        activity.see(changes, watch.board.catalogue, previous, watch.board)
        seen = time.perf_counter()
        leases = [lease_of(one) for one in stale]
        spent.append(seen - began)
        naming.append(time.perf_counter() - seen)
    assert len(leases) == 100_000
    assert min(spent) < min(naming)


def test_the_filter_leaves_events_out_by_name_owner_and_type_but_not_by_how_locks_stand() -> None:
    watch = Watch(lock(0))
    watch.look(
        [
            lock(0),
            lock(1, name="import", owner="ana"),
            lock(2, name="export", owner="bob"),
            replace(lock(3, name="import", owner="bob"), resource_type="project"),
        ],
        1,
    )

    def ids(wanted: Filter) -> set[int]:
        return {event.lock.id for event in watch.activity.events(wanted) if isinstance(event, Event)}

    assert ids(Filter(text="IMPORT")) == {1, 3}
    assert ids(Filter(owner="bob")) == {2, 3}
    assert ids(Filter(resource_type="project")) == {3}
    assert ids(Filter(standing=Standing.STALE)) == {1, 2, 3}
    assert "activity · 1 of 3 match" in text(*lines(watch.activity, Filter(text="export"), 120, 4))
    assert "match" not in text(*lines(watch.activity, Filter(standing=Standing.STALE), 120, 4))
    assert "nothing that matches the filter" in text(*lines(watch.activity, Filter(text="zzz"), 120, 4))


def test_how_many_more_there_were_is_told_whatever_the_filter() -> None:
    watch = Watch(*crowd(1000, 60))
    watch.look([], 10)
    assert any(isinstance(entry, Rest) for entry in watch.activity.events(Filter(text="zzz")))


def test_the_pane_keeps_its_height() -> None:
    watch = Watch(lock(0))
    for number in range(8):
        assert len(lines(watch.activity, ALL, 120, 4)) == 5
        watch.look([lock(0), lock(number + 1)], number + 1)


def test_what_happened_on_another_day_has_its_date() -> None:
    watch = Watch(lock(0, 400_000))
    watch.look([lock(0, 400_000), lock(1, 400_000, name="a")], 1)
    watch.look([lock(0, 400_000), lock(1, 400_000, name="a")], 90_000)
    assert watch.told() == ["02-29     granted    plan/a to worker@host:1"]


def test_forty_columns_tell_when_what_and_of_which_lock() -> None:
    watch = Watch(lock(0), lock(9, 60, name="mail-digest", owner="worker-4@a:1"))
    watch.look(
        [lock(0), lock(10, 60, name="mail-digest", owner="worker-1@b:2"), lock(11, name="thumbnails/2026-11")], 1
    )
    assert sorted(watch.told(40)) == [
        "12:00 granted plan/th…/2026-11 to worker",
        "12:00 taken over plan/…igest by worker-1",
    ]


def test_colours_repeat_what_the_words_say() -> None:
    watch = Watch(lock(1, 5, name="a"), lock(2, 60, name="b"), lock(3, -5, name="c"))
    watch.answer("released", lock(2, 60, name="b"))
    watch.look([lock(1, 5, name="a"), lock(4, 60, name="c", owner="B"), lock(5, 60, name="d")], 6)
    roles = {
        span.text.strip(): span.role for entry in watch.activity.events() for span in entry_line(entry, 120, at(6))
    }
    assert roles["granted"] is Role.HELD
    assert roles["expired"] is Role.STALE
    assert roles["taken over"] is Role.EXPIRING
    assert roles["released"] is Role.YOU


@pytest.mark.parametrize("cells", [1, 5, 14, 25, 36, 40, 60, 80, 120, 400])
@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_of_the_table_breaks_a_line_or_reaches_a_terminal_raw(name: str, cells: int) -> None:
    watch = Watch(
        lock(1, 5, name=f"1{name}", owner=name),
        lock(2, 60, name=f"2{name}", owner=name),
        lock(3, -60, name=f"3{name}", owner=name),
        lock(4, 60, name=f"4{name}", owner=name),
        lock(5, 60, name=f"5{name}", owner=f"{name}@h:1"),
        lock(6, 60, name=f"6{name}", owner=name),
        lock(7, 60, name=f"7{name}", owner=name),
    )
    watch.answer("released", lock(6, 60, name=f"6{name}", owner=name))
    watch.look(
        [
            lock(1, 5, name=f"1{name}", owner=name),
            replace(lock(4, None, name=f"4{name}", owner=name), expires_text=name),
            lock(7, 90, name=f"7{name}", owner=name),
            lock(8, 60, name=f"5{name}", owner=f"{name}@h:2"),
            lock(9, 60, name=f"9{name}", owner=name),
        ],
        6,
    )
    shown = watch.told(cells)
    assert len(shown) == 8
    for line in shown:
        assert width(line) <= cells
        assert line.isprintable()


@pytest.mark.parametrize("name", HOSTILE[:5])
def test_markup_in_a_name_is_shown_as_it_is(name: str) -> None:
    watch = Watch(lock(0))
    watch.look([lock(0), lock(1, name=name, owner=name)], 1)
    assert watch.told() == [f"12:00:01  granted    plan/{name} to {name}"]


async def test_what_happens_is_on_the_screen_and_what_i_do_is_by_me(url: str, service: LockService) -> None:
    service.acquire("plan", "legacy", "worker-2", ttl_seconds=60)
    async with dashboard(service, size=(120, 40)) as running:
        await running.until_shown("nothing yet")
        service.acquire("plan", "thumbnails", "worker-5", ttl_seconds=300)
        await running.poll()
        await running.until_shown("granted    plan/thumbnails to worker-5")
        await running.press("r")
        await running.until(lambda: running.dialog is not None)
        await running.press("y")
        await running.until_shown("released   plan/legacy by you (was worker-2, fence 1)")
        age(url, "plan/thumbnails")
        service.acquire("plan", "thumbnails", "worker-6", ttl_seconds=300)
        await running.poll()
        await running.until_shown("taken over plan/thumbnails from worker-5 by worker-6")


async def test_all_activity_has_a_screen_that_follows_unless_it_is_scrolled(service: LockService) -> None:
    async with dashboard(service, size=(80, 14)) as running:
        for number in range(30):
            service.acquire("plan", f"a{number:02}", "A", ttl_seconds=60)
        await running.poll()
        await running.press("L")
        await running.until_shown("activity")
        service.acquire("plan", "newest", "A", ttl_seconds=60)
        await running.poll()
        await running.until_shown("granted    plan/newest")
        await running.press("j", "j", "j")
        await running.until(lambda: "plan/newest" not in running.screen())
        first = running.screen().splitlines()[1]
        service.acquire("plan", "newer still", "A", ttl_seconds=60)
        await running.poll()
        await running.until(lambda: running.app.screen.query_one("#body", Lines).scroll_offset.y == 4)
        assert running.screen().splitlines()[1] == first
        await running.press("g")
        await running.until_shown("plan/newer still")
        await running.press("escape")
        await running.until(lambda: running.app.screen is running.app.watch_screen)


@pytest.mark.parametrize("key", ["escape", "q", "l", "L"])
async def test_these_keys_leave_the_screen_of_all_activity(service: LockService, key: str) -> None:
    async with dashboard(service, size=(80, 20)) as running:
        await running.press("L")
        await running.until_shown("nothing yet")
        assert "esc back" in running.screen()
        await running.press("x", "r", "p", key)
        await running.until(lambda: running.app.screen is running.app.watch_screen)


async def test_the_screen_of_all_activity_heeds_the_filter(service: LockService) -> None:
    async with dashboard(service, size=(80, 20)) as running:
        for name in ("import", "export"):
            service.acquire("plan", name, "A", ttl_seconds=60)
        await running.poll()
        await running.press("slash", *"imp", "enter", "L")
        await running.until_shown("activity · 1 of 2 match")
        assert "export" not in running.screen()
