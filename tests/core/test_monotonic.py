"""The clock of deadlines: never set, and it goes on while the machine sleeps."""

from __future__ import annotations

import sys
import time

import pytest

from lockwatch.core import monotonic


def test_it_is_the_clock_that_counts_sleep_where_the_system_has_one() -> None:
    expected = time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
    assert 0 <= monotonic.elapsed() - expected < 5


@pytest.mark.parametrize(
    ("platform", "clock"), [("darwin", time.CLOCK_MONOTONIC), ("linux", getattr(time, "CLOCK_BOOTTIME", None))]
)
def test_each_system_has_its_clock(platform: str, clock: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    if platform == "darwin":
        monkeypatch.delattr(time, "CLOCK_BOOTTIME", raising=False)
    else:
        monkeypatch.setattr(time, "CLOCK_BOOTTIME", clock or 7, raising=False)
    asked: list[int] = []

    def answer(number: int) -> float:
        asked.append(number)
        return 1.0

    monkeypatch.setattr(time, "clock_gettime", answer)
    assert monotonic._choose()() == 1.0
    assert asked == [clock or 7]


def test_another_system_has_pythons_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.delattr(time, "CLOCK_BOOTTIME", raising=False)
    assert monotonic._choose() is time.monotonic
