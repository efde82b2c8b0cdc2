"""From a URL to a service of plans."""

from __future__ import annotations

from lockwatch import database
from lockwatch.core.dialect import Clock
from lockwatch.core.timestamps import utc_now
from lockwatch.plans.service import PlanLifecycleService


def connect(
    url: str | None = None,
    *,
    clock: Clock = utc_now,
    worker: str | None = None,
    read_only: bool | str = False,
    password: str | None = None,
) -> PlanLifecycleService:
    """A service of plans, with a lock service of its own on the same database; close it, or use it in a `with`.

    Args:
        url: see `lockwatch.connect`.
        clock: aware now, for tests.
        worker: who this is to those who watch the locks; see `PlanLifecycleService`.
        read_only: see `lockwatch.connect`.
        password: see `lockwatch.connect`.

    Raises:
        ValidationError: the URL or the worker's name breaks a rule.
        DatabaseError: the default file cannot be made or upgraded.
    """
    locks = database.connect(url, clock=clock, read_only=read_only, password=password)
    engine = database.locate(url, password).transactional_engine(read_only=bool(read_only))
    return PlanLifecycleService(locks, engine, worker=worker)
