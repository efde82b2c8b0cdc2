"""Fixtures for all tests: an upgraded empty database, a clock to move, and a service on both."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

import lockwatch
from tests.support import Clock

# The same examples in every run, and none too slow on a busy machine; HYPOTHESIS_PROFILE=search looks for new ones.
hypothesis.settings.register_profile("search", deadline=None)
hypothesis.settings.register_profile("lockwatch", derandomize=True, database=None, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "lockwatch"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """More than there are cores, for `-n auto`: many tests wait, for a TTL or for another process."""
    return (os.cpu_count() or 1) + 2


@pytest.fixture(autouse=True)
def nothing_of_this_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test sees or touches the settings and files of whoever runs it."""
    for name in os.environ:
        if name.startswith("LOCKWATCH_") and not name.startswith("LOCKWATCH_TEST_"):
            monkeypatch.delenv(name)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home" / "data"))


@pytest.fixture(scope="session")
def upgraded_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database at the newest migration; not to be changed."""
    path = tmp_path_factory.mktemp("upgraded") / "locks.db"
    lockwatch.upgrade(f"sqlite:///{path}")
    return path


@pytest.fixture
def url(upgraded_database: Path, tmp_path: Path) -> str:
    """The URL of an upgraded empty SQLite database of the test's own."""
    path = tmp_path / "locks.db"
    shutil.copyfile(upgraded_database, path)
    return f"sqlite:///{path}"


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still until the test moves it (`clock.advance(seconds)`)."""
    return Clock()


@pytest.fixture
def service(url: str, clock: Clock) -> Iterator[lockwatch.LockService]:
    """A lock service on `url` that judges by `clock`."""
    with lockwatch.connect(url, clock=clock) as opened:
        yield opened
