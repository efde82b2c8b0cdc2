from __future__ import annotations

from datetime import datetime

import pytest

from lockwatch.cells import width
from lockwatch.core.model import Lock, LockSnapshot
from lockwatch.core.timestamps import to_text
from lockwatch.listing import describe, in_order, render
from tests.support import START, Clock

NOW = Clock()


def _lock(
    number: int,
    name: str = "p1",
    owner: str = "worker-1@host",
    *,
    acquired: float = -60,
    expires: float | str = 240,
) -> Lock:
    text = expires if isinstance(expires, str) else NOW.text(expires)
    return Lock.from_row((number, owner, "plan", name, NOW.text(acquired), text))


def _snapshot(*locks: Lock) -> LockSnapshot:
    return LockSnapshot(taken_at=START, locks=locks)


LONG = _snapshot(
    _lock(118, "import-customers-of-the-northern-region-again", "worker-3@builder-17.example.com:4242", acquired=-540),
    _lock(4402, "日本" * 40, "日本" * 40, expires=5),
    _lock(7, expires="soon"),
)


def test_a_lock_is_one_line_with_its_times_in_coarse_units() -> None:
    header, line = render(_snapshot(_lock(7)))
    assert header == "RESOURCE  OWNER          STATE  LEFT  TTL  HELD  FENCE"
    assert line == "plan/p1   worker-1@host  HELD     4m   5m    1m      7"


def test_each_state_has_its_word() -> None:
    lines = render(
        _snapshot(_lock(1), _lock(2, expires=9.5, acquired=-60.2), _lock(3, expires=0), _lock(4, expires="soon"))
    )
    assert [line.split()[2] for line in lines[1:]] == ["UNREADABLE", "STALE", "EXPIRING", "HELD"]


def test_what_cannot_be_told_is_a_dash() -> None:
    renewed, unreadable = _lock(1, expires=100.5), Lock.from_row((2, "a", "plan", "p", "?", "?"))
    assert [render(_snapshot(lock))[1].split()[3:] for lock in (renewed, unreadable)] == [
        ["1m", "–", "1m", "1"],
        ["–", "–", "–", "2"],
    ]


@pytest.mark.parametrize("columns", range(1, 140))
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    lines = render(LONG, columns)
    assert len(lines) == 4
    assert max(map(width, lines)) <= columns
    assert "" not in lines


@pytest.mark.parametrize(
    ("columns", "titles"),
    [
        (120, ["RESOURCE", "OWNER", "STATE", "LEFT", "TTL", "HELD", "FENCE"]),
        (60, ["RESOURCE", "OWNER", "STATE", "LEFT"]),
        (40, ["RESOURCE", "STATE", "LEFT"]),
        (20, ["RESOURCE"]),
    ],
)
def test_what_matters_less_gives_way_in_a_narrow_terminal(columns: int, titles: list[str]) -> None:
    assert render(LONG, columns)[0].split() == titles


def test_short_names_keep_every_column_in_a_narrow_terminal() -> None:
    assert render(_snapshot(_lock(7)), 60) == render(_snapshot(_lock(7)))


def test_names_are_shortened_in_the_middle() -> None:
    assert "plan/import-cus…rn-region-again" in "\n".join(render(LONG, 100))


def test_a_pipe_gets_names_in_full_and_numbers_end_in_line() -> None:
    lines = render(LONG)
    assert "import-customers-of-the-northern-region-again" in "\n".join(lines)
    assert len({width(line) for line in lines}) == 1


def test_locks_with_one_expiry_keep_one_order_however_they_come() -> None:
    locks = [_lock(number, f"p{number}") for number in range(50)]
    shuffled = [locks[place * 7 % 50] for place in range(50)]
    assert shuffled != locks
    assert in_order(shuffled, START) == locks


@pytest.mark.parametrize("text", ["\x1b[2J", "\x9b2J", "\u202e", "a\nb", "a\tb"])
def test_nothing_of_a_name_acts_on_the_terminal(text: str) -> None:
    lock = Lock.from_row((1, text, text, text, text, text))
    for line in [*render(_snapshot(lock)), *render(_snapshot(lock), 30), *describe(lock, START)]:
        assert line.isprintable()


def test_a_lock_in_full_names_its_moments() -> None:
    assert describe(_lock(7), START) == [
        "resource  plan/p1",
        "owner     worker-1@host",
        "state     HELD",
        "left      4m, until 2020-02-29 12:04:00Z",
        "ttl       5m",
        "held      1m, since 2020-02-29 11:59:00Z",
        "fence     7",
    ]


def test_ages_are_counted_from_the_moment_of_the_snapshot() -> None:
    later = datetime.fromisoformat(to_text(START)).replace(hour=13)
    assert render(LockSnapshot(taken_at=later, locks=(_lock(7),)))[1].split()[2:6] == ["STALE", "-56m", "5m", "1h"]
