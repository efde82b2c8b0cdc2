"""The statements as calls on an engine: arguments in, plans and runs out. Nothing is decided here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Engine, Executable, inspect
from sqlalchemy.exc import DBAPIError

from lockwatch.core.dialects import dialect_of
from lockwatch.core.errors import DatabaseError
from lockwatch.core.model import Lock
from lockwatch.core.text import clean
from lockwatch.core.timestamps import to_text
from lockwatch.plans import statements
from lockwatch.plans.errors import PlanNotFoundError
from lockwatch.plans.model import Phase, Plan, PlanRun, PlanState, RunOutcome, Stage
from lockwatch.plans.schema import plan_runs, plans

_OURS: Final = (plans, plan_runs)


class PlanStore:
    """The tables of plans. Reads take no lock; what is written belongs into one `transaction`."""

    def __init__(self, engine: Engine) -> None:
        self._dialect = dialect_of("engine", engine.dialect.name)
        self._engine = engine
        self._reader = engine.execution_options(isolation_level="AUTOCOMMIT")

    def is_there(self) -> bool:
        """Whether the database has these tables, and they are lockwatch's."""
        with self._translated(), self._reader.connect() as connection:
            return _are_ours(connection)

    def find(self, plan_id: str) -> Plan:
        """One plan.

        Raises:
            PlanNotFoundError: there is none.
        """
        with self._translated(), self._reader.connect() as connection:
            return find_in(connection, plan_id)

    def listed(self, project_id: str | None, phase: Phase | None, state: PlanState | None) -> tuple[Plan, ...]:
        """The plans of a project, in a phase, in a state (None: in any), the oldest first."""
        return tuple(map(Plan.from_row, self._rows(statements.listed(project_id, phase, state))))

    def runs(self, plan_id: str) -> tuple[PlanRun, ...]:
        """All runs of a plan, the oldest first."""
        return tuple(map(PlanRun.from_row, self._rows(statements.RUNS_OF, {"plan": plan_id})))

    def open_runs(self) -> tuple[PlanRun, ...]:
        """The runs under way that were not started by hand, the oldest first."""
        return tuple(map(PlanRun.from_row, self._rows(statements.OPEN_RUNS)))

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A connection in a transaction that may write from its start on; rolled back if the body raises."""
        with self._translated(), self._engine.begin() as connection:
            yield connection

    def _rows(self, statement: Executable, parameters: Mapping[str, object] | None = None) -> Sequence[Any]:
        with self._translated(), self._reader.connect() as connection:
            return connection.execute(statement, parameters).all()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            cause = error.orig if isinstance(error.orig, Exception) else error
            raise self._explained(cause) from cause

    def _explained(self, cause: Exception) -> DatabaseError:
        if not self._dialect.lacks(cause, "plan"):
            return self._dialect.translate(cause)
        with self._reader.connect() as connection:
            taken = sorted(set(inspect(connection).get_table_names()) & {table.name for table in _OURS})
        if not taken:
            return DatabaseError("the database has no tables of plans yet; `lockwatch db upgrade` makes them")
        names = " and ".join(f"`{name}`" for name in taken)
        return DatabaseError(
            f"this database has a table {names} that is not lockwatch's, so no plans ({clean(str(cause))})"
        )


def find_in(connection: Connection, plan_id: str) -> Plan:
    """One plan, as a connection sees it.

    Raises:
        PlanNotFoundError: there is none.
    """
    row = connection.execute(statements.FIND, {"plan": plan_id}).first()
    if row is None:
        raise PlanNotFoundError(plan_id)
    return Plan.from_row(row)


def insert(connection: Connection, plan: Plan, now: datetime) -> None:
    """A new plan, made and last changed now."""
    moment = to_text(now)
    connection.execute(
        statements.INSERT,
        {
            "id": plan.id,
            "project_id": plan.project_id,
            "name": plan.name,
            "phase": str(plan.phase),
            "state": str(plan.state),
            "created_at": moment,
            "updated_at": moment,
        },
    )


def move(connection: Connection, plan: Plan, to: Stage, reason: str | None, now: datetime) -> Plan | None:
    """The plan in another phase and state; None if it is not any more as it was read."""
    parameters = {
        "plan": plan.id,
        "from_phase": str(plan.phase),
        "from_state": str(plan.state),
        "to_phase": str(to.phase),
        "to_state": str(to.state),
        "reason": reason,
        "now": to_text(now),
    }
    if connection.execute(statements.MOVE, parameters).rowcount != 1:
        return None
    return replace(plan, phase=to.phase, state=to.state, error=reason, updated_at=now)


def begin_run(connection: Connection, plan: Plan, lock: Lock, *, is_manual: bool, now: datetime) -> None:
    """A run of the plan's phase, under a lock, that has not ended."""
    connection.execute(
        statements.BEGIN_RUN,
        {
            "plan_id": plan.id,
            "phase": str(plan.phase),
            "owner_id": lock.owner_id,
            "fence": lock.id,
            "is_manual": is_manual,
            "started_at": to_text(now),
        },
    )


def end_run(connection: Connection, plan: Plan, outcome: RunOutcome, now: datetime) -> None:
    """The end of the plan's open run, with the plan's error as its reason."""
    parameters = {"plan": plan.id, "how": str(outcome), "reason": plan.error, "now": to_text(now)}
    connection.execute(statements.END_RUN, parameters)


def _are_ours(connection: Connection) -> bool:
    inspector = inspect(connection)
    there = set(inspector.get_table_names())
    return all(
        table.name in there
        and {column["name"] for column in inspector.get_columns(table.name)} >= set(table.columns.keys())
        for table in _OURS
    )
