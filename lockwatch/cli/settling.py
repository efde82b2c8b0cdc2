"""The verbs that change something: acquire, renew, release, purge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lockwatch.cli.answers import all_fields, complain, lock_fields, moment, say, say_json, terminal_width
from lockwatch.cli.opening import open_to_read, open_to_write
from lockwatch.cli.options import (
    DatabaseOption,
    FenceOption,
    JsonOption,
    OnOption,
    OwnerOption,
    ResourceArgument,
    TtlOption,
    require_owner_or_fence,
)
from lockwatch.core.model import DEFAULT_LOCK_TTL_SECS
from lockwatch.core.text import clean

if TYPE_CHECKING:
    from lockwatch.core.model import Lock, LockSnapshot, Outcome
    from lockwatch.core.service import LockService


def add_verbs(app: typer.Typer) -> None:
    """Give `app` these verbs, in the order of its help."""
    for verb in (acquire, renew, release, purge):
        app.command()(verb)


def acquire(
    ctx: typer.Context,
    resource: ResourceArgument,
    owner: Annotated[str, typer.Option("--owner", metavar="OWNER", help="Who takes it.", show_default=False)],
    ttl: TtlOption = DEFAULT_LOCK_TTL_SECS,
    database: DatabaseOption = None,
    on: OnOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a lock, or extend it if the owner has it already. Exit code 3 if another holds it."""
    from lockwatch.cli.naming import parse

    with open_to_write(ctx, database, on) as service:
        lock = service.acquire(*parse(resource), owner, ttl)
        _tell_lease("acquired", lock, service, as_json)


def renew(
    ctx: typer.Context,
    resource: ResourceArgument,
    owner: OwnerOption = None,
    fence: FenceOption = None,
    ttl: TtlOption = DEFAULT_LOCK_TTL_SECS,
    database: DatabaseOption = None,
    on: OnOption = None,
    as_json: JsonOption = False,
) -> None:
    """Extend a live lease, never shortening it. Exit code 4 if it expired, or is not that lease any more."""
    from lockwatch.cli.naming import find_lease, parse

    require_owner_or_fence(owner, fence)
    with open_to_write(ctx, database, on) as service:
        if fence is not None:
            seen = find_lease(service, resource, fence, owner)
            lock = _settled("renewed", service.renew_exact(seen, ttl)).now or seen
        else:
            lock = service.renew(*parse(resource), owner or "", ttl)
        _tell_lease("renewed", lock, service, as_json)


def release(
    ctx: typer.Context,
    resource: ResourceArgument,
    owner: OwnerOption = None,
    fence: FenceOption = None,
    database: DatabaseOption = None,
    on: OnOption = None,
    as_json: JsonOption = False,
) -> None:
    """Free an owner's lock, or with --fence the one seen.

    An owner's lease must be live; the one that was seen may be stale, and its name anything that `list` shows.
    Exit code 4 if it is not there any more, or not that one; what is true now is printed.
    """
    from lockwatch.cli.naming import find_lease

    require_owner_or_fence(owner, fence)
    with open_to_write(ctx, database, on) as service:
        if fence is not None:
            seen = find_lease(service, resource, fence, owner)
            _settled("released", service.release_exact(seen))
            resource, owner = seen.resource, seen.owner_id
        else:
            _release_of_owner(service, resource, owner or "")
    if as_json:
        say_json({"released": True, "resource": resource, "owner_id": owner, "fence": fence})
    else:
        say(f"released {clean(resource)} of {clean(owner or '')}{'' if fence is None else f' (fence {fence})'}")


def purge(
    ctx: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be removed.")] = False,
    database: DatabaseOption = None,
    on: OnOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove the stale locks, and list them. One that is renewed or taken over meanwhile is left alone."""
    from lockwatch.listing import in_order, render_locks
    from lockwatch.wording import count_outcomes

    opened = open_to_read if dry_run else open_to_write
    with opened(ctx, database, on) as service:
        snapshot = service.snapshot()
        stale = in_order(snapshot.stale, snapshot.taken_at)
        if stale and not as_json:
            say(*render_locks(stale, snapshot.taken_at, terminal_width()))
        outcomes = [] if dry_run else _purge(service, stale)
    if as_json:
        say_json(_purge_fields(snapshot, stale, outcomes, dry_run=dry_run))
    else:
        say(f"{len(stale)} stale, nothing purged" if dry_run else count_outcomes("purged", outcomes))


def _release_of_owner(service: LockService, resource: str, owner: str) -> None:
    from lockwatch.cli.naming import LeaseChangedError, parse, tell_ended, tell_holder

    key = parse(resource)
    before = service.get(*key)
    if service.release(*key, owner):
        return
    current, now = service.get(*key), service.now()
    if before and current is None and before.owner_id == owner and before.is_expired(now):
        raise LeaseChangedError(tell_ended(before, now))
    raise LeaseChangedError(f"{clean(owner)} has nothing to release: {tell_holder(resource, current, now)}")


def _settled(done: str, outcome: Outcome) -> Outcome:
    """The outcome, if the wish was carried out; else an error that says what is true now."""
    from lockwatch.cli.naming import LeaseChangedError
    from lockwatch.wording import tell_outcome

    if not outcome.is_done:
        raise LeaseChangedError(tell_outcome(done, outcome))
    return outcome


def _tell_lease(done: str, lock: Lock, service: LockService, as_json: bool) -> None:
    if as_json:
        say_json(lock_fields(lock, service.now()))
    else:
        until = f"{lock.expires_at:%Y-%m-%d %H:%M:%SZ}"
        say(f"{done} {clean(lock.resource)} for {clean(lock.owner_id)} until {until} (fence {lock.id})")


def _purge(service: LockService, stale: Sequence[Lock]) -> list[Outcome]:
    from lockwatch.cli.progress import progress
    from lockwatch.core.errors import LockwatchError
    from lockwatch.core.exact import CHUNK_SIZE
    from lockwatch.wording import count_outcomes

    outcomes: list[Outcome] = []
    try:
        with progress("purging", len(stale)) as advance:
            for start in range(0, len(stale), CHUNK_SIZE):
                outcomes += service.purge_exact(stale[start : start + CHUNK_SIZE])
                advance(len(outcomes))
    except (LockwatchError, KeyboardInterrupt):
        if outcomes:
            complain(f"not all of it was done: {count_outcomes('purged', outcomes)}")
        raise
    return outcomes


def _purge_fields(
    snapshot: LockSnapshot, stale: Sequence[Lock], outcomes: Sequence[Outcome], *, dry_run: bool
) -> dict[str, Any]:
    kinds: list[str | None] = [outcome.kind.name.lower() for outcome in outcomes]
    if dry_run:
        kinds = [None] * len(stale)
    fields = all_fields(stale, snapshot.taken_at)
    return {
        "dry_run": dry_run,
        "taken_at": moment(snapshot.taken_at),
        "stale": [{**lock, "outcome": kind} for lock, kind in zip(fields, kinds, strict=True)],
        "purged": kinds.count("done"),
    }
