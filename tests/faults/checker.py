"""Reads what all workers believed, and says where that breaks a promise.

1. No two leases of one resource were believed in at once. A belief begins when the grant is answered and ends at the
   deadline, or when a release is sent or a loss is noticed: always within what the database has granted.
2. A grant that was asked for after another one of its resource had been answered has the greater fence.
3. No fence is granted to two owners, no call takes longer than it may, and nothing but our errors comes out of one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.faults import journal


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """A lease as its holder saw it: asked for at `sent`, answered at `since`, believed in until `until`."""

    resource: str
    fence: int
    owner: str
    sent: float
    since: float
    until: float

    def __str__(self) -> str:
        return f"{self.owner} fence {self.fence} [{self.since:.3f}, {self.until:.3f}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What happened, and what should not have."""

    grants: int
    conflicts: int
    errors: Counter[str]
    violations: list[str]


def check(folder: Path, longest_call_seconds: float) -> Findings:
    """All journals of a folder, held against the promises."""
    events = list(journal.read(folder))
    answers = [event for event in events if event["event"] == "answered"]
    kinds = Counter(event["kind"] for event in answers)
    conflicts = kinds.pop("conflict", 0)
    leases, doubles = beliefs(events)
    slow = [event for event in answers if event["seconds"] > longest_call_seconds]
    violations = [
        *doubles,
        *overlaps(leases),
        *inversions(leases),
        *(f"{event['process']}: a call took {event['seconds']:.1f} s ({event['kind']})" for event in slow),
        *(f"{event['process']}: {event['trace']}" for event in events if event["event"] == "crashed"),
    ]
    return Findings(grants=len(leases), conflicts=conflicts, errors=kinds, violations=violations)


def beliefs(events: Iterable[dict[str, Any]]) -> tuple[list[Belief], list[str]]:
    """Each lease as it was believed in, and what was granted to two owners."""
    known: dict[tuple[str, int], Belief] = {}
    doubles = []
    for event in events:
        key = (event.get("resource", ""), event.get("fence", 0))
        before = known.get(key)
        match event["event"]:
            case "granted" if before is None:
                known[key] = _granted(event)
            case "granted" | "renewed" if before and event.get("owner", before.owner) == before.owner:
                known[key] = replace(before, until=max(before.until, event["until"]))
            case "granted":
                doubles.append(f"{key[0]}: fence {key[1]} was granted to {before.owner if before else ''} and another")
            case "ended" if before:
                known[key] = replace(before, until=min(before.until, event["at"]))
    return list(known.values()), doubles


def _granted(event: dict[str, Any]) -> Belief:
    return Belief(
        resource=event["resource"],
        fence=event["fence"],
        owner=event["owner"],
        sent=event["sent"],
        since=event["answered"],
        until=event["until"],
    )


def overlaps(leases: Iterable[Belief]) -> Iterator[str]:
    """Where two leases of one resource were believed in at once."""
    for resource, mine in _by_resource(leases).items():
        last: Belief | None = None
        for lease in sorted(mine, key=lambda lease: lease.since):
            if last is not None and lease.since < min(last.until, lease.until):
                yield f"{resource}: two leases at once: {last}, {lease}"
            if last is None or lease.until > last.until:
                last = lease


def inversions(leases: Iterable[Belief]) -> Iterator[str]:
    """Where a later grant of a resource has no greater fence."""
    for resource, mine in _by_resource(leases).items():
        answered = sorted(mine, key=lambda lease: lease.since)
        greatest, seen = None, 0
        for lease in sorted(mine, key=lambda lease: lease.sent):
            while seen < len(answered) and answered[seen].since <= lease.sent:
                if greatest is None or answered[seen].fence > greatest.fence:
                    greatest = answered[seen]
                seen += 1
            if greatest is not None and greatest.fence >= lease.fence:
                yield f"{resource}: fences out of order: {greatest}, then {lease}"


def _by_resource(leases: Iterable[Belief]) -> dict[str, list[Belief]]:
    found: dict[str, list[Belief]] = defaultdict(list)
    for lease in leases:
        found[lease.resource].append(lease)
    return found
