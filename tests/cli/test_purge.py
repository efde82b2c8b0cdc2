from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

import lockwatch
from lockwatch.core.exact import CHUNK_SIZE
from tests.cli.running import Cli, on_terminal
from tests.support import LONG_AGO, Clock, age, dump, insert_row, path_of, raw, rows

FUTURE = "2999-01-01T00:00:00.000000Z"


def _fences(text: str) -> list[int]:
    return [int(line.split()[-1]) for line in text.splitlines() if " STALE " in line]


def _many_stale(url: str, count: int) -> None:
    with raw(url) as connection:
        connection.execute("BEGIN")
        connection.executemany(
            "INSERT INTO locks (owner_id, resource_type, resource_id, acquired_at, expires_at) VALUES (?, ?, ?, ?, ?)",
            (("a", "plan", f"p{number}", LONG_AGO, LONG_AGO) for number in range(count)),
        )
        connection.execute("COMMIT")


def test_purge_lists_exactly_what_it_removes(cli: Cli, url: str) -> None:
    first = insert_row(url, "plan/old", "a")
    second = insert_row(url, "project/older", "b", expires_at="2001-01-01T00:00:00")
    kept = [insert_row(url, "plan/live", "c", expires_at=FUTURE), insert_row(url, "plan/odd", "d", expires_at="soon")]
    answer = cli("purge")
    assert (answer.code, answer.err) == (0, "")
    assert _fences(answer.out) == [first, second]
    assert answer.out.splitlines()[-1] == "2 purged"
    assert [cells[0] for cells in rows(url)] == kept


def test_purge_lists_owner_and_age(cli: Cli, url: str) -> None:
    now = Clock(datetime.now(UTC))
    insert_row(url, "plan/p1", "worker-1", acquired_at=now.text(-610), expires_at=now.text(-310))
    line = cli("purge", "--dry-run").out.splitlines()[1].split()
    assert line == ["plan/p1", "worker-1", "STALE", "-5m", "5m", "10m", "1"]


def test_a_dry_run_lists_the_same_and_removes_nothing(cli: Cli, url: str) -> None:
    number = insert_row(url, "plan/p1", "a")
    insert_row(url, "plan/p2", "b", expires_at=FUTURE)
    before = dump(url)
    answer = cli("purge", "--dry-run")
    assert (answer.code, answer.err) == (0, "")
    assert _fences(answer.out) == [number]
    assert answer.out.splitlines()[-1] == "1 stale, nothing purged"
    assert dump(url) == before


@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_with_nothing_stale_nothing_is_purged(cli: Cli, url: str, options: tuple[str, ...]) -> None:
    insert_row(url, "plan/p1", "a", expires_at=FUTURE)
    answer = cli("purge", *options)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.endswith("nothing purged\n")
    assert answer.out.count("\n") == 1
    assert len(rows(url)) == 1


def test_a_lock_renewed_after_it_was_listed_is_left_alone_and_told(
    cli: Cli, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert_row(url, "plan/p1", "a")
    insert_row(url, "plan/p2", "b")
    purge_exact = lockwatch.LockService.purge_exact

    def renewed_first(service: lockwatch.LockService, locks: list[lockwatch.Lock]) -> list[lockwatch.Outcome]:
        age(url, "plan/p2", FUTURE)
        return purge_exact(service, locks)

    monkeypatch.setattr(lockwatch.LockService, "purge_exact", renewed_first)
    answer = cli("purge")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines()[-1] == "1 purged · 1 renewed since, left alone"
    assert [cells[3] for cells in rows(url)] == [b"p2"]


def test_purge_in_json_names_each_lock_and_its_outcome(cli: Cli, url: str) -> None:
    insert_row(url, "plan/p1", "a")
    dry = json.loads(cli("purge", "--dry-run", "--json").out)
    done = json.loads(cli("purge", "--json").out)
    none = json.loads(cli("purge", "--json").out)
    assert (dry["dry_run"], dry["purged"], dry["stale"][0]["outcome"]) == (True, 0, None)
    assert (done["dry_run"], done["purged"], done["stale"][0]["outcome"]) == (False, 1, "done")
    assert (done["stale"][0]["resource"], done["stale"][0]["fence"]) == ("plan/p1", 1)
    assert (none["purged"], none["stale"]) == (0, [])


def test_many_stale_locks_are_purged_chunk_by_chunk(cli: Cli, url: str) -> None:
    _many_stale(url, 2 * CHUNK_SIZE + 1)
    answer = cli("purge")
    assert answer.out.splitlines()[-1] == f"{2 * CHUNK_SIZE + 1} purged"
    assert len(_fences(answer.out)) == 2 * CHUNK_SIZE + 1
    assert rows(url) == []


def test_a_purge_that_fails_half_way_says_what_was_done(cli: Cli, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _many_stale(url, CHUNK_SIZE + 1)
    purge_exact = lockwatch.LockService.purge_exact

    def fails_at_the_end(service: lockwatch.LockService, locks: list[lockwatch.Lock]) -> list[lockwatch.Outcome]:
        if len(locks) < CHUNK_SIZE:
            raise lockwatch.DatabaseError("the disk is full")
        return purge_exact(service, locks)

    monkeypatch.setattr(lockwatch.LockService, "purge_exact", fails_at_the_end)
    answer = cli("purge")
    assert answer.code == 5
    assert answer.err.splitlines() == [
        f"lockwatch: not all of it was done: {CHUNK_SIZE} purged",
        f"lockwatch: {path_of(url)}: the disk is full",
    ]
    assert len(rows(url)) == 1


def test_a_long_purge_shows_its_progress_on_a_terminal(url: str) -> None:
    _many_stale(url, CHUNK_SIZE + 1)
    at_once = "import lockwatch.cli.progress as progress; progress.PATIENCE_SECS = 0"
    assert f"/{CHUNK_SIZE + 1}" in on_terminal("purge", "--database", url, code=at_once).out


def test_a_short_purge_shows_none(url: str) -> None:
    _many_stale(url, 2)
    answer = on_terminal("purge", "--database", url)
    assert "purging" not in answer.out
    assert "\x1b" not in answer.out
    assert answer.out.endswith("2 purged\n")
