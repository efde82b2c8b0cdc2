"""The database goes away, hangs, comes back: the screen says so and never ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

import lockwatch
from lockwatch import DatabaseError, LockService, Watcher
from lockwatch.core.timestamps import utc_now
from lockwatch.core.watcher import Watched
from lockwatch.tui.app import Dashboard
from lockwatch.tui.clock import steady
from lockwatch.tui.freshness import Freshness, Link
from lockwatch.tui.look import Look
from lockwatch.tui.messages import Polled, PollFailed, Progressed, Settled
from lockwatch.tui.orders import Order, Verb
from lockwatch.tui.poller import Poller
from lockwatch.tui.writer import Writer
from tests.support import insert_row, path_of
from tests.tui.making import at, lock
from tests.tui.running import dashboard


class Answers:
    """Collects what a thread posts."""

    def __init__(self) -> None:
        self.all: list[Polled | PollFailed | Progressed | Settled] = []
        self._came = threading.Condition()

    def post(self, message: Polled | PollFailed | Progressed | Settled) -> bool:
        with self._came:
            self.all.append(message)
            self._came.notify_all()
        return True

    def wait(self, count: int) -> None:
        with self._came:
            assert self._came.wait_for(lambda: len(self.all) >= count, timeout=10), self.all


@contextmanager
def polling(service: LockService, answers: Answers, interval: float = 60.0) -> Iterator[Poller]:
    poller = Poller(service.watcher, answers.post, interval, steady)
    poller.start()
    yield poller
    poller.stop(wait=5)


def test_the_next_poll_waits_for_the_answer_to_be_taken_in(service: LockService) -> None:
    answers = Answers()
    with polling(service, answers, interval=0.0) as poller:
        answers.wait(1)
        poller.poll_now()
        time.sleep(0.05)
        assert len(answers.all) == 1
        poller.arm()
        answers.wait(2)


def test_a_poll_asked_for_during_a_poll_comes_after_it(service: LockService) -> None:
    answers = Answers()
    with polling(service, answers) as poller:
        answers.wait(1)
        poller.arm()
        poller.poll_now()
        answers.wait(2)
        assert isinstance(answers.all[1], Polled)


def test_whatever_a_driver_raises_is_an_answer(service: LockService, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Watcher) -> Watched:
        raise ZeroDivisionError("a\x1b[2J\nb")

    monkeypatch.setattr(Watcher, "look", fail)
    answers = Answers()
    with polling(service, answers) as poller:
        for count in range(1, 6):
            answers.wait(count)
            poller.poll_now()
            poller.arm()
    failed = answers.all[0]
    assert isinstance(failed, PollFailed)
    assert failed.reason == "ZeroDivisionError: a␛[2J b"


def test_retries_back_off_to_ten_seconds_at_most(service: LockService) -> None:
    poller = Poller(service.watcher, Answers().post, 1.0, steady)
    delays = []
    for failures in range(8):
        poller._failures = failures
        delays.append(poller._delay())
    assert delays == [1, 1, 2, 4, 8, 10, 10, 10]


def test_a_table_that_takes_long_to_read_is_read_more_rarely(service: LockService) -> None:
    poller = Poller(service.watcher, Answers().post, 1.0, steady)
    poller._took = 2.0
    assert poller.every == 6.0


def test_stopping_does_not_wait_for_a_poll_that_hangs(service: LockService, monkeypatch: pytest.MonkeyPatch) -> None:
    hangs = threading.Event()

    def hang(_: Watcher) -> Watched:
        hangs.wait(30)
        raise DatabaseError("at last")

    monkeypatch.setattr(Watcher, "look", hang)
    poller = Poller(service.watcher, Answers().post, 1.0, steady)
    poller.start()
    began = time.monotonic()
    poller.stop()
    assert time.monotonic() - began < 5
    hangs.set()


def test_a_write_that_fails_is_an_answer_and_what_was_done_before_is_known(
    url: str, service: LockService, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [insert_row(url, f"plan/p{number}") for number in range(3)]
    monkeypatch.setattr("lockwatch.tui.orders.CHUNK_SIZE", 2)
    stale = service.snapshot().locks
    purge = service.purge_exact
    calls = []

    def fail_later(locks: tuple[lockwatch.Lock, ...]) -> list[lockwatch.Outcome]:
        calls.append(locks)
        if len(calls) > 1:
            raise DatabaseError("the disk is full")
        return purge(locks)

    monkeypatch.setattr(service, "purge_exact", fail_later)
    answers = Answers()
    assert Writer(service, answers.post).carry_out(Order(verb=Verb.PURGE, locks=stale))
    answers.wait(2)
    settled = answers.all[-1]
    assert isinstance(settled, Settled)
    assert [outcome.seen.id for outcome in settled.outcomes] == ids[:2]
    assert settled.failure == "the disk is full"


def test_one_order_at_a_time(service: LockService, monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = threading.Event()

    def hang(_: tuple[lockwatch.Lock, ...]) -> list[lockwatch.Outcome]:
        goes_on.wait(30)
        raise DatabaseError("at last")

    monkeypatch.setattr(service, "release_all_exact", hang)
    answers = Answers()
    writer = Writer(service, answers.post)
    order = Order(verb=Verb.RELEASE, locks=(lock(1),))
    assert writer.carry_out(order)
    assert not writer.carry_out(order)
    goes_on.set()
    answers.wait(1)
    assert writer.carry_out(order)
    answers.wait(2)


def test_now_is_the_databases_clock_and_the_time_since() -> None:
    freshness = Freshness(started=100.0, every=1.0, taken_at=at(0), polled=200.0)
    assert freshness.now(203.5) == at(3.5)
    assert freshness.age(203.5) == 3.5
    assert freshness.link(203.5) is Link.LIVE


def test_a_database_that_does_not_answer_counts_as_disconnected() -> None:
    freshness = Freshness(started=100.0, every=1.0, taken_at=at(0), polled=200.0)
    assert freshness.link(204.5) is Link.DISCONNECTED
    assert freshness.reason() == "the database does not answer"
    assert Freshness(started=100.0, every=1.0).link(101) is Link.CONNECTING
    assert Freshness(started=100.0, every=1.0).link(105) is Link.DISCONNECTED
    assert Freshness(started=100.0, every=1.0).now(105) is None


async def test_a_file_that_moves_away_and_back(url: str, service: LockService) -> None:
    for name in ("alpha", "beta", "alps"):
        service.acquire("plan", name, "A", ttl_seconds=60)
    path = path_of(url)
    async with dashboard(service, interval=0.1) as running:
        await running.press("slash", "a", "l", "p", "enter", "j")
        cursor = running.app.scene.board.cursor
        path.rename(path.with_suffix(".away"))
        await running.until_shown(" DISCONNECTED  data ")
        await running.until_shown("DISCONNECTED: there is no database file")
        age = running.app.scene.age()
        await running.press("r")
        await running.until(lambda: "release: refused while DISCONNECTED" in running.notices)
        assert running.dialog is None
        assert running.app.scene.age() > age
        assert "plan/alpha" in running.screen()
        path.with_suffix(".away").rename(path)
        await running.press("ctrl+r")
        await running.until_shown("● live")
        assert running.app.scene.board.cursor == cursor
        await running.until_shown("2 of 3 shown")


async def test_y_is_refused_while_disconnected(url: str, service: LockService) -> None:
    service.acquire("plan", "a", "A", ttl_seconds=60)
    path = path_of(url)
    async with dashboard(service) as running:
        await running.press("r")
        path.rename(path.with_suffix(".away"))
        running.app.action_poll_now()
        await running.until_shown("DISCONNECTED: there is no database file")
        await running.press("y")
        await running.until_shown("not done: DISCONNECTED")
        path.with_suffix(".away").rename(path)
        assert service.get("plan", "a") is not None


async def test_a_write_that_fails_keeps_the_dialog_open_and_says_why(
    service: LockService, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: tuple[lockwatch.Lock, ...]) -> list[lockwatch.Outcome]:
        raise DatabaseError("the database cannot be written")

    service.acquire("plan", "a", "A", ttl_seconds=60)
    monkeypatch.setattr(service, "release_all_exact", fail)
    async with dashboard(service) as running:
        await running.press("r", "y")
        await running.until_shown("not done: the database cannot be written")
        await running.until(lambda: "release failed: the database cannot be written" in running.notices)


async def test_a_database_that_cannot_be_opened_is_a_state_and_not_the_end(url: str) -> None:
    path_of(url).unlink()
    with lockwatch.connect(url) as service:
        app = lockwatch_dashboard(service)
        async with app.run_test(size=(100, 20)) as pilot:
            while app.scene.link() is not Link.DISCONNECTED:
                await pilot.pause(0.02)
            assert app.is_running


async def test_a_clock_that_is_off_changes_no_countdown_and_is_shown(url: str) -> None:
    with lockwatch.connect(url, clock=lambda: utc_now() - timedelta(hours=1)) as service:
        service.acquire("plan", "a", "A", ttl_seconds=300)
        async with dashboard(service) as running:
            await running.until_shown("this machine's clock is 1h ahead of the database's")
            assert "4m" in running.line("plan/a")


async def test_bytes_that_are_no_text_are_shown_replaced(url: str, service: LockService) -> None:
    insert_row(url, "plan/p1", b"o\xff\xfe", expires_at="2020-02-29T12:01:00Z")
    async with dashboard(service) as running:
        await running.until_shown("o\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}")
        await running.press("r", "y")
        await running.until(lambda: service.snapshot().locks == ())


def lockwatch_dashboard(service: LockService) -> Dashboard:
    return Dashboard(service, Look(name="orders.db", interval=0.05))
