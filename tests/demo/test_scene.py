from __future__ import annotations

from collections import Counter

import pytest

from lockwatch import ValidationError
from lockwatch.core.model import known_types, validate_key, validate_name, validate_ttl
from lockwatch.demo.scene import CONTENDED, MAX_WORKERS, MIN_WORKERS, STUCK_ON, Part, Role, Task, cast, worker_of
from lockwatch.plans.service import MAX_WORKER_LENGTH

ALL = cast(MAX_WORKERS)


def tasks(parts: tuple[Part, ...], *roles: Role) -> list[Task]:
    return [task for part in parts if part.role in (roles or Role) for task in part.tasks]


def wanting(parts: tuple[Part, ...], *roles: Role) -> list[tuple[str, str]]:
    return [key for task in tasks(parts, *roles) for key in task.keys(task.plan_id(1))]


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
    for role in (Role.STUCK, Role.WAITING):
        plan, project = wanting(parts, role)
        assert (plan[0], project) == ("plan", STUCK_ON)
    assert wanting(parts, Role.STEADY).count(CONTENDED) == 2


def test_nobody_else_wants_what_the_doomed_one_leaves_behind() -> None:
    others = wanting(ALL, Role.STEADY, Role.STUCK, Role.WAITING)
    assert set(others).isdisjoint(wanting(ALL, Role.DOOMED))


def test_no_two_tasks_work_on_the_same_plans() -> None:
    plans = Counter((task.project_id, task.name) for task in tasks(ALL))
    slugs = Counter(task.slug for task in tasks(ALL))
    assert plans.total() == slugs.total() > MAX_WORKERS
    assert {*plans.values(), *slugs.values()} == {1}


def test_all_that_workers_ask_for_is_valid() -> None:
    for part in ALL:
        validate_name("worker", part.worker(4_194_304), MAX_WORKER_LENGTH)
        for task in part.tasks:
            validate_name("name", task.name)
            validate_name("project_id", task.project_id)
            validate_ttl(task.ttl_seconds)
            for key in task.keys(task.plan_id(1_000_000)):
                validate_key(*key, known_types(()))


def test_ttls_differ_so_that_countdowns_do_too() -> None:
    assert len({task.ttl_seconds for task in tasks(cast(8))}) >= 8


def test_workers_are_told_apart_by_part_and_by_process() -> None:
    assert len({part.worker(pid) for part in ALL for pid in (1, 2)}) == 2 * MAX_WORKERS


def test_an_owner_tells_which_worker_it_is() -> None:
    worker = ALL[2].worker(4242)
    assert worker_of(f"{worker}:ab12cd34") == worker
