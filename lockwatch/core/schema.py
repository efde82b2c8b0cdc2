"""The table of locks: the only place with column types."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Index, Integer, MetaData, String, Table, UniqueConstraint

from lockwatch.core.model import MAX_NAME_LENGTH, MAX_TYPE_LENGTH

metadata = MetaData()

locks: Final = Table(
    "locks",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True, nullable=False),
    Column("owner_id", String(MAX_NAME_LENGTH), nullable=False),
    Column("resource_type", String(MAX_TYPE_LENGTH), nullable=False),
    Column("resource_id", String(MAX_NAME_LENGTH), nullable=False),
    Column("acquired_at", String(30), nullable=False),
    Column("expires_at", String(30), nullable=False),
    UniqueConstraint("resource_type", "resource_id", name="uq_locks_resource"),
    Index("ix_locks_expires_at", "expires_at"),
    Index("ix_locks_owner_id", "owner_id"),
    sqlite_autoincrement=True,
)

COLUMNS: Final = tuple(column.name for column in locks.columns)
