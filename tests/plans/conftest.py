"""Plans on a database of the test's own, judged by a clock that the test moves."""

from __future__ import annotations

import pytest

import lockwatch
from lockwatch.database import Database
from lockwatch.plans import PlanLifecycleService


@pytest.fixture
def plans(service: lockwatch.LockService, url: str) -> PlanLifecycleService:
    """A service of plans beside `service`, on `url`."""
    return PlanLifecycleService(service, Database.from_url(url).transactional_engine())
