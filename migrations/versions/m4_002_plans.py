"""The tables of plans and of their runs.

A database may have a table of one of these names already, an application's own. It is left as it is, both are then not
made, and lockwatch's plans are not to be had there; its locks are. What an upgrade left that was broken off, on a
database whose tables are in no transaction, is ours and completed.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from lockwatch.core.schema import NUMBER, TABLE_OPTIONS, text_column

revision = "m4_002_plans"
down_revision = "m4_001_concurrency_locks"
branch_labels = None
depends_on = None

_PLANS = {"id", "project_id", "name", "phase", "state", "error", "created_at", "updated_at"}
_RUNS = {
    "id", "plan_id", "phase", "owner_id", "fence", "is_manual", "started_at", "ended_at", "outcome", "error",
}  # fmt: skip


def upgrade() -> None:
    """Make both, unless one of the names is taken."""
    plans, runs = _columns("plans"), _columns("plan_runs")
    if not _may_be_ours(plans, runs):
        return
    if not plans:
        _create_plans()
    if not runs:
        _create_runs()
    _create_indexes("plans", "project_id", "state")
    _create_indexes("plan_runs", "plan_id", "ended_at")


def downgrade() -> None:
    """Drop both, unless they are another program's."""
    plans, runs = _columns("plans"), _columns("plan_runs")
    if _may_be_ours(plans, runs):
        for table, columns in (("plan_runs", runs), ("plans", plans)):
            if columns:
                op.drop_table(table)


def _may_be_ours(plans: set[str], runs: set[str]) -> bool:
    return plans in (set(), _PLANS) and runs in (set(), _RUNS)


def _columns(table: str) -> set[str]:
    """The columns of a table or view, whatever the case of its name; none if it is not there."""
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        return set(connection.scalars(sa.text("SELECT name FROM pragma_table_info(:name)"), {"name": table}))
    inspector = sa.inspect(connection)
    return {column["name"] for column in inspector.get_columns(table)} if inspector.has_table(table) else set()


def _create_plans() -> None:
    op.create_table(
        "plans",
        sa.Column("id", text_column(255), primary_key=True, nullable=False),
        sa.Column("project_id", text_column(255), nullable=False),
        sa.Column("name", text_column(255), nullable=False),
        sa.Column("phase", text_column(20), nullable=False),
        sa.Column("state", text_column(20), nullable=False),
        sa.Column("error", text_column(1000)),
        sa.Column("created_at", text_column(30), nullable=False),
        sa.Column("updated_at", text_column(30), nullable=False),
        **TABLE_OPTIONS,
    )


def _create_runs() -> None:
    op.create_table(
        "plan_runs",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True, nullable=False),
        sa.Column("plan_id", text_column(255), sa.ForeignKey("plans.id", name="fk_plan_runs_plan"), nullable=False),
        sa.Column("phase", text_column(20), nullable=False),
        sa.Column("owner_id", text_column(255), nullable=False),
        sa.Column("fence", sa.BigInteger, nullable=False),
        sa.Column("is_manual", sa.Boolean, nullable=False),
        sa.Column("started_at", text_column(30), nullable=False),
        sa.Column("ended_at", text_column(30)),
        sa.Column("outcome", text_column(20)),
        sa.Column("error", text_column(1000)),
        **TABLE_OPTIONS,
    )


def _create_indexes(table: str, *columns: str) -> None:
    there = {found["name"] for found in sa.inspect(op.get_bind()).get_indexes(table)}
    for column in columns:
        if f"ix_{table}_{column}" not in there:
            op.create_index(f"ix_{table}_{column}", table, [column])
