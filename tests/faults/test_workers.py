"""Real worker processes, killed and stopped in the midst of what they do."""

from __future__ import annotations

import signal
import time
from typing import Final

from tests.contract.sites import Site
from tests.faults.crew import Crew
from tests.faults.worker import RESOURCES, TTL_SECS, WRITES

SECONDS: Final = 9.0
PAST_THE_TTL_SECS: Final = TTL_SECS + 1


def fences_written(site: Site) -> dict[str, list[int]]:
    """What was written under the guard of each resource, in the order of writing."""
    found: dict[str, list[int]] = {}
    for resource, fence in site.execute("SELECT resource, fence FROM fault_writes ORDER BY id"):
        found.setdefault(resource, []).append(fence)
    return found


def make_writes(site: Site) -> None:
    site.execute("DROP TABLE IF EXISTS fault_writes")
    site.execute(WRITES.format(number=site.numbered))


def test_workers_that_are_killed_and_stopped_leave_no_two_leases_at_once(site: Site, crew: Crew) -> None:
    make_writes(site)
    for _ in range(5):
        crew.hire(site.url)
    begun = time.monotonic()
    crew.wait_for_grants(RESOURCES)
    sleeper = crew.workers[0]
    sleeper.send_signal(signal.SIGSTOP)
    for _ in range(3):
        time.sleep(PAST_THE_TTL_SECS / 3)
        crew.kill(crew.workers[-1])
        crew.hire(site.url)
    sleeper.send_signal(signal.SIGCONT)
    time.sleep(max(0.5, begun + SECONDS - time.monotonic()))
    assert crew.finish() == [0] * 5
    found = crew.check(longest_call_seconds=25)
    assert found.violations == []
    assert found.grants > RESOURCES
    assert all(fences == sorted(fences) for fences in fences_written(site).values())
