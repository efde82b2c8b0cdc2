"""Who waits for a resource gets it in turn, though one contender asks for it again as soon as it has released it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import lockwatch
from lockwatch.core import courtesy
from lockwatch.core.acquiring import POLL_SECS, Acquirer
from lockwatch.core.courtesy import GREATEST_PACE, Courtesy, Pace
from lockwatch.core.model import Key
from lockwatch.database import Database
from tests.core.leases.leasing import PATIENCE_SECS, Times, service_at

KEY = Key("plan", "p1")
LONGEST_SECS = 0.2


@pytest.fixture
def times() -> Times:
    return Times()


@pytest.fixture
def kept(times: Times) -> Courtesy:
    return Courtesy(times.monotonic, longest_seconds=LONGEST_SECS)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long calls paused; they do not really."""
    seen: list[float] = []
    monkeypatch.setattr(Acquirer, "pause", lambda _acquirer, seconds: seen.append(seconds))
    return seen


@pytest.mark.parametrize(("held", "back"), [(0.05, 0.05), (0.2, 0.2), (30, LONGEST_SECS)])
def test_others_have_as_long_to_look_as_it_was_held_but_no_longer_than_a_pause(
    kept: Courtesy, times: Times, held: float, back: float
) -> None:
    kept.granted(KEY, times.elapsed)
    times.advance(held)
    kept.released(KEY)
    assert kept.pause(KEY) == pytest.approx(back)
    times.advance(back / 2)
    assert kept.pause(KEY) == pytest.approx(back / 2)
    times.advance(back)
    assert kept.pause(KEY) == 0


def test_what_was_not_held_here_is_left_to_nobody(kept: Courtesy, times: Times) -> None:
    kept.granted(Key("plan", "p2"), times.elapsed)
    times.advance(1)
    kept.released(KEY)
    assert kept.pause(KEY) == 0


def test_few_resources_are_remembered(kept: Courtesy, times: Times, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(courtesy, "MOST", 2)
    keys = [Key("plan", f"p{number}") for number in range(3)]
    for key in keys:
        kept.granted(key, times.elapsed - 1)
    for key in keys:
        kept.released(key)
    assert [kept.pause(key) > 0 for key in keys] == [False, True, True]


def test_who_is_passed_over_looks_more_often_up_to_a_bound() -> None:
    pace = Pace()
    paces = [pace.behind(fence) for fence in range(20)]
    assert paces[0] == 1
    assert paces == sorted(paces)
    assert paces[3] == pytest.approx(2)
    assert paces[-1] == GREATEST_PACE


def test_behind_one_holder_nobody_looks_more_often() -> None:
    pace = Pace()
    assert [pace.behind(7) for _ in range(20)] == [1] * 20


def test_a_service_stands_back_only_if_it_would_wait(url: str, times: Times, pauses: list[float]) -> None:
    with service_at(url, times) as service:
        service.acquire("plan", "p1", "a", wait_seconds=60)
        times.advance(3)
        service.release("plan", "p1", "a")
        service.acquire("plan", "p1", "a")
        service.release("plan", "p1", "a")
        assert pauses == []
        with service.hold("plan", "p1"):
            times.advance(3)
        with service.hold("plan", "p1", wait_seconds=60):
            assert pauses == pytest.approx([POLL_SECS[1]])


def test_it_stands_back_for_no_longer_than_it_would_wait(url: str, times: Times, pauses: list[float]) -> None:
    with service_at(url, times) as service:
        service.acquire("plan", "p1", "a")
        times.advance(3)
        service.release("plan", "p1", "a")
        service.acquire("plan", "p1", "b", wait_seconds=0.01)
    assert pauses == [0.01]


def test_anothers_lock_that_was_not_released_changes_nothing(url: str, times: Times, pauses: list[float]) -> None:
    with service_at(url, times) as service:
        service.acquire("plan", "p1", "a")
        times.advance(3)
        assert not service.release("plan", "p1", "b")
        assert service.release("plan", "p1", "a")
        service.acquire("plan", "p1", "b", wait_seconds=60)
    assert pauses == pytest.approx([POLL_SECS[1]])


def test_a_waiter_gets_it_before_who_has_just_had_it(url: str, times: Times, monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database.from_url(url)
    monkeypatch.setattr("lockwatch.core.acquiring.POLL_SECS", (1.0, 1.0))
    held_long = lockwatch.LockService(database.engine(), identity=database.identity, monotonic=times.monotonic)
    monkeypatch.setattr("lockwatch.core.acquiring.POLL_SECS", (0.2, 0.2))
    paused, real = threading.Event(), Acquirer.pause

    def noted(acquirer: Acquirer, seconds: float) -> None:
        paused.set()
        real(acquirer, seconds)

    monkeypatch.setattr(Acquirer, "pause", noted)
    with held_long as first, lockwatch.connect(url) as second, ThreadPoolExecutor(2) as pool:
        first.acquire("plan", "p1", "a")
        waiting = pool.submit(second.acquire, "plan", "p1", "b", wait_seconds=PATIENCE_SECS)
        assert paused.wait(PATIENCE_SECS)
        times.advance(60)
        assert first.release("plan", "p1", "a")
        again = pool.submit(first.acquire, "plan", "p1", "a", wait_seconds=PATIENCE_SECS)
        assert waiting.result(PATIENCE_SECS).owner_id == "b"
        assert not again.done()
        second.release("plan", "p1", "b")
        assert again.result(PATIENCE_SECS).owner_id == "a"
