"""Is all well with the database and its locks? Questions asked one by one, answered like a monitoring plug-in."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from lockwatch.core.dialect import Clock
from lockwatch.core.errors import DatabaseBusyError, DatabaseError
from lockwatch.core.model import MAX_LOCK_TTL_SECS, Lock, LockSnapshot
from lockwatch.core.service import LockService
from lockwatch.core.text import clean, duration
from lockwatch.core.timestamps import utc_now
from lockwatch.database import EARLIER_REVISIONS, HEAD_REVISION, Condition, Database, connect, locate, open_database
from lockwatch.plans import PlanLifecycleService, PlanRun

MAX_SKEW_SECS: Final = 1.0
"""How far the clock that judges may be from this machine's before it is worth a word."""
NAMED: Final = 3
"""How many locks or plans a check names before it only counts."""

_ABANDONED: Final = "Abandoned plans"


class Status(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One question and its answer, safe on a terminal; `hint` says what to do, where anything is to be done."""

    name: str
    status: Status
    message: str
    hint: str | None = None


def examine(
    url: str | None = None, *, here: Clock = utc_now, read_only: bool | str = False, password: str | None = None
) -> list[Check]:
    """Ask everything of the database of `url` (as in `lockwatch.connect`). What depends on a failure is left out.

    Raises:
        ValidationError: the URL breaks a rule.
    """
    database = locate(url, password)
    try:
        read_only = read_only or database.why_unwritable() or False
        if not read_only:
            open_database(url, password)
    except DatabaseError as error:
        return [_unusable(database, error)]
    with connect(url, read_only=read_only, password=password) as service:
        return checks_of(database, service, here)


def checks_of(database: Database, service: LockService, here: Clock) -> list[Check]:
    """All checks, as far as the database lets them be made."""
    reachable = check_database(database)
    if reachable.status is Status.FAILURE:
        return [reachable]
    try:
        skew, snapshot = _skew(service, here), service.snapshot()
        revision, conditions, unfenced = database.revision(), database.conditions(), service.why_unfenced()
    except DatabaseError as error:
        name = "Database" if isinstance(error, DatabaseBusyError) else "Schema"
        return [reachable, Check(name=name, status=Status.FAILURE, message=str(error))]
    return [
        reachable,
        check_schema(revision),
        check_fencing(unfenced),
        check_stale_locks(snapshot),
        check_unreadable(snapshot),
        check_far_expiries(snapshot),
        check_clock(skew),
        *map(check_condition, conditions),
        *check_plans(
            PlanLifecycleService(service, database.transactional_engine(read_only=service.read_only is not None))
        ),
    ]


def exit_code(checks: Sequence[Check]) -> int:
    """0 all well, 1 warnings, 2 failures."""
    found = {check.status for check in checks}
    return 2 if Status.FAILURE in found else 1 if Status.WARNING in found else 0


def report(checks: Sequence[Check]) -> list[str]:
    """The checks as lines of text, hints below what they belong to."""
    size = max(len(check.name) for check in checks)
    lines: list[str] = []
    for check in checks:
        lines.append(f"{check.status.upper():<7}  {check.name:<{size}}  {check.message}")
        if check.hint:
            lines.append(f"{'':<7}  {'':<{size}}  {check.hint}")
    return lines


def check_database(database: Database) -> Check:
    """Can it be reached, and how fast?"""
    begun = time.perf_counter()
    try:
        database.identity()
        database.revision()
    except DatabaseError as error:
        return _unusable(database, error)
    took = (time.perf_counter() - begun) * 1000
    return Check(name="Database", status=Status.OK, message=f"{database.name} answers in {took:.0f} ms")


def check_schema(revision: str | None) -> Check:
    """Is the table the newest one, whose ids never come back?"""
    if revision == HEAD_REVISION:
        return Check(name="Schema", status=Status.OK, message=f"at {HEAD_REVISION}, the newest")
    if revision in EARLIER_REVISIONS:
        message, hint = (
            f"at {revision}, which lacks what came after it",
            "`lockwatch db upgrade` brings it to the newest",
        )
        return Check(name="Schema", status=Status.WARNING, message=message, hint=hint)
    if revision is not None:
        message = f"at {clean(revision)}; this lockwatch knows {HEAD_REVISION}"
        return Check(name="Schema", status=Status.WARNING, message=message, hint="use the lockwatch that made it")
    message = "the table `locks` is another program's: its locks can be settled, but acquire may refuse it"
    return Check(name="Schema", status=Status.WARNING, message=message, hint="`lockwatch db upgrade` adopts it")


def check_fencing(why_not: str | None) -> Check:
    """Does the table give fencing tokens? Where it does not, `acquire` refuses all."""
    if why_not is None:
        return Check(name="Fencing", status=Status.OK, message="each grant has a greater id than all before it")
    return Check(name="Fencing", status=Status.WARNING, message=f"nothing can be acquired: {why_not}")


def check_stale_locks(snapshot: LockSnapshot) -> Check:
    """How many locks have expired and were not cleaned up? Not none means that clean-up has not run lately."""
    name, stale = "Stale locks", snapshot.stale
    if not stale:
        return Check(name=name, status=Status.OK, message="none")
    oldest = min(stale, key=lambda lock: lock.remaining(snapshot.taken_at))
    since = duration(-oldest.remaining(snapshot.taken_at))
    message = f"{len(stale)} not cleaned up, the oldest for {since}: {_told(oldest)}"
    hint = "`lockwatch purge` lists and removes them; `lockwatch purge --dry-run` only lists"
    return Check(name=name, status=Status.WARNING, message=message, hint=hint)


def check_unreadable(snapshot: LockSnapshot) -> Check:
    """Are there locks whose expiry cannot be read? They never expire."""
    unreadable = [_told(lock) for lock in snapshot.locks if not lock.is_readable]
    return _check_none("Unreadable", unreadable, "never expire", "`lockwatch release RESOURCE --fence N` removes one")


def check_far_expiries(snapshot: LockSnapshot) -> Check:
    """Are there locks that last longer than any TTL allowed? A clock is wrong, or another program wrote them."""
    far = [_told(lock) for lock in snapshot.locks if lock.remaining(snapshot.taken_at) > MAX_LOCK_TTL_SECS]
    rule = f"last longer than the greatest TTL of {duration(MAX_LOCK_TTL_SECS)}"
    return _check_none("Expiries", far, rule, "a clock is wrong somewhere, or another program wrote them")


def check_clock(skew: float) -> Check:
    """Is the clock that judges leases (`skew` seconds ahead) near this machine's?"""
    if abs(skew) <= MAX_SKEW_SECS:
        return Check(name="Clock", status=Status.OK, message="the one that judges leases agrees with this machine's")
    where = "ahead of" if skew > 0 else "behind"
    message = f"the one that judges leases is {abs(skew):.1f} s {where} this machine's"
    return Check(name="Clock", status=Status.WARNING, message=message, hint="set the machines' clocks by NTP")


def check_condition(condition: Condition) -> Check:
    """What a database of its kind has to be looked at for."""
    status = Status.OK if condition.hint is None else Status.WARNING
    return Check(name=condition.name, status=status, message=condition.message, hint=condition.hint)


def check_plans(plans: PlanLifecycleService) -> list[Check]:
    """What there is to be checked about plans: nothing where the database has none."""
    try:
        return [check_abandoned_plans(plans.find_abandoned())] if plans.is_available() else []
    except DatabaseError as error:
        return [Check(name=_ABANDONED, status=Status.WARNING, message=f"cannot be told: {error}")]


def check_abandoned_plans(runs: Sequence[PlanRun]) -> Check:
    """Are there plans that are processing while nobody is there to end it? They stay so until they are recovered."""
    told = [f"{clean(run.plan_id)} of {clean(run.owner_id)} (fence {run.fence})" for run in runs]
    hint = "`lockwatch plans recover` makes them errored, so that they can be retried"
    return _check_none(_ABANDONED, told, "processing, but left by who worked on them", hint)


def _unusable(database: Database, error: DatabaseError) -> Check:
    words = str(error)
    message = words if database.name in words else f"{database.name}: {words}"
    return Check(name="Database", status=Status.FAILURE, message=message)


def _check_none(name: str, found: Sequence[str], what: str, hint: str) -> Check:
    if not found:
        return Check(name=name, status=Status.OK, message="none")
    names = ", ".join(found[:NAMED])
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return Check(name=name, status=Status.WARNING, message=f"{len(found)} {what}: {names}{more}", hint=hint)


def _told(lock: Lock) -> str:
    return f"{clean(lock.resource)} of {clean(lock.owner_id)} (fence {lock.id})"


def _skew(service: LockService, here: Clock) -> float:
    """How far the judging clock is ahead of this machine's, in seconds; the time of asking is not counted."""
    before, there, after = here(), service.now(), here()
    return max((there - after).total_seconds(), 0.0) + min((there - before).total_seconds(), 0.0)
