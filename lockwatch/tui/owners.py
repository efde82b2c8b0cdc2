"""What an owner id tells of a process, where it clearly has the form of one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_PID: Final = "(?P<pid>[1-9][0-9]{0,6})"
_HOST: Final = "(?P<host>[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252}[A-Za-z0-9])?)"
_FORMS: Final = tuple(
    re.compile(form, re.ASCII)
    for form in (
        f"(?P<name>[^@]+)@{_HOST}:{_PID}(?::(?P<rest>[A-Za-z0-9._-]+))?",
        f"(?P<host>[^:@]+):{_PID}:(?P<rest>[0-9a-f]{{8}})",  # as lockwatch makes them, whatever the host is called
        f"(?=[^:]*[A-Za-z]){_HOST}:{_PID}",
    )
)
_GREATEST_PID: Final = 4_194_304
"""Of Linux; other systems' are smaller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """The parts of an owner id as they are stored, not clean; empty where it has no such part."""

    name: str
    host: str
    pid: str
    rest: str


def process_of(owner_id: str) -> Process | None:
    """The process that is named as `name@host:pid`, `host:pid:random` or `host:pid`; None: the id has another form."""
    for form in _FORMS:
        found = form.fullmatch(owner_id)
        if found is not None and int(found["pid"]) <= _GREATEST_PID:
            parts = {"name": "", "rest": "", **found.groupdict(default="")}
            return Process(**parts)
    return None


def name_of(owner_id: str) -> str:
    """The name in `name@host:pid`; else all of it."""
    process = process_of(owner_id)
    return process.name or owner_id if process else owner_id
