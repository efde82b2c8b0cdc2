"""The tables of plans: that they are missing, another program's, or hold what lockwatch does not know."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

import lockwatch
from lockwatch import plans as planning
from lockwatch.database import EARLIER_REVISIONS, HEAD_REVISION, Database
from lockwatch.diagnostics import Status, examine
from lockwatch.migrating import migrations_path
from lockwatch.plans import Phase, PlanLifecycleService, PlanState
from lockwatch.plans.store import PlanStore
from tests.plans.placing import put
from tests.support import dump, execute, rows

FOREIGN = "CREATE TABLE plans (id INTEGER PRIMARY KEY, price INTEGER)"


def _downgrade(url: str, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(migrations_path()))
    with sa.create_engine(url, poolclass=sa.NullPool).begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, revision)


@pytest.fixture
def earlier(url: str) -> str:
    """A database at the migration before the tables of plans."""
    _downgrade(url, EARLIER_REVISIONS[-1])
    return url


def test_a_database_without_the_tables_says_what_makes_them(earlier: str) -> None:
    with planning.connect(earlier) as plans:
        assert not plans.is_available()
        for call in (plans.list, plans.recover_abandoned, lambda: plans.create("plan", "shop", "p1")):
            with pytest.raises(
                lockwatch.DatabaseError, match="no tables of plans yet; `lockwatch db upgrade` makes them"
            ):
                call()
        assert rows(earlier) == []
        lockwatch.upgrade(earlier)
        assert plans.is_available()
        assert plans.create("plan", "shop", "p1").state is PlanState.QUEUED


def test_the_earlier_revisions_are_those_that_lead_to_the_newest() -> None:
    config = Config()
    config.set_main_option("script_location", str(migrations_path()))
    newest_first = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    assert newest_first == [HEAD_REVISION, *reversed(EARLIER_REVISIONS)]


def test_diagnostics_of_an_earlier_schema_say_what_brings_it_to_the_newest(earlier: str) -> None:
    (check,) = [check for check in examine(earlier) if check.name == "Schema"]
    assert (check.status, check.message.split(",")[0]) == (Status.WARNING, f"at {EARLIER_REVISIONS[-1]}")
    assert check.hint is not None
    assert "`lockwatch db upgrade`" in check.hint


def test_an_upgrade_leaves_the_locks_as_they_are(earlier: str) -> None:
    with lockwatch.connect(earlier) as service:
        lock = service.acquire("plan", "p1", "a")
        lockwatch.upgrade(earlier)
        assert service.snapshot().locks == (lock,)


@pytest.mark.parametrize(
    ("table", "name"),
    [
        (FOREIGN, "plans"),
        (FOREIGN.replace("plans", "Plans"), "Plans"),
        ("CREATE TABLE plan_runs (id INTEGER)", "plan_runs"),
        ("CREATE VIEW plans AS SELECT id FROM locks", "plans"),
    ],
)
def test_another_programs_table_is_left_as_it_is_up_and_down_and_locks_work_beside_it(
    earlier: str, table: str, name: str
) -> None:
    execute(earlier, table)
    before = [line for line in dump(earlier) if "lockwatch_version" not in line]
    lockwatch.upgrade(earlier)
    assert Database.from_url(earlier).is_at_head()
    with planning.connect(earlier) as plans:
        assert not plans.is_available()
        with pytest.raises(lockwatch.DatabaseError, match="plan"):
            plans.list()
        plans.locks.acquire("plan", "p1", "a")
        plans.locks.release("plan", "p1", "a")
    _downgrade(earlier, EARLIER_REVISIONS[-1])
    after = [line for line in dump(earlier) if "lockwatch_version" not in line and "sqlite_sequence" not in line]
    assert after == [line for line in before if "sqlite_sequence" not in line]
    assert name in " ".join(after)


def test_another_programs_table_is_named(earlier: str) -> None:
    execute(earlier, FOREIGN)
    lockwatch.upgrade(earlier)
    with planning.connect(earlier) as plans:
        for call in (plans.list, plans.find_abandoned, lambda: plans.create("plan", "shop", "p1")):
            with pytest.raises(lockwatch.DatabaseError, match="a table `plans` that is not lockwatch's"):
                call()
        assert rows(earlier) == []


@pytest.mark.parametrize("change", ["UPDATE plans SET phase = 'b\x1b[2Jad'", "UPDATE plans SET state = 'b\x1b[2Jad'"])
def test_a_phase_or_state_that_is_not_known_is_an_error_that_names_the_plan(
    plans: PlanLifecycleService, url: str, change: str
) -> None:
    put(url, Phase.EXECUTE, PlanState.QUEUED)
    execute(url, change)
    with pytest.raises(lockwatch.DatabaseError, match=r"plan p1 cannot be read: 'b\\x1b\[2Jad' is not a valid"):
        plans.get("p1")


def test_an_outcome_that_is_not_known_is_an_error_that_names_the_run(plans: PlanLifecycleService, url: str) -> None:
    put(url, Phase.EXECUTE, PlanState.PROCESSING)
    execute(url, "UPDATE plan_runs SET outcome = 'bad'")
    with pytest.raises(lockwatch.DatabaseError, match="run 1 of a plan cannot be read: 'bad' is not a valid"):
        plans.history("p1")


def test_bytes_that_are_no_text_and_times_that_are_none_are_read(plans: PlanLifecycleService, url: str) -> None:
    put(url, Phase.EXECUTE, PlanState.PROCESSING)
    execute(url, "UPDATE plans SET name = CAST(x'ff41' AS TEXT), created_at = 'soon'")
    execute(url, "UPDATE plan_runs SET started_at = 'soon'")
    assert (plans.get("p1").name, plans.get("p1").created_at) == ("\udcffA", None)
    assert plans.history("p1")[0].started_at is None


def test_a_database_that_is_not_there_is_an_error_and_is_not_made(tmp_path: Path) -> None:
    with planning.connect(f"sqlite:///{tmp_path}/none.db") as plans:
        for call in (plans.list, lambda: plans.get("p1"), lambda: plans.create("plan", "shop")):
            with pytest.raises(lockwatch.DatabaseError):
                call()
    assert list(tmp_path.glob("none*")) == []


def test_an_engine_of_a_database_that_is_not_served_is_refused() -> None:
    with pytest.raises(lockwatch.ValidationError, match="engine"):
        PlanStore(sa.create_mock_engine("oracle://", print))  # type: ignore[arg-type]


def test_an_engine_of_the_caller_does_as_well(service: lockwatch.LockService, url: str) -> None:
    plans = PlanLifecycleService(service, sa.create_engine(url, poolclass=sa.NullPool))
    plans.create("plan", "shop", "p1")
    plans.advance("p1")
    assert plans.run_phase("p1", lambda _lease: None).state is PlanState.COMPLETE
