"""Fixtures of the dashboard's tests over servers."""

from __future__ import annotations

from tests.contract.conftest import _upgraded, make_site
from tests.faults.conftest import proxy, served

__all__ = ["_upgraded", "make_site", "proxy", "served"]
