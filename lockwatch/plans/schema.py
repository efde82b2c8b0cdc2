"""The tables of plans and of their runs, beside the table of locks in the same database."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Table

from lockwatch.core.model import MAX_NAME_LENGTH
from lockwatch.core.schema import NUMBER, TABLE_OPTIONS, metadata, text_column
from lockwatch.plans.model import MAX_REASON_LENGTH

plans: Final = Table(
    "plans",
    metadata,
    Column("id", text_column(MAX_NAME_LENGTH), primary_key=True, nullable=False),
    Column("project_id", text_column(MAX_NAME_LENGTH), nullable=False),
    Column("name", text_column(MAX_NAME_LENGTH), nullable=False),
    Column("phase", text_column(20), nullable=False),
    Column("state", text_column(20), nullable=False),
    Column("error", text_column(MAX_REASON_LENGTH)),
    Column("created_at", text_column(30), nullable=False),
    Column("updated_at", text_column(30), nullable=False),
    Index("ix_plans_project_id", "project_id"),
    Index("ix_plans_state", "state"),
    **TABLE_OPTIONS,
)

plan_runs: Final = Table(
    "plan_runs",
    metadata,
    Column("id", NUMBER, primary_key=True, autoincrement=True, nullable=False),
    Column("plan_id", text_column(MAX_NAME_LENGTH), ForeignKey("plans.id", name="fk_plan_runs_plan"), nullable=False),
    Column("phase", text_column(20), nullable=False),
    Column("owner_id", text_column(MAX_NAME_LENGTH), nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("is_manual", Boolean, nullable=False),
    Column("started_at", text_column(30), nullable=False),
    Column("ended_at", text_column(30)),
    Column("outcome", text_column(20)),
    Column("error", text_column(MAX_REASON_LENGTH)),
    Index("ix_plan_runs_plan_id", "plan_id"),
    Index("ix_plan_runs_ended_at", "ended_at"),
    **TABLE_OPTIONS,
)
