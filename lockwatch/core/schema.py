"""The table of locks: the only place with column types."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, String, Table, UniqueConstraint

from lockwatch.core.model import MAX_NAME_LENGTH, MAX_TYPE_LENGTH

metadata = MetaData()

EXACT: Final = "utf8mb4_nopad_bin"
"""MariaDB's collation of texts that are equal only if their bytes are."""
TABLE_OPTIONS: Final[dict[str, Any]] = {
    "sqlite_autoincrement": True,
    **{f"{name}_engine": "InnoDB" for name in ("mysql", "mariadb")},
    **{f"{name}_charset": "utf8mb4" for name in ("mysql", "mariadb")},
    **{f"{name}_collate": EXACT for name in ("mysql", "mariadb")},
}
"""What every table is made with, each database heeding its own."""


def text_column(length: int) -> String:
    """Text of at most so many characters, that is equal only if its bytes are."""
    return String(length).with_variant(String(length, collation=EXACT), "mysql", "mariadb")


NUMBER: Final = BigInteger().with_variant(Integer, "sqlite")
"""64 bits: refused inserts burn numbers on servers. SQLite's INTEGER has them, and only that counts up."""

locks: Final = Table(
    "locks",
    metadata,
    Column("id", NUMBER, primary_key=True, autoincrement=True, nullable=False),
    Column("owner_id", text_column(MAX_NAME_LENGTH), nullable=False),
    Column("resource_type", text_column(MAX_TYPE_LENGTH), nullable=False),
    Column("resource_id", text_column(MAX_NAME_LENGTH), nullable=False),
    Column("acquired_at", text_column(30), nullable=False),
    Column("expires_at", text_column(30), nullable=False),
    UniqueConstraint("resource_type", "resource_id", name="uq_locks_resource"),
    Index("ix_locks_expires_at", "expires_at"),
    Index("ix_locks_owner_id", "owner_id"),
    **TABLE_OPTIONS,
)
