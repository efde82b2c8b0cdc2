"""The lock core against a database's driver that runs the same statements in the same process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from statistics import median

import lockwatch
from lockwatch.core.timestamps import to_text
from tests.benchmarks.measuring import Figure, median_ratio, seconds
from tests.benchmarks.places import LIVE, SQLITE, STALE, Place, Run
from tests.contract.sites import Site

ROUNDS = 25
CLEAN_UPS = 7


def figures() -> Iterator[Figure]:
    """Every figure of the core on SQLite, one after the other."""
    yield from figures_of(SQLITE, calls=400, bar=0.70)


def figures_of(place: Place, calls: int, bar: float) -> Iterator[Figure]:
    """Every figure of the core on one database; the bar is that of acquire+release, of the driver's speed.

    Raises:
        AbsentError: there is no such database here.
    """
    with ExitStack() as made:
        small, beside_live, beside_stale = (made.enter_context(place.new()) for _ in range(3))
        place.fill(beside_live, LIVE)
        place.fill(beside_stale, STALE)
        with lockwatch.connect(small.url) as service, place.raw(small) as raw:
            yield _acquire_and_release(place, service, raw, calls, bar)
            yield _refused(place, service, raw, calls)
        yield _beside(place, "other", small, beside_live, calls)
        yield _beside(place, "stale", small, beside_stale, calls)
        yield _clean_up(place, beside_stale)


def cycles(service: lockwatch.LockService, calls: int) -> None:
    """Take one lock, which nobody else wants, and let it go, again and again."""
    for _ in range(calls):
        service.acquire("plan", "p1", "w")
        service.release("plan", "p1", "w")


def _acquire_and_release(place: Place, service: lockwatch.LockService, raw: Run, calls: int, bar: float) -> Figure:
    sql = place.statements
    named = {"type": "plan", "resource": "p1"}

    def by_raw() -> None:
        for _ in range(calls):
            ((lock, _acquired, _expires),) = raw(sql.insert, {**named, "owner": "w", "ttl": 300})
            ((_, owner, _, _, _, expires, _now),) = raw(sql.find, named)
            raw(sql.end, {"lock": lock, "owner": owner, "expires": expires})

    ratio = median_ratio(by_raw, partial(cycles, service, calls), ROUNDS)
    name = f"{place.title}: acquire+release, of raw {place.driver}'s speed"
    return Figure(name=name, ratio=ratio, relation=">=", bar=bar)


def _refused(place: Place, service: lockwatch.LockService, raw: Run, calls: int) -> Figure:
    sql = place.statements
    named = {"type": "plan", "resource": "held"}
    service.acquire("plan", "held", "somebody")

    def by_raw() -> None:
        for _ in range(calls):
            raw(sql.insert, {**named, "owner": "w", "ttl": 300})
            raw(sql.find, named)

    def by_service() -> None:
        for _ in range(calls):
            try:
                service.acquire("plan", "held", "w")
            except lockwatch.LockConflictError:
                continue
            raise AssertionError("it was granted")

    ratio = median_ratio(by_raw, by_service, ROUNDS)
    name = f"{place.title}: refused acquire, of raw {place.driver}'s speed"
    return Figure(name=name, ratio=ratio, relation=">=", bar=0.50)


def _beside(place: Place, others: str, small: Site, large: Site, calls: int) -> Figure:
    with lockwatch.connect(small.url) as alone, lockwatch.connect(large.url) as crowded:
        ratio = median_ratio(partial(cycles, crowded, calls), partial(cycles, alone, calls), ROUNDS)
    name = f"{place.title}: beside 100k {others} locks, time over an empty table's"
    return Figure(name=name, ratio=ratio, relation="<=", bar=1.5)


def _clean_up(place: Place, site: Site) -> Figure:
    with lockwatch.connect(site.url) as service, site.raw() as run:

        def by_raw() -> None:
            run("DELETE FROM locks WHERE expires_at <= ?", to_text(site.now()))

        def refilled(work: Callable[[], object]) -> float:
            place.fill(site, STALE)
            return seconds(work)

        by_raw()
        ratio = median(refilled(service.cleanup_expired) / refilled(by_raw) for _ in range(CLEAN_UPS))
    name = f"{place.title}: clean-up of 100k stale, time over one raw DELETE's"
    return Figure(name=name, ratio=ratio, relation="<=", bar=3)
