"""The table of locks: made, or adopted from a program that used the same six columns.

A table that is adopted keeps its rows and ids. From then on its ids never come back, and every rule of the schema
holds: SQLite's is rebuilt for that (AUTOINCREMENT), a server's altered. One that does not fit is refused by the name
of what differs.
"""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

from lockwatch import adopting
from lockwatch.core.errors import DatabaseError
from lockwatch.core.schema import NUMBER, TABLE_OPTIONS, text_column
from lockwatch.core.text import clean

revision = "m4_001_concurrency_locks"
down_revision = None
branch_labels = None
depends_on = None

_COLUMNS = ("id", "owner_id", "resource_type", "resource_id", "acquired_at", "expires_at")
_ADOPTED = "lockwatch_adopted_locks"


def upgrade() -> None:
    """Make the table, or adopt the one that is there."""
    connection = op.get_bind()
    is_file = connection.dialect.name == "sqlite"
    found = _found(connection) if is_file else adopting.differences(connection)
    differences = clean("; ".join(found)) if found is not None else None
    if differences:
        raise DatabaseError(f"the table `locks` is not lockwatch's, and was left as it is: {differences}")
    if differences is None:
        _create("locks")
    elif is_file:
        _rebuild(connection)
    else:
        adopting.adopt(connection)
    for name, column in adopting.missing_indexes(connection):
        op.create_index(name, "locks", [column])


def downgrade() -> None:
    """Drop the table with its locks."""
    op.drop_table("locks")


def _found(connection: sa.Connection) -> Iterator[str] | None:
    return _differences(connection) if _exists(connection) else None


def _exists(connection: sa.Connection) -> bool:
    return bool(connection.scalar(sa.text("SELECT count(*) FROM sqlite_master WHERE lower(name) = 'locks'")))


def _differences(connection: sa.Connection) -> Iterator[str]:
    find = sa.text("SELECT type, name FROM sqlite_master WHERE lower(name) = 'locks'")
    kind, name = connection.execute(find).one()
    if kind != "table":
        yield f"it is a {kind}"
    if name != "locks":
        yield f"its name is written {name}"
    if (kind, name) != ("table", "locks"):
        return
    inspector = sa.inspect(connection)
    types = {column["name"]: column["type"] for column in inspector.get_columns("locks")}
    yield from (f"it has no column {name}" for name in _COLUMNS if name not in types)
    yield from (f"it has a column {name} of its own" for name in types if name not in _COLUMNS)
    if set(types) != set(_COLUMNS):
        return
    if inspector.get_pk_constraint("locks")["constrained_columns"] != ["id"] or type(types["id"]) is not sa.INTEGER:
        yield "id is not an INTEGER PRIMARY KEY"
    yield from (f"{name} is {types[name]}, not text" for name in _COLUMNS[1:] if not isinstance(types[name], sa.String))
    if connection.scalar(sa.text("SELECT count(*) FROM locks WHERE typeof(id) NOT IN ('integer', 'null')")):
        yield "an id is not an integer"
    if {"resource_type", "resource_id"} not in _unique_keys(connection):
        yield "it has no unique constraint on (resource_type, resource_id)"
    yield from (f"{name} has a NULL" for name in _COLUMNS if _has_null(connection, name))
    triggers = connection.scalar(
        sa.text("SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND lower(tbl_name) = 'locks'")
    )
    if triggers:
        yield "it has triggers, which a rebuild would lose"


def _unique_keys(connection: sa.Connection) -> list[set[str]]:
    # Asked of SQLite itself: a reflection that reads the table's SQL does not see every way of writing it.
    indexes = connection.scalars(
        sa.text("""SELECT name FROM pragma_index_list('locks') WHERE "unique" AND NOT partial""")
    )
    columns = sa.text("SELECT name FROM pragma_index_info(:index)")
    return [set(connection.scalars(columns, {"index": index})) for index in indexes.all()]


def _has_null(connection: sa.Connection, name: str) -> bool:
    column: sa.ColumnClause[object] = sa.column(name)
    nulls = sa.select(column).select_from(sa.table("locks")).where(column.is_(None)).limit(1)
    return connection.execute(nulls).first() is not None


def _create(name: str) -> None:
    op.create_table(
        name,
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True, nullable=False),
        sa.Column("owner_id", text_column(255), nullable=False),
        sa.Column("resource_type", text_column(50), nullable=False),
        sa.Column("resource_id", text_column(255), nullable=False),
        sa.Column("acquired_at", text_column(30), nullable=False),
        sa.Column("expires_at", text_column(30), nullable=False),
        sa.UniqueConstraint("resource_type", "resource_id", name="uq_locks_resource"),
        **TABLE_OPTIONS,
    )


def _rebuild(connection: sa.Connection) -> None:
    _create(_ADOPTED)
    names = ", ".join(_COLUMNS)
    greatest = _greatest_id(connection)
    op.execute(f"INSERT INTO {_ADOPTED} ({names}) SELECT {names} FROM locks")  # nosec B608
    op.execute("PRAGMA legacy_alter_table = ON")  # or a view on the table would stop its renaming
    op.drop_table("locks")
    op.rename_table(_ADOPTED, "locks")
    op.execute("PRAGMA legacy_alter_table = OFF")
    op.execute("DELETE FROM sqlite_sequence WHERE name IN ('locks')")
    op.execute(sa.text("INSERT INTO sqlite_sequence (name, seq) VALUES ('locks', :seq)").bindparams(seq=greatest))


def _greatest_id(connection: sa.Connection) -> int:
    """The greatest id that was ever given, as far as can be known: it must not come back."""
    known = [connection.scalar(sa.text("SELECT max(id) FROM locks")) or 0]
    if connection.scalar(sa.text("SELECT count(*) FROM sqlite_master WHERE name = 'sqlite_sequence'")):
        given = connection.scalar(sa.text("SELECT max(seq) FROM sqlite_sequence WHERE lower(name) = 'locks'"))
        known.append(given or 0)
    return max(known)
