"""What a lock is, and the rules that arguments keep to."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lockwatch
from lockwatch.core.model import Key, Lock, LockSnapshot, as_text, known_types
from tests.support import START, execute, insert_row

LOCK = Lock(
    id=7,
    owner_id="a",
    resource_type="plan",
    resource_id="p1",
    acquired_at=START,
    expires_at=START + timedelta(seconds=60),
    expires_text="2020-02-29T12:01:00.000000Z",
)


def test_the_constants_are_those_of_the_reference() -> None:
    assert (lockwatch.DEFAULT_LOCK_TTL_SECS, lockwatch.MAX_LOCK_TTL_SECS, lockwatch.MIN_LOCK_TTL_SECS) == (300, 3600, 5)


def test_a_lock_is_expired_at_its_expiry_and_live_just_before() -> None:
    expiry = LOCK.expires_at
    assert expiry is not None
    assert not LOCK.is_expired(expiry - timedelta(microseconds=1))
    assert LOCK.is_expired(expiry)
    assert LOCK.remaining(START) == 60.0
    assert LOCK.remaining(expiry + timedelta(seconds=2)) == -2.0


def test_a_lock_whose_expiry_cannot_be_read_is_never_expired() -> None:
    odd = dataclasses.replace(LOCK, expires_at=None, expires_text="soon")
    assert not odd.is_expired(START + timedelta(days=9999))
    assert not odd.is_readable
    assert math.isnan(odd.remaining(START))


def test_a_lock_can_not_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        LOCK.owner_id = "b"  # type: ignore[misc]


def test_a_lock_says_what_is_locked() -> None:
    assert LOCK.resource == str(LOCK.key) == "plan/p1"
    assert LOCK.key == Key("plan", "p1")


def test_a_snapshot_knows_its_stale_locks() -> None:
    other = dataclasses.replace(LOCK, id=8, expires_at=START + timedelta(seconds=61))
    snapshot = LockSnapshot(taken_at=START + timedelta(seconds=60), locks=(LOCK, other))
    assert snapshot.stale == (LOCK,)


def test_a_cell_of_any_kind_is_text() -> None:
    assert [as_text(cell) for cell in ("a", b"\xff", None, 5, 2.5)] == ["a", "\udcff", "", "5", "2.5"]


def test_an_id_that_is_no_number_is_text_that_is_safe_to_show() -> None:
    ids = ["\x1b[2J", "7", b"\xff\x1b", None, 2.5, math.inf, 7]
    assert [Lock.from_row((cell, *"abcde")).id for cell in ids] == ["␛[2J", "7", "\ufffd␛", "", "2.5", "inf", 7]


BAD_TTLS: list[Any] = [
    0, -1, 4.999, 3600.001, math.nan, math.inf, -math.inf, True, False, "300", None, 10**12, 10**5000, -(10**5000),
    b"60", Decimal(60), timedelta(seconds=60), [60], 60j,
]  # fmt: skip


@pytest.mark.parametrize("ttl", BAD_TTLS, ids=lambda ttl: f"{type(ttl).__name__}")
def test_a_ttl_is_a_number_of_seconds_from_5_to_3600(service: lockwatch.LockService, url: str, ttl: Any) -> None:
    lock = service.acquire("plan", "mine", "a")
    for call in (
        lambda: service.acquire("plan", "p1", "a", ttl),
        lambda: service.renew("plan", "mine", "a", ttl),
        lambda: service.renew_exact(lock, ttl),
    ):
        with pytest.raises(lockwatch.ValidationError) as refused:
            call()
        assert refused.value.argument == "ttl_seconds"
        assert "from 5 to 3600" in str(refused.value)
        assert len(str(refused.value)) < 200
    assert len(execute(url, "SELECT id FROM locks")) == 1


@pytest.mark.parametrize("ttl", [5, 5.0, 5.5, 3599.999999, 3600])
def test_a_ttl_within_the_limits_is_kept_exactly(service: lockwatch.LockService, ttl: float) -> None:
    lock = service.acquire("plan", "p1", "a", ttl_seconds=ttl)
    assert lock.expires_at is not None
    assert lock.acquired_at is not None
    assert lock.expires_at - lock.acquired_at == timedelta(seconds=ttl)


BAD_NAMES: dict[str, list[Any]] = {
    "must be text": [None, 5, b"a", True, ["a"]],
    "must not be blank": ["", " ", "\u3000\xa0"],
    "no leading or trailing blanks": [" a", "a ", "a\u2003", "\xa0a"],
    "no control characters": ["a\nb", "a\0", "\x1b[2J", "a\x85", "a\x7f", "\u2028"],
    "no lone surrogates": ["a\ud800b", "a\udcff"],
    "at most 255 characters": ["x" * 256, "😀" * 256, "x" * 10_000],
}
NAMES_AND_RULES = [(name, rule) for rule, names in BAD_NAMES.items() for name in names]


@pytest.mark.parametrize(("name", "rule"), NAMES_AND_RULES, ids=range(len(NAMES_AND_RULES)))
def test_a_name_that_breaks_a_rule_is_refused_by_every_call(
    service: lockwatch.LockService, url: str, name: Any, rule: str
) -> None:
    calls: dict[str, list[Callable[[], object]]] = {
        "resource_id": [
            lambda: service.acquire("plan", name, "a"),
            lambda: service.renew("plan", name, "a"),
            lambda: service.release("plan", name, "a"),
            lambda: service.get("plan", name),
        ],
        "owner_id": [
            lambda: service.acquire("plan", "p1", name),
            lambda: service.renew("plan", "p1", name),
            lambda: service.release("plan", "p1", name),
            lambda: service.release_all_for_owner(name),
        ],
    }
    for argument, argument_calls in calls.items():
        for call in argument_calls:
            with pytest.raises(lockwatch.ValidationError, match=rule) as refused:
                call()
            assert refused.value.argument == argument
            assert len(str(refused.value)) < 200
            assert str(refused.value).isprintable()
    assert execute(url, "SELECT * FROM locks") == []


@pytest.mark.parametrize(
    "name", ["x" * 255, "😀" * 255, "a b", "a/b", "[/]", "数据", "e\u0301", "%", "'; DROP TABLE locks"]
)
def test_any_other_name_works_up_to_the_limit(service: lockwatch.LockService, name: str) -> None:
    lock = service.acquire("plan", name, name)
    assert (lock.resource_id, lock.owner_id) == (name, name)
    assert service.get("plan", name) == lock
    assert service.renew("plan", name, name, 600).id == lock.id
    assert service.release("plan", name, name)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=260), st.text(max_size=20))
def test_any_name_is_refused_or_kept_to_the_letter(service: lockwatch.LockService, name: str, owner: str) -> None:
    try:
        lock = service.acquire("plan", name, owner)
    except lockwatch.ValidationError:
        assert service.snapshot().locks == ()
        return
    assert service.snapshot().locks == (lock,)
    assert (lock.resource_id, lock.owner_id) == (name, owner)
    assert service.release_exact(service.snapshot().locks[0]).is_done


def test_ids_that_look_alike_are_different_locks(service: lockwatch.LockService) -> None:
    names = [
        "Job",
        "job",
        "jób",
        "job\u0301",
        "😀",
        "😁",
        "\u00e9",
        "e\u0301",
        "ß",
        "ss",
        "ﬀ",
        "ff",
        "JOB",
        "0",
        "00",
        "1e1",
        "10",
    ]
    assert len({service.acquire("plan", name, f"owner of {name}").id for name in names}) == len(names)
    for name in names:
        assert service.get("plan", name).owner_id == f"owner of {name}"  # type: ignore[union-attr]


def test_owners_that_look_alike_are_different_owners(service: lockwatch.LockService) -> None:
    service.acquire("plan", "p1", "jób")
    for other in ("Jób", "job\u0301", "job"):
        with pytest.raises(lockwatch.LockConflictError):
            service.acquire("plan", "p1", other)
        assert not service.release("plan", "p1", other)


@pytest.mark.parametrize("kind", ["plans", "Plan", "", "plan ", None, 5, ["plan"], "x" * 51, "\x1b[2J", {}])
def test_an_unknown_resource_type_is_refused(service: lockwatch.LockService, kind: Any) -> None:
    for call in (
        lambda: service.acquire(kind, "p1", "a"),
        lambda: service.renew(kind, "p1", "a"),
        lambda: service.release(kind, "p1", "a"),
        lambda: service.get(kind, "p1"),
    ):
        with pytest.raises(
            lockwatch.ValidationError, match=r"must be one of plan, project; .*\$LOCKWATCH_RESOURCE_TYPES"
        ) as refused:
            call()
        assert refused.value.argument == "resource_type"
        assert str(refused.value).isprintable()


def test_a_service_can_be_told_of_more_resource_types(url: str) -> None:
    with lockwatch.connect(url, resource_types=["job", "x" * 50]) as service:
        assert {service.acquire(kind, "1", "a").resource_type for kind in ("plan", "project", "job", "x" * 50)} == {
            "plan", "project", "job", "x" * 50,
        }  # fmt: skip


@pytest.mark.parametrize("types", ["job", ["a/b"], [""], ["x" * 51], [" a"], ["a\n"], [5], [None]])
def test_a_resource_type_that_is_no_name_is_refused(types: Any) -> None:
    with pytest.raises(lockwatch.ValidationError) as refused:
        known_types(types)
    assert refused.value.argument == "resource_types"


def test_a_row_of_an_unknown_type_is_listed_all_the_same(service: lockwatch.LockService, url: str) -> None:
    insert_row(url, "elsewhere/x", "b")
    assert [lock.resource for lock in service.snapshot().locks] == ["elsewhere/x"]
