"""The lock service: who may have a resource now.

Every change is a compare-and-swap on the very row that was read. The row's `id` is a fencing token: of two grants
of one resource the later has the greater one. A store that remembers the greatest token it has seen can refuse
a holder that was paused past its TTL.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from lockwatch.core import cleaning, exact, owned
from lockwatch.core.acquiring import Acquirer, Request, validate_wait
from lockwatch.core.dialect import Clock
from lockwatch.core.errors import ValidationError
from lockwatch.core.held import HeldTables, Identity
from lockwatch.core.holding import Hold, heartbeat_interval, new_owner
from lockwatch.core.keeper import LeaseKeeper
from lockwatch.core.lease import Lease, OnLost
from lockwatch.core.model import (
    DEFAULT_LOCK_TTL_SECS,
    Lock,
    LockSnapshot,
    Outcome,
    known_types,
    validate_key,
    validate_name,
    validate_ttl,
)
from lockwatch.core.monotonic import Monotonic, elapsed
from lockwatch.core.opener import Opener, opener_of
from lockwatch.core.timestamps import utc_now
from lockwatch.core.watcher import Watcher

if TYPE_CHECKING:
    from sqlalchemy import Engine

SHUT_DOWN_GRACE_SECS: Final = 5.0
"""How long bodies that hold leases get to end when the process does."""


class LockService:
    """Advisory locks with a TTL in one table. Safe for use from many threads; `close` it, or use it in a `with`.

    Every change is one compare-and-swap on the row that was read, committed on a connection of the service's own
    when the call returns, whatever the caller has open. Any call may raise DatabaseError (unreachable, no table
    of ours, file replaced) or LockwatchError (closed).

    Args:
        engine: opens connections, which are then this service's alone and in autocommit; `lockwatch.connect` makes one,
            or for a file an Opener, which needs no SQLAlchemy.
        clock: aware now, for a database that has no clock of its own (SQLite).
        resource_types: types allowed beside `plan` and `project`.
        identity: tells what the database's address leads to now, so that a replaced file is noticed.
        monotonic: for deadlines and waits; it must count the time that the machine sleeps.
        read_only: why nothing may be written, in words fit for a screen. Each call that could write then raises
            ReadOnlyError, and the database is told to refuse it, too.
    """

    def __init__(
        self,
        engine: Engine | Opener,
        *,
        clock: Clock = utc_now,
        resource_types: Iterable[str] = (),
        identity: Identity | None = None,
        monotonic: Monotonic = elapsed,
        read_only: str | None = None,
    ) -> None:
        self.resource_types = known_types(resource_types)
        self._opener = engine if isinstance(engine, Opener) else opener_of(engine)
        self._clock = clock
        self._identity = identity
        self._tables = HeldTables(self._opener, clock, identity, read_only)
        self._acquirer = Acquirer(self._tables, monotonic)
        self._keeper = LeaseKeeper(self._tables, monotonic, clock)

    @property
    def read_only(self) -> str | None:
        """Why nothing may be written, in words fit for a screen; None if it may."""
        return self._tables.read_only

    def require_writable(self) -> None:
        """Raise ReadOnlyError if nothing may be written: for those who write beside the locks, and to say so early."""
        self._tables.require_writable()

    def acquire(
        self,
        resource_type: str,
        resource_id: str,
        owner_id: str,
        ttl_seconds: float = DEFAULT_LOCK_TTL_SECS,
        wait_seconds: float = 0,
    ) -> Lock:
        """Take a resource for `ttl_seconds` (5 to 3600) from the grant on, or extend a live lease of the same owner.

        Re-entrant: a lease that the owner has already is extended, never shortened, and keeps its id. If somebody else
        holds it, that holder is waited for, for at most `wait_seconds`; nothing is written while waiting. Who has just
        released it and would wait for it again first lets others look, for as long as it was held, 0.2 s at most.

        Raises:
            ValidationError: an argument breaks a rule.
            LockConflictError: somebody else holds it, still at the end of the wait.
            DatabaseError: also if the table's ids can come back, which makes them no fencing tokens.
        """
        request = self._request(resource_type, resource_id, owner_id, ttl_seconds)
        return self._acquirer.acquire(request, validate_wait(wait_seconds)).lock

    def hold(
        self,
        resource_type: str,
        resource_id: str,
        owner_id: str | None = None,
        *,
        ttl_seconds: float = DEFAULT_LOCK_TTL_SECS,
        wait_seconds: float = 0,
        heartbeat_seconds: float | None = None,
        on_lost: OnLost | None = None,
    ) -> Hold:
        """Hold a resource while a body works: `with service.hold("plan", "p1") as lease`.

        Acquires, renews in the background, releases at the end. The lease says when it is lost (`lost`, `check()`).
        A hold inside another one of the same owner shares its lease, and only the outermost releases it. One that
        re-entered a lease which no hold of this service was granted leaves it as it found it.

        Args:
            resource_type: `plan`, `project`, or a type that the service was told of.
            resource_id: what is held.
            owner_id: who holds it; `host:pid:random` if not given, another one for each call.
            ttl_seconds: the lease's lifetime, 5 to 3600.
            wait_seconds: how long to wait for another holder.
            heartbeat_seconds: time between two renewals: a third of the TTL, and at most half of it.
            on_lost: called with the lease when it is lost, once, in a thread of its own.

        Raises:
            ValidationError: an argument breaks a rule. The other errors come from the `with`.
            LockConflictError: somebody else holds it, still at the end of the wait.
            LockExpiredError: at the end of a body that raised nothing: the lease had been lost.
        """
        if on_lost is not None and not callable(on_lost):
            raise ValidationError("on_lost", on_lost, "must be something to call with the lease")
        request = self._request(resource_type, resource_id, new_owner() if owner_id is None else owner_id, ttl_seconds)
        return Hold(
            self._tables,
            self._acquirer,
            self._keeper,
            request=request,
            wait_seconds=validate_wait(wait_seconds),
            interval_seconds=heartbeat_interval(heartbeat_seconds, ttl_seconds),
            on_lost=on_lost,
            is_sole_owner=owner_id is None,
        )

    def renew(
        self, resource_type: str, resource_id: str, owner_id: str, ttl_seconds: float = DEFAULT_LOCK_TTL_SECS
    ) -> Lock:
        """Extend a live lease to `ttl_seconds` (5 to 3600) from now; one that lasts longer stays as it is.

        Raises:
            ValidationError: an argument breaks a rule.
            LockExpiredError: it expired, or is somebody else's, or is not there; nothing was changed.
        """
        key = validate_key(resource_type, resource_id, self.resource_types)
        validate_name("owner_id", owner_id)
        validate_ttl(ttl_seconds)
        with self._tables.use() as table:
            return owned.renew(table, key, owner_id, ttl_seconds)

    def release(self, resource_type: str, resource_id: str, owner_id: str) -> bool:
        """End the owner's lease: True if it was live, False if there was none to end.

        The owner's own expired row is removed too, though the answer is False. Another's is never touched, and
        one whose expiry cannot be read is left to a person.

        Raises:
            ValidationError: an argument breaks a rule.
        """
        key = validate_key(resource_type, resource_id, self.resource_types)
        validate_name("owner_id", owner_id)
        with self._tables.use() as table:
            was_live = owned.release(table, key, owner_id)
        if was_live:
            self._acquirer.released(key)
        return was_live

    def release_all_for_owner(self, owner_id: str) -> int:
        """Remove all locks of an owner, so that others can go on at once: how many were removed.

        One whose expiry cannot be read is left to a person.

        Raises:
            ValidationError: `owner_id` breaks a rule.
        """
        validate_name("owner_id", owner_id)
        with self._tables.use() as table:
            return owned.release_all(table, owner_id)

    def cleanup_expired(self) -> int:
        """Remove the locks whose time is up: how many were removed.

        One that is renewed or taken over meanwhile survives, and one whose expiry cannot be read is left alone.
        """
        with self._tables.use() as table:
            return cleaning.delete_expired(table)

    def count_stale_locks(self) -> int:
        """How many locks have expired and were not cleaned up."""
        with self._tables.look() as table:
            return cleaning.count_expired(table)

    def get(self, resource_type: str, resource_id: str) -> Lock | None:
        """The lock of a resource, an expired one too; None if it has none.

        Raises:
            ValidationError: an argument breaks a rule.
        """
        key = validate_key(resource_type, resource_id, self.resource_types)
        with self._tables.look() as table:
            found = table.find(key)
            return found[0] if found else None

    def snapshot(self) -> LockSnapshot:
        """All locks, and the moment by the clock that judges; no row is older than that moment."""
        with self._tables.look() as table:
            return LockSnapshot(taken_at=table.now(), locks=table.all())

    def now(self) -> datetime:
        """The moment, aware, in UTC, by the clock that judges: the server's, or this machine's for SQLite."""
        with self._tables.look() as table:
            return table.now()

    def why_unfenced(self) -> str | None:
        """Why nothing can be acquired here, as the table gives no fencing tokens; None if it does."""
        with self._tables.look() as table:
            table.connection.check_table()
            return table.connection.unfenced

    def watcher(self) -> Watcher:
        """Something to poll the table with, again and again, on a connection of its own. Close it."""
        return Watcher(HeldTables(self._opener, self._clock, self._identity, self.read_only))

    def release_exact(self, lock: Lock) -> Outcome:
        """For operators: end the very lease that was displayed, live or stale, and say what happened."""
        with self._tables.use() as table:
            return exact.release(table, [lock])[0]

    def renew_exact(self, lock: Lock, ttl_seconds: float = DEFAULT_LOCK_TTL_SECS) -> Outcome:
        """For operators: extend the very lease that was displayed to `ttl_seconds` (5 to 3600) from now.

        Raises:
            ValidationError: `ttl_seconds` breaks a rule.
        """
        validate_ttl(ttl_seconds)
        with self._tables.use() as table:
            return exact.renew(table, [lock], ttl_seconds)[0]

    def release_all_exact(self, locks: Iterable[Lock]) -> list[Outcome]:
        """For operators: `release_exact` for several leases; an outcome for each, in order.

        One transaction for each `exact.CHUNK_SIZE` of them. If a later one fails, the earlier ones are done.
        """
        with self._tables.use() as table:
            return exact.release(table, locks)

    def renew_all_exact(self, locks: Iterable[Lock], ttl_seconds: float = DEFAULT_LOCK_TTL_SECS) -> list[Outcome]:
        """For operators: `renew_exact` for several leases; an outcome for each, in order, in transactions as above.

        Raises:
            ValidationError: `ttl_seconds` breaks a rule.
        """
        validate_ttl(ttl_seconds)
        with self._tables.use() as table:
            return exact.renew(table, locks, ttl_seconds)

    def purge_exact(self, locks: Iterable[Lock]) -> list[Outcome]:
        """For operators: remove those of the very leases displayed that are stale; an outcome for each, in order.

        One transaction for each `exact.CHUNK_SIZE` of them. If a later one fails, the earlier ones are done.
        """
        with self._tables.use() as table:
            return exact.purge(table, locks)

    def close(self) -> None:
        """Close the service's connections. Calls that are under way end as usual; waiting and later ones are refused.

        Leases that are still held are lost, and their rows stay for their TTL: see `shut_down`.
        """
        self._acquirer.close()
        self._keeper.close()
        self._tables.close()

    def shut_down(self, grace_seconds: float = SHUT_DOWN_GRACE_SECS) -> None:
        """Tell all who hold leases of this service to end (`lost`: shutting down), wait for them, then close.

        Their leases are kept alive for up to `grace_seconds` meanwhile: no lock is given away while its holder
        still writes. Who has not ended by then keeps the row for its TTL.
        """
        self.drain(grace_seconds)
        self.close()

    def drain(self, grace_seconds: float = SHUT_DOWN_GRACE_SECS) -> None:
        """The first half of `shut_down`: nothing more can be acquired here, but renewed and released all the same."""
        self._acquirer.close()
        self._keeper.shut_down(grace_seconds)

    def leases(self) -> list[Lease]:
        """The leases under which bodies of `hold` work now."""
        return self._keeper.leases()

    def _request(self, resource_type: str, resource_id: str, owner_id: str, ttl_seconds: float) -> Request:
        return Request(
            key=validate_key(resource_type, resource_id, self.resource_types),
            owner_id=validate_name("owner_id", owner_id),
            ttl_seconds=validate_ttl(ttl_seconds),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
