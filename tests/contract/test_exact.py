"""What operators do: settle the very lease that was displayed, and hear what became of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lockwatch import LockService, OutcomeKind
from tests.contract.sites import Site


def test_the_displayed_lease_is_released_renewed_and_purged(service: LockService, site: Site) -> None:
    lock = service.acquire("plan", "p1", "a", 60)
    renewed = service.renew_exact(lock, 600)
    assert renewed.is_done
    assert renewed.now is not None
    assert renewed.now == service.get("plan", "p1")
    assert service.release_exact(renewed.now).is_done
    site.insert_row("plan/p2", "a")
    stale = service.get("plan", "p2")
    assert stale is not None
    assert [outcome.kind for outcome in service.purge_exact([stale])] == [OutcomeKind.DONE]
    assert site.rows() == []


def test_what_changed_since_is_left_alone_and_told(service: LockService, other: LockService, site: Site) -> None:
    seen = service.acquire("plan", "p1", "a", 60)
    service.renew("plan", "p1", "a", 600)
    assert service.release_exact(seen).kind is OutcomeKind.RENEWED_SINCE
    site.age("plan/p1")
    taken = other.acquire("plan", "p1", "b")
    before = site.rows()
    answer = service.release_exact(seen)
    assert (answer.kind, answer.now) == (OutcomeKind.TAKEN_OVER, taken)
    assert service.renew_exact(seen).kind is OutcomeKind.TAKEN_OVER
    assert service.purge_exact([seen])[0].kind is OutcomeKind.TAKEN_OVER
    assert site.rows() == before
    other.release("plan", "p1", "b")
    assert service.release_exact(seen).kind is OutcomeKind.GONE


def test_live_ones_are_not_purged_and_stale_ones_not_renewed(service: LockService, site: Site) -> None:
    live = service.acquire("plan", "p1", "a")
    site.insert_row("plan/p2", "a")
    stale = service.get("plan", "p2")
    assert stale is not None
    assert service.purge_exact([live])[0].kind is OutcomeKind.NOT_EXPIRED
    assert service.renew_exact(stale).kind is OutcomeKind.EXPIRED
    assert len(site.rows()) == 2


def test_a_lease_that_cannot_be_read_is_released_only_by_a_person(service: LockService, site: Site) -> None:
    site.insert_row("plan/p1", "a", "soon")
    seen = service.get("plan", "p1")
    assert seen is not None
    assert service.renew_exact(seen).kind is OutcomeKind.UNREADABLE
    assert service.purge_exact([seen])[0].kind is OutcomeKind.UNREADABLE
    assert service.release_exact(seen).is_done
    assert site.rows() == []


def test_batches_of_many_chunks_report_each(service: LockService, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lockwatch.core.exact.CHUNK_SIZE", 3)
    live = site.text(600)
    site.insert_rows({f"plan/p{number}": live if number == 4 else "2001-01-01T00:00:00Z" for number in range(10)})
    outcomes = service.purge_exact(service.snapshot().locks)
    assert [outcome.kind for outcome in outcomes].count(OutcomeKind.DONE) == 9
    assert outcomes[4].kind is OutcomeKind.NOT_EXPIRED
    assert len(site.rows()) == 1


HANDMADE = (
    {"id": 2**63},
    {"id": -(2**63) - 1},
    {"id": 10**40},
    {"id": "one"},
    {"id": "\ud800"},
    {"id": None},
    {"owner_id": "\ud800"},
    {"owner_id": "a\x00b"},
    {"expires_text": "\udfff"},
    {"expires_text": "x" * 500},
    {"resource_id": "\ud800", "id": 2**70},
    {"resource_type": "\x00", "id": 2**70},
)


@pytest.mark.parametrize("changes", HANDMADE, ids=repr)
def test_a_lock_made_by_hand_never_ends_in_a_drivers_error(
    service: LockService, site: Site, changes: dict[str, object]
) -> None:
    real = service.acquire("plan", "p1", "a")
    before = site.rows()
    made = replace(real, **changes)  # type: ignore[arg-type] # what no lock has is the point
    answers = [service.release_exact(made), service.renew_exact(made), *service.purge_exact([made])]
    assert not any(answer.is_done for answer in answers)
    elsewhere = service.release_exact(replace(made, resource_id="none", id=2**64))
    assert elsewhere.kind is OutcomeKind.GONE
    assert site.rows() == before
