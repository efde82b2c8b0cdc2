"""Fixtures of the command line's tests."""

from __future__ import annotations

import pytest

from lockwatch import settings
from tests.cli.running import Cli
from tests.contract.conftest import _asking, _upgraded, asking, make_site, new_site, reader, served

__all__ = ["_asking", "_upgraded", "asking", "make_site", "new_site", "reader", "served"]


@pytest.fixture
def cli(url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line in this process, whose database is `url` unless a call names another."""
    monkeypatch.setenv(settings.DATABASE_URL, url)
    return Cli(capsys)
