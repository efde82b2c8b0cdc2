"""The error tree: what is caught by what, exit codes, and messages that are safe to print."""

from __future__ import annotations

import pickle

import pytest

import lockwatch
from lockwatch.core import postgres_errors
from lockwatch.core.errors import describe_holder
from lockwatch.core.model import Lock
from tests.support import Clock, age, insert_row


@pytest.mark.parametrize(
    ("kind", "parents", "exit_code"),
    [
        (lockwatch.LockwatchError, (Exception,), 1),
        (lockwatch.ValidationError, (lockwatch.LockwatchError, ValueError), 2),
        (lockwatch.LockConflictError, (lockwatch.LockwatchError,), 3),
        (lockwatch.LockExpiredError, (lockwatch.LockwatchError,), 4),
        (lockwatch.DatabaseError, (lockwatch.LockwatchError,), 5),
        (lockwatch.DatabaseBusyError, (lockwatch.DatabaseError,), 5),
    ],
)
def test_the_error_tree(kind: type[lockwatch.LockwatchError], parents: tuple[type, ...], exit_code: int) -> None:
    assert issubclass(kind, parents[0])
    assert all(issubclass(kind, parent) for parent in parents)
    assert kind.exit_code == exit_code


def test_a_validation_error_names_argument_value_and_rule() -> None:
    error = lockwatch.ValidationError("owner_id", "x" * 500, "must be short")
    assert str(error).startswith("owner_id: must be short; got 'xxx")
    assert len(str(error)) < 110


def test_a_validation_error_can_show_anything() -> None:
    anything = ["\x1b[2J\u202e\udcff", b"\x00", 10**5000, "a\nb", None]
    errors = [lockwatch.ValidationError("argument", given, "must be nice") for given in anything]
    assert all(str(error).isprintable() and str(error).startswith("argument: must be nice") for error in errors)


@pytest.mark.parametrize("name", ["sqlstate", "pgcode"])
def test_a_drivers_error_is_known_by_its_code_under_either_name(name: str) -> None:
    for code in ("40001", "40P01", "55P03"):
        error = Exception("canceling statement")
        setattr(error, name, code)
        assert isinstance(postgres_errors.translate(error), lockwatch.DatabaseBusyError)


def test_a_conflict_tells_who_holds_it_since_when_and_for_how_long(
    service: lockwatch.LockService, clock: Clock
) -> None:
    held = service.acquire("plan", "p1", "a", 60)
    clock.advance(20)
    with pytest.raises(lockwatch.LockConflictError) as refused:
        service.acquire("plan", "p1", "b")
    assert refused.value.holder == held
    assert refused.value.now == clock.now
    assert str(refused.value) == "plan/p1 is held by a since 2020-02-29 12:00:00Z, for another 40s (fence 1)"


def test_a_lost_lease_tells_why(service: lockwatch.LockService, url: str, clock: Clock) -> None:
    def lost() -> tuple[lockwatch.LossReason, Lock | None, str]:
        with pytest.raises(lockwatch.LockExpiredError) as refused:
            service.renew("plan", "p1", "a")
        return refused.value.reason, refused.value.holder, str(refused.value)

    removed = "the lock of a on plan/p1 is not there: it was released or removed, or never acquired"
    assert lost() == (lockwatch.LossReason.REMOVED, None, removed)
    service.acquire("plan", "p1", "a", 60)
    clock.advance(90)
    assert lost() == (lockwatch.LossReason.EXPIRED, None, "the lock of a on plan/p1 expired 30s ago")
    taken = service.acquire("plan", "p1", "b", 60)
    told = "the lock of a on plan/p1 was taken over: held by b since 2020-02-29 12:01:30Z, for another 1m (fence 2)"
    assert lost() == (lockwatch.LossReason.TAKEN_OVER, taken, told)
    service.release("plan", "p1", "b")
    insert_row(url, "plan/p1", "a", expires_at="soon")
    unreadable = "the lock of a on plan/p1 cannot be renewed: its expiry 'soon' cannot be read"
    assert lost() == (lockwatch.LossReason.UNREADABLE, None, unreadable)


NASTY = "\x1b[2J\u202e[/]"


def test_no_message_holds_a_raw_control_character(service: lockwatch.LockService, url: str, clock: Clock) -> None:
    insert_row(url, "plan/p1", NASTY, acquired_at=NASTY, expires_at=clock.text(60))
    for call in (service.acquire, service.renew):
        with pytest.raises(lockwatch.LockwatchError) as refused:
            call("plan", "p1", "a")
        assert str(refused.value).isprintable()
        assert "␛[2J·[/]" in str(refused.value)
    age(url, "plan/p1", NASTY)
    with pytest.raises(lockwatch.LockConflictError, match="only a person may remove it") as conflict:
        service.acquire("plan", "p1", "a")
    assert str(conflict.value).isprintable()
    assert describe_holder(service.snapshot().locks[0], clock.now).isprintable()


def test_no_message_holds_a_character_that_reorders_or_hides(service: lockwatch.LockService) -> None:
    service.acquire("plan", "p\u202e1", "a\u200b")
    for call in (service.acquire, service.renew):
        with pytest.raises(lockwatch.LockwatchError) as refused:
            call("plan", "p\u202e1", "b\u2066")
        assert "plan/p·1" in str(refused.value)
        assert str(refused.value).isprintable()


def test_a_stale_holder_is_described_as_such(service: lockwatch.LockService, clock: Clock) -> None:
    lock = service.acquire("plan", "p1", "a", 60)
    clock.advance(3660)
    assert describe_holder(lock, clock.now) == "a since 2020-02-29 12:00:00Z, stale for 1h (fence 1)"


def test_errors_travel_between_processes(service: lockwatch.LockService, clock: Clock) -> None:
    held = service.acquire("plan", "p1", "a")
    errors = [
        lockwatch.LockwatchError("closed"),
        lockwatch.ValidationError("owner_id", 5, "must be text"),
        lockwatch.LockConflictError(held, clock.now),
        lockwatch.LockExpiredError("plan/p1", "b", lockwatch.LossReason.TAKEN_OVER, clock.now, held),
        lockwatch.DatabaseBusyError("busy"),
    ]
    for error in errors:
        arrived = pickle.loads(pickle.dumps(error))  # noqa: S301 our own
        assert (type(arrived), str(arrived), vars(arrived)) == (type(error), str(error), vars(error))
