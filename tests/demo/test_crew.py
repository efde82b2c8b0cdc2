from __future__ import annotations

import subprocess
import time
from itertools import pairwise
from pathlib import Path

import pytest

from lockwatch import LockService
from lockwatch.demo import crew
from lockwatch.demo.scene import Part, cast
from tests.demo.playing import until
from tests.support import path_of

QUICK = Part(number=1, host="here", role=cast(5)[3].role, tasks=(), replaced_after_seconds=0.1)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """When each worker was started. Every one of them ends at once; the second cannot be started."""
    moments: list[float] = []

    def start(_crew: crew.Crew, _part: Part) -> subprocess.Popen[bytes]:
        moments.append(time.monotonic())
        if len(moments) == 2:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return subprocess.Popen(["true"])

    monkeypatch.setattr(crew, "TICK_SECS", 0.01)
    monkeypatch.setattr(crew.Crew, "_start", start)
    return moments


def test_a_worker_that_cannot_be_replaced_now_is_replaced_later(
    service: LockService, url: str, started: list[float]
) -> None:
    with crew.Crew(path_of(url), service, [QUICK]):
        assert until(lambda: len(started) >= 4)
    pauses = [later - earlier for earlier, later in pairwise(started)]
    assert min(pauses) >= QUICK.replaced_after_seconds


def test_the_crew_outlives_its_database(service: LockService, url: str, started: list[float]) -> None:
    path: Path = path_of(url)
    with crew.Crew(path, service, [QUICK]):
        away = path.rename(path.with_name("away.db"))
        before = len(started)
        assert until(lambda: len(started) >= before + 3)
        away.rename(path)
