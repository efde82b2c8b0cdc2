"""The table of locks: the only place with column types."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Column, Identity, Index, Integer, MetaData, String, Table, UniqueConstraint

from lockwatch.core.model import MAX_NAME_LENGTH, MAX_TYPE_LENGTH

metadata = MetaData()

EXACT: Final = "utf8mb4_nopad_bin"
"""MariaDB's collation of texts that are equal only if their bytes are."""
OPTIONS: Final = {"mysql_engine": "InnoDB", "mysql_charset": "utf8mb4", "mysql_collate": EXACT}
OPTIONS_TOO: Final = {name.replace("mysql", "mariadb"): value for name, value in OPTIONS.items()}


def text_column(length: int) -> String:
    """Text of at most so many characters, that is equal only if its bytes are."""
    return String(length).with_variant(String(length, collation=EXACT), "mysql", "mariadb")


NUMBER: Final = BigInteger().with_variant(Integer, "sqlite")
"""64 bits: refused inserts burn numbers on servers. SQLite's INTEGER has them, and only that counts up."""

locks: Final = Table(
    "locks",
    metadata,
    Column("id", NUMBER, Identity(), primary_key=True, nullable=False),
    Column("owner_id", text_column(MAX_NAME_LENGTH), nullable=False),
    Column("resource_type", text_column(MAX_TYPE_LENGTH), nullable=False),
    Column("resource_id", text_column(MAX_NAME_LENGTH), nullable=False),
    Column("acquired_at", text_column(30), nullable=False),
    Column("expires_at", text_column(30), nullable=False),
    UniqueConstraint("resource_type", "resource_id", name="uq_locks_resource"),
    Index("ix_locks_expires_at", "expires_at"),
    Index("ix_locks_owner_id", "owner_id"),
    sqlite_autoincrement=True,
    **OPTIONS,
    **OPTIONS_TOO,
)

COLUMNS: Final = tuple(column.name for column in locks.columns)
