"""From a URL to a service of plans."""

from __future__ import annotations

from lockwatch import database
from lockwatch.core.dialects import Clock
from lockwatch.core.timestamps import utc_now
from lockwatch.plans.service import PlanLifecycleService


def connect(url: str | None = None, *, clock: Clock = utc_now) -> PlanLifecycleService:
    """A service of plans, with a lock service of its own on the same database; close it, or use it in a `with`.

    Args:
        url: see `lockwatch.connect`.
        clock: aware now, for tests.

    Raises:
        ValidationError: the URL breaks a rule.
        DatabaseError: the default file cannot be made or upgraded.
    """
    locks = database.connect(url, clock=clock)
    return PlanLifecycleService(locks, database.locate(url).transactional_engine())
