"""Real processes, killed and stopped in the midst of what they do."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest

import lockwatch
from tests.contract.sites import Site
from tests.faults.crew import Crew
from tests.faults.worker import TTL_SECS, WRITES
from tests.support import ROOT

PAST_THE_TTL_SECS: Final = TTL_SECS + 1


def fences_written(site: Site) -> dict[str, list[int]]:
    """What was written under the guard of each resource, in the order of writing."""
    found: dict[str, list[int]] = {}
    for resource, fence in site.execute("SELECT resource, fence FROM fault_writes ORDER BY id"):
        found.setdefault(resource, []).append(fence)
    return found


@pytest.fixture
def writes(site: Site) -> None:
    """An empty table for what is written under a guard."""
    site.execute("DROP TABLE IF EXISTS fault_writes")
    site.execute(WRITES.format(number=site.numbered))


@contextmanager
def holder(site: Site, name: str) -> Iterator[subprocess.Popen[str]]:
    """A process that holds a lock."""
    command = [sys.executable, "-m", "tests.faults.holder", site.url, name]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


@pytest.mark.usefixtures("writes")
def test_the_locks_of_the_killed_and_the_stopped_are_free_after_their_ttl_and_the_stopped_write_nothing(
    site: Site, crew: Crew
) -> None:
    for _ in range(3):  # others at work, who are killed and stopped, too
        crew.hire(site.url)
    with lockwatch.connect(site.url) as service, holder(site, "killed") as dead, holder(site, "stopped") as sleeper:
        crew.wait_for_grants(1)
        dead.kill()
        for stopped in (sleeper, crew.workers[0]):
            stopped.send_signal(signal.SIGSTOP)
        for name in ("killed", "stopped"):
            with pytest.raises(lockwatch.LockConflictError):
                service.acquire("plan", name, "b")
        crew.kill(crew.workers[-1])
        crew.hire(site.url)
        time.sleep(PAST_THE_TTL_SECS)
        taken = [service.acquire("plan", name, "b") for name in ("killed", "stopped")]
        for stopped in (sleeper, crew.workers[0]):
            stopped.send_signal(signal.SIGCONT)
        said, _ = sleeper.communicate("write\n", timeout=20)
        assert said in {"refused: expired\n", "refused: taken over\n", "refused: database unreachable\n"}
        assert [service.get("plan", lock.resource_id) for lock in taken] == taken
    assert crew.finish() == [0] * 3
    found = crew.check(longest_call_seconds=25)
    assert found.violations == []
    assert set(found.errors) <= {"LockExpiredError", "DatabaseBusyError", "write: OperationalError"}
    written = fences_written(site)
    assert "plan/stopped" not in written
    assert all(fences == sorted(fences) for fences in written.values())
