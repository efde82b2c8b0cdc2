"""Who waits for one lock, for how long, and in what order they get it, on each database."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, pairwise
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Barrier
from statistics import mean, median
from typing import Final

import lockwatch
from tests.benchmarks.measuring import Figure, Line, Reading, absent, p99
from tests.benchmarks.places import PLACES, AbsentError, Place

CONTENDERS: Final = 8
GRANTS: Final = 2000
HOLD_SECS: Final = 0.001
PATIENCE_SECS: Final = 600.0
PAIRS: Final = 8
HANDOVERS: Final = 25
BEFORE_RELEASE_SECS: Final = (0.05, 0.3)
"""How long a waiter waits before the release: longer than its longest pause, so that it may be anywhere in one."""
LEAST_TTL_SECS: Final = 5.0
BAR_SECS: Final = 0.5

_shared: tuple[Barrier, Synchronized[int]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One grant of a contended lock. Times are in seconds, of one clock for all processes."""

    contender: int
    asked: float
    granted: float
    released: float


def figures() -> Iterator[Line]:
    """How waiters fare on each database."""
    for place in PLACES:
        try:
            yield from _contended(place)
            yield from _freed(place)
        except AbsentError as reason:
            yield absent(f"{place.title}: waiting", str(reason))


def _contended(place: Place) -> Iterator[Line]:
    with place.new() as site:
        turns = _contend(site.url)
    waits = [turn.granted - turn.asked for turn in turns]
    free = [after.granted - before.released for before, after in pairwise(turns)]
    title = f"{place.title}: {CONTENDERS} contenders"
    yield _shown(f"{title}, wait, median", median(waits))
    yield _shown(f"{title}, wait, p99", p99(waits))
    yield _shown(f"{title}, wait, longest of {GRANTS}", max(waits))
    yield _shown(f"{title}, lock free in between, median", median(free))
    places = mean(_passed_over(turns))
    yield Reading(
        name=f"{title}, earlier askers passed over",
        value=f"{places:.1f}",
        remark=f"on average: 0 in a queue, {(CONTENDERS - 1) / 2} by lot, {CONTENDERS - 1} if the last comes first",
    )
    yield Figure(
        name=f"{title}, Jain's fairness of grants",
        ratio=_fairness(turns),
        relation=">=",
        bar=0.8,
        remark=f"1 if all get as many, {1 / CONTENDERS} if one gets all",
    )


def _freed(place: Place) -> Iterator[Figure]:
    with ExitStack() as opened:
        site = opened.enter_context(place.new())
        holder, waiter = (opened.enter_context(lockwatch.connect(site.url)) for _ in range(2))
        pool = opened.enter_context(ThreadPoolExecutor(PAIRS))
        runs = pool.map(lambda pair: _hand_over(holder, waiter, f"p{pair}"), range(PAIRS))
        released = list(chain.from_iterable(runs))
        expired = list(pool.map(lambda pair: _run_out(holder, waiter, f"e{pair}"), range(PAIRS)))
    yield _in_time(f"{place.title}: a released lock to its waiter, p99, s", p99(released))
    yield _in_time(f"{place.title}: an expired lock to its waiter, longest of {PAIRS}, s", max(expired))


def _contend(url: str) -> list[Turn]:
    """All grants of one lock for which processes contend, in order."""
    context = multiprocessing.get_context("spawn")
    shared = context.Barrier(CONTENDERS), context.Value("i", 0)
    with ProcessPoolExecutor(CONTENDERS, mp_context=context, initializer=_share, initargs=shared) as pool:
        runs = list(pool.map(_take_turns, [url] * CONTENDERS, range(CONTENDERS)))
    return sorted(chain.from_iterable(runs), key=lambda turn: turn.granted)


def _share(barrier: Barrier, grants: Synchronized[int]) -> None:
    global _shared  # noqa: PLW0603 what processes share reaches them only at their start
    _shared = barrier, grants


def _take_turns(url: str, contender: int) -> list[Turn]:
    assert _shared is not None, "not in a process that contends"
    barrier, grants = _shared
    turns = []
    with lockwatch.connect(url) as service:
        service.get("plan", "p1")
        barrier.wait(PATIENCE_SECS)
        while grants.value < GRANTS:
            turns.append(_take_turn(service, contender))
            with grants.get_lock():
                grants.value += 1
    return turns


def _take_turn(service: lockwatch.LockService, contender: int) -> Turn:
    asked = time.monotonic()
    service.acquire("plan", "p1", f"w{contender}", wait_seconds=PATIENCE_SECS)
    granted = time.monotonic()
    time.sleep(HOLD_SECS)
    released = time.monotonic()
    service.release("plan", "p1", f"w{contender}")
    return Turn(contender=contender, asked=asked, granted=granted, released=released)


def _hand_over(holder: lockwatch.LockService, waiter: lockwatch.LockService, resource: str) -> list[float]:
    """Seconds from each release of a lock to its grant to the only one who waits for it."""
    taken = []
    with ThreadPoolExecutor(1) as pool:
        for _ in range(HANDOVERS):
            holder.acquire("plan", resource, "holder")
            granted = pool.submit(_wait, waiter, resource)
            time.sleep(random.uniform(*BEFORE_RELEASE_SECS))  # noqa: S311 no secret
            released = time.monotonic()
            holder.release("plan", resource, "holder")
            taken.append(granted.result(PATIENCE_SECS) - released)
    return taken


def _wait(waiter: lockwatch.LockService, resource: str) -> float:
    waiter.acquire("plan", resource, "waiter", wait_seconds=PATIENCE_SECS)
    granted = time.monotonic()
    waiter.release("plan", resource, "waiter")
    return granted


def _run_out(holder: lockwatch.LockService, waiter: lockwatch.LockService, resource: str) -> float:
    """Seconds from a lock's expiry to its grant to the one who waits for it, by the clock that judges."""
    left = holder.acquire("plan", resource, "holder", LEAST_TTL_SECS)
    lock = waiter.acquire("plan", resource, "waiter", wait_seconds=PATIENCE_SECS)
    assert left.expires_at is not None
    assert lock.acquired_at is not None
    return (lock.acquired_at - left.expires_at).total_seconds()


def _fairness(turns: list[Turn]) -> float:
    """Jain's index: the share of contenders who would have as many grants if the others had none."""
    grants = [sum(turn.contender == contender for turn in turns) for contender in range(CONTENDERS)]
    return sum(grants) ** 2 / (CONTENDERS * sum(count**2 for count in grants))


def _passed_over(turns: list[Turn]) -> Iterator[int]:
    """For each grant, the last first: how many had asked before and got theirs later."""
    later: dict[int, float] = {}
    for turn in reversed(turns):
        later.pop(turn.contender, None)
        yield sum(asked < turn.asked for asked in later.values())
        later[turn.contender] = turn.asked


def _shown(name: str, seconds: float) -> Reading:
    return Reading(name=name, value=f"{1000 * seconds:.1f} ms")


def _in_time(name: str, seconds: float) -> Figure:
    return Figure(name=name, ratio=seconds, relation="<=", bar=BAR_SECS)
