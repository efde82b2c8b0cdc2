from __future__ import annotations

from collections import Counter

import pytest

from lockwatch import ValidationError
from lockwatch.core.model import known_types, validate_key, validate_name, validate_ttl
from lockwatch.demo.scene import CONTENDED, MAX_WORKERS, MIN_WORKERS, STUCK_ON, Part, Role, cast

ALL = cast(MAX_WORKERS)


def wanting(parts: tuple[Part, ...], role: Role) -> list[tuple[str, str]]:
    return [task.key for part in parts if part.role is role for task in part.tasks]


@pytest.mark.parametrize("workers", [MIN_WORKERS - 1, MAX_WORKERS + 1, 0, -1, True, 8.0, "8", None])
def test_a_number_of_workers_that_makes_no_scene_is_refused(workers: object) -> None:
    with pytest.raises(ValidationError, match="workers: must be a whole number from 5 to 64"):
        cast(workers)  # type: ignore[arg-type]


@pytest.mark.parametrize("workers", [MIN_WORKERS, 8, MAX_WORKERS])
def test_every_scene_has_the_stuck_one_the_waiting_one_the_doomed_one_and_two_that_contend(workers: int) -> None:
    parts = cast(workers)
    assert len(parts) == workers
    assert Counter(part.role for part in parts) == {
        Role.STUCK: 1,
        Role.WAITING: 1,
        Role.DOOMED: 1,
        Role.STEADY: workers - 3,
    }
    assert wanting(parts, Role.STUCK) == wanting(parts, Role.WAITING) == [STUCK_ON]
    assert wanting(parts, Role.STEADY).count(CONTENDED) == 2


def test_nobody_else_wants_what_the_doomed_one_leaves_behind() -> None:
    others = {task.key for part in ALL if part.role is not Role.DOOMED for task in part.tasks}
    assert others.isdisjoint(wanting(ALL, Role.DOOMED))


def test_all_that_workers_ask_for_is_valid() -> None:
    for part in ALL:
        validate_name("owner_id", part.owner(4_194_304))
        for task in part.tasks:
            validate_key(*task.key, known_types(()))
            validate_ttl(task.ttl_seconds)


def test_no_lease_runs_out_while_its_holder_is_at_work() -> None:
    assert all(task.renew_at <= 0.95 for part in ALL for task in part.tasks)


def test_owners_are_told_apart_by_part_and_by_process() -> None:
    assert len({part.owner(pid) for part in ALL for pid in (1, 2)}) == 2 * MAX_WORKERS
