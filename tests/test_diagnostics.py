from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import lockwatch
from lockwatch import mounts
from lockwatch.core.model import Lock, LockSnapshot
from lockwatch.database import HEAD_REVISION, Database
from lockwatch.diagnostics import (
    Check,
    Status,
    check_abandoned_plans,
    check_clock,
    check_condition,
    check_far_expiries,
    check_schema,
    check_stale_locks,
    check_unreadable,
    checks_of,
    examine,
    exit_code,
    report,
)
from lockwatch.plans import Phase, PlanRun, PlanState
from lockwatch.sqlite_file import _journal
from tests.plans.placing import put
from tests.support import START, Clock, execute, raw

NOW = Clock()


def _snapshot(**expiries: float | str) -> LockSnapshot:
    """Locks by name, with their seconds left, or the text of their expiry."""
    locks = [
        Lock.from_row((number, "a", "plan", name, NOW.text(-600), left if isinstance(left, str) else NOW.text(left)))
        for number, (name, left) in enumerate(expiries.items(), 1)
    ]
    return LockSnapshot(taken_at=START, locks=tuple(locks))


def _found(checks: list[Check]) -> dict[str, Status]:
    return {check.name: check.status for check in checks}


def test_all_is_well_with_an_upgraded_database(url: str) -> None:
    checks = examine(url)
    names = [
        "Database",
        "Schema",
        "Fencing",
        "Stale locks",
        "Unreadable",
        "Expiries",
        "Clock",
        "Journal",
        "Abandoned plans",
    ]
    assert _found(checks) == dict.fromkeys(names, Status.OK)
    assert exit_code(checks) == 0


def test_stale_locks_are_counted_and_the_oldest_named() -> None:
    check = check_stale_locks(_snapshot(new=-5, oldest=-540, live=5, odd="soon"))
    assert check.status is Status.WARNING
    assert check.message == "2 not cleaned up, the oldest for 9m: plan/oldest of a (fence 2)"
    assert "`lockwatch purge`" in (check.hint or "")


def test_a_lock_that_expires_now_is_stale() -> None:
    assert check_stale_locks(_snapshot(p=0)).status is Status.WARNING
    assert check_stale_locks(_snapshot(p=0.001)).status is Status.OK


def test_unreadable_locks_are_counted_and_the_first_named() -> None:
    check = check_unreadable(_snapshot(**{f"p{number}": "soon" for number in range(5)}, live=5))
    assert check.status is Status.WARNING
    assert check.message.startswith("5 never expire: plan/p0 of a (fence 1), ")
    assert check.message.endswith(" and 2 more")
    assert check_unreadable(_snapshot(live=5)).status is Status.OK


def test_an_expiry_beyond_the_greatest_ttl_is_a_warning() -> None:
    assert check_far_expiries(_snapshot(p=3600, odd="soon")).status is Status.OK
    check = check_far_expiries(_snapshot(p=3601))
    assert (check.status, check.message) == (
        Status.WARNING,
        "1 last longer than the greatest TTL of 1h: plan/p of a (fence 1)",
    )


@pytest.mark.parametrize(
    ("skew", "status", "word"),
    [
        (0.0, Status.OK, "agrees"),
        (1.0, Status.OK, "agrees"),
        (-1.0, Status.OK, "agrees"),
        (1.1, Status.WARNING, "1.1 s ahead of"),
        (-90.0, Status.WARNING, "90.0 s behind"),
    ],
)
def test_a_clock_more_than_a_second_off_is_a_warning(skew: float, status: Status, word: str) -> None:
    check = check_clock(skew)
    assert check.status is status
    assert word in check.message


@pytest.mark.parametrize(("mode", "status"), [("wal", Status.OK), ("delete", Status.WARNING), ("\x1b", Status.WARNING)])
def test_without_a_write_ahead_log_there_is_a_warning(mode: str, status: Status) -> None:
    check = check_condition(_journal(mode))
    assert check.status is status
    assert check.message.isprintable()


@pytest.mark.parametrize(
    ("revision", "status"), [(HEAD_REVISION, Status.OK), (None, Status.WARNING), ("m9\x1b", Status.WARNING)]
)
def test_another_schema_than_the_newest_is_a_warning(revision: str | None, status: Status) -> None:
    check = check_schema(revision)
    assert check.status is status
    assert check.message.isprintable()


def _run(plan_id: str, owner: str = "worker") -> PlanRun:
    return PlanRun(
        id=1,
        plan_id=plan_id,
        phase=Phase.EXECUTE,
        owner_id=owner,
        fence=7,
        is_manual=False,
        started_at=START,
        ended_at=None,
        outcome=None,
        error=None,
    )


def test_abandoned_plans_are_counted_and_the_first_named_with_who_left_them() -> None:
    check = check_abandoned_plans([_run(f"p{number}", "a\x1b[2J") for number in range(5)])
    assert check.status is Status.WARNING
    assert check.message.startswith("5 processing, but left by who worked on them: p0 of a␛[2J (fence 7), ")
    assert check.message.endswith(" and 2 more")
    assert "`lockwatch plans recover`" in (check.hint or "")
    assert check_abandoned_plans([]).status is Status.OK


def test_a_plan_is_abandoned_once_the_lease_of_its_run_is_gone(url: str) -> None:
    with lockwatch.connect(url) as service:
        lease = service.acquire("plan", "p1", "worker")
        put(url, Phase.EXECUTE, PlanState.PROCESSING)
        execute(url, "UPDATE plan_runs SET is_manual = 0, owner_id = 'worker', fence = ?", (lease.id,))
        assert _found(examine(url))["Abandoned plans"] is Status.OK
        service.release("plan", "p1", "worker")
    assert _found(examine(url))["Abandoned plans"] is Status.WARNING


def test_without_tables_of_plans_there_is_no_word_about_them(url: str) -> None:
    execute(url, "DROP TABLE plan_runs")
    assert "Abandoned plans" not in _found(examine(url))


def test_runs_that_cannot_be_read_are_a_warning(url: str) -> None:
    put(url, Phase.EXECUTE, PlanState.PROCESSING)
    execute(url, "UPDATE plan_runs SET is_manual = 0, phase = 'b\x1bad'")
    check = examine(url)[-1]
    assert (check.name, check.status) == ("Abandoned plans", Status.WARNING)
    assert check.message.startswith("cannot be told: run 1 of a plan cannot be read")
    assert check.message.isprintable()


def test_the_skew_is_measured_against_this_machines_clock(url: str) -> None:
    ahead = Clock(datetime.now(UTC) + timedelta(hours=1))
    with lockwatch.connect(url, clock=ahead) as service:
        checks = checks_of(Database.from_url(url), service, lambda: datetime.now(UTC))
    assert _found(checks)["Clock"] is Status.WARNING


MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
db1:/export /mnt/shared\\040files nfs4 rw 0 0
host:/x /mnt/sshfs fuse.sshfs rw 0 0
tmpfs /mnt/shared\\040files/local tmpfs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind", "is_warned_of"),
    [
        ("/home/me/locks.db", "ext4", False),
        ("/mnt/shared files/locks.db", "nfs4", True),
        ("/mnt/shared files/local/locks.db", "tmpfs", False),
        ("/mnt/shared files too/locks.db", "ext4", False),
        ("/mnt/sshfs/locks.db", "fuse.sshfs", True),
    ],
)
def test_a_file_on_a_network_file_system_is_warned_of(
    path: str, kind: str, is_warned_of: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mounts").write_text(MOUNTS)
    monkeypatch.setattr("lockwatch.mounts.MOUNTS", tmp_path / "mounts")
    assert mounts.file_system(Path(path)) == kind
    conditions = mounts.conditions(Path(path))
    assert [condition.message.split(",")[0] for condition in conditions] == [kind] * is_warned_of
    assert all(condition.hint for condition in conditions)


def test_where_no_mounts_are_told_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lockwatch.mounts.MOUNTS", tmp_path / "missing")
    assert mounts.conditions(tmp_path) == []


def test_the_journal_mode_is_read_from_the_file(url: str) -> None:
    with raw(url) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    assert _found(examine(url))["Journal"] is Status.WARNING
    with raw(url) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    assert _found(examine(url))["Journal"] is Status.OK


def test_a_table_that_is_not_adopted_is_a_warning_that_names_the_upgrade(url: str) -> None:
    execute(url, "DROP TABLE lockwatch_version")
    schema = next(check for check in examine(url) if check.name == "Schema")
    assert schema.status is Status.WARNING
    assert "`lockwatch db upgrade`" in (schema.hint or "")


def test_a_missing_file_is_a_failure_and_ends_the_questions(tmp_path: Path) -> None:
    (check,) = examine(f"sqlite:///{tmp_path / 'missing.db'}")
    assert (check.name, check.status) == ("Database", Status.FAILURE)


def test_a_file_that_is_no_database_is_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "text.db"
    path.write_text("no database\n" * 500)
    (check,) = examine(f"sqlite:///{path}")
    assert (check.name, check.status) == ("Database", Status.FAILURE)


def test_a_missing_table_is_a_failure_of_the_schema(url: str) -> None:
    execute(url, "DROP TABLE locks")
    checks = examine(url)
    assert _found(checks) == {"Database": Status.OK, "Schema": Status.FAILURE}
    assert "`lockwatch db upgrade`" in checks[-1].message


def test_a_default_file_that_cannot_be_made_is_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("lockwatch.settings.default_database", lambda: tmp_path / "file" / "locks.db")
    (check,) = examine()
    assert (check.name, check.status) == ("Database", Status.FAILURE)


def test_a_database_that_stays_locked_is_a_failure(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lockwatch.sqlite_file.BUSY_TIMEOUT_SECS", 0.05)
    with raw(url) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("BEGIN EXCLUSIVE")
        checks = examine(url)
    assert _found(checks) == {"Database": Status.FAILURE}


def test_the_worst_check_is_the_exit_code() -> None:
    ok, warning, failure = (Check(name="x", status=status, message="") for status in Status)
    assert [exit_code(checks) for checks in ([ok], [ok, warning, ok], [warning, failure, ok])] == [0, 1, 2]


def test_a_report_has_hints_below_what_they_belong_to() -> None:
    checks = [
        Check(name="Long name", status=Status.WARNING, message="what is", hint="what to do"),
        Check(name="B", status=Status.OK, message="fine"),
    ]
    assert report(checks) == [
        "WARNING  Long name  what is",
        "                    what to do",
        "OK       B          fine",
    ]
