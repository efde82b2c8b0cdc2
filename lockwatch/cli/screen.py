"""The dashboard, from what was given on the command line to the screen."""

from __future__ import annotations

import gc
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Final

from lockwatch import settings
from lockwatch.cli.answers import complain
from lockwatch.cli.given import Given
from lockwatch.cli.opening import choose, locate, named, unlocked, why_only_read
from lockwatch.core.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockwatch.core.service import LockService
    from lockwatch.database import Database
    from lockwatch.plans import PlanLifecycleService
    from lockwatch.settings import Target
    from lockwatch.tui.look import Look
    from lockwatch.tui.plan_reader import FindPlan

USAGE: Final = 2
"""Exit code of a call that cannot be meant so."""
GARBAGE_AFTER: Final = 50_000
"""After how many new objects garbage is looked for: of what is loaded for the first frame, nothing is."""


def watch(given: Given) -> int:
    """Show the dashboard until it is quit: the exit code.

    It opens to read only if that was asked for, or if the database cannot be written.

    Raises:
        ValidationError: something that was given, or a setting, breaks a rule.
        DatabaseError: the database cannot be used.
    """
    from lockwatch.tui import can_draw

    target = choose(given)
    interval, theme = settings.interval_for(target, given.interval), settings.theme_for(target, given.theme)
    if not can_draw():
        complain("the dashboard needs a terminal to draw on; `lockwatch list` prints the table once")
        return USAGE
    gc.set_threshold(GARBAGE_AFTER)
    require_theme(theme)
    from lockwatch.tui.look import Look

    look = Look(
        name=locate(target).name,
        label=target.label,
        colour=target.colour,
        interval=interval,
        theme=theme,
        text=given.text or "",
        owner=given.owner or "",
        resource_type=given.resource_type or "",
        log=given.log,
    )
    _show(unlocked(target), look)
    return 0


def _show(target: Target, look: Look) -> None:
    from lockwatch.database import connect

    located, why = locate(target), why_only_read(target)
    with named(target), connect(target.url, read_only=why or False, password=target.password) as service:
        service.now()  # a database that cannot be used is told here, in one line
        from lockwatch.tui import run

        with finding(service, located, read_only=why is not None) as find_plan:
            run(service, look, find_plan=find_plan)


@contextmanager
def finding(service: LockService, located: Database, *, read_only: bool) -> Iterator[FindPlan]:
    """What finds plans, on a connection of its own: made when the first is looked for, when rows are on the screen."""
    closing = ExitStack()

    @cache
    def plans() -> PlanLifecycleService:
        from lockwatch.plans import PlanLifecycleService

        engine = located.transactional_engine(read_only=read_only, kept=True)
        closing.callback(engine.dispose)
        return PlanLifecycleService(service, engine)

    with closing:
        yield lambda plan_id: plans().get(plan_id)


def require_theme(theme: str | None) -> None:
    """Raise ValidationError if there is no theme of that name; None is the dashboard's own choice."""
    if theme is None:
        return
    from lockwatch.tui.themes import names

    if theme not in names():
        raise ValidationError("theme", theme, f"must be one of {', '.join(names())}")
