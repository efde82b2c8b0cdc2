"""The tables of plans and of their runs.

A database may have a table of one of these names already, an application's own. It is left as it is, both are then not
made, and lockwatch's plans are not to be had there; its locks are.
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
    if not _columns("plans") and not _columns("plan_runs"):
        _create_plans()
        _create_runs()


def downgrade() -> None:
    """Drop both, unless they are another program's."""
    if (_columns("plans"), _columns("plan_runs")) == (_PLANS, _RUNS):
        op.drop_table("plan_runs")
        op.drop_table("plans")


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
    op.create_index("ix_plans_project_id", "plans", ["project_id"])
    op.create_index("ix_plans_state", "plans", ["state"])


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
    op.create_index("ix_plan_runs_plan_id", "plan_runs", ["plan_id"])
    op.create_index("ix_plan_runs_ended_at", "plan_runs", ["ended_at"])
