"""Real processes that meet at a barrier, and others that change rows between a read and a write."""

from __future__ import annotations

import lockwatch
from tests.support import insert_row, meet, together

ROUNDS = 50


def _take_expired(url: str, owner: str, rounds: int) -> list[int | None]:
    grants: list[int | None] = []
    with lockwatch.connect(url) as service:
        for number in range(rounds):
            meet()
            try:
                grants.append(service.acquire("plan", f"p{number}", owner).id)
            except lockwatch.LockConflictError:
                grants.append(None)
    return grants


def test_one_expired_lease_is_granted_to_exactly_one_of_two_processes(url: str) -> None:
    for number in range(ROUNDS):
        insert_row(url, f"plan/p{number}")
    first, second = together(_take_expired, (url, "a", ROUNDS), (url, "b", ROUNDS))
    assert [(a is None) != (b is None) for a, b in zip(first, second, strict=True)] == [True] * ROUNDS
