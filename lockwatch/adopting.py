"""Adopting a table `locks` of another program on a server: in place, with its rows and ids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sqlalchemy import BigInteger, Connection, Inspector, Integer, String, inspect, text
from sqlalchemy.exc import NoSuchTableError

from lockwatch.core.schema import EXACT

LENGTHS: Final = {"owner_id": 255, "resource_type": 50, "resource_id": 255, "acquired_at": 30, "expires_at": 30}
"""The columns of text, and how many characters each holds."""
COLUMNS: Final = ("id", *LENGTHS)

_KEY: Final = {"resource_type", "resource_id"}
_KEY_NAME: Final = "uq_locks_resource"
_IS_PLAIN: Final = """
SELECT indimmediate AND indnatts = 2 AND NOT EXISTS (
    SELECT FROM pg_attribute, unnest(indkey::int2[], indcollation::oid[]) AS part (number, compared_as)
    WHERE attrelid = indrelid AND attnum = part.number AND attcollation <> part.compared_as)
FROM pg_index WHERE indexrelid = to_regclass(:key)
"""
"""Whether a unique key of PostgreSQL decides at once, of the two columns alone, as they compare themselves."""


def differences(connection: Connection) -> Iterator[str] | None:
    """What keeps the table from being adopted, in words; None if there is no such table."""
    inspector = inspect(connection)
    if not inspector.has_table("locks"):
        return None
    return _differences(connection, inspector)


def _differences(connection: Connection, inspector: Inspector) -> Iterator[str]:
    if "locks" not in inspector.get_table_names():
        yield "it is a view"
        return
    types = {column["name"]: column["type"] for column in inspector.get_columns("locks")}
    yield from (f"it has no column {name}" for name in COLUMNS if name not in types)
    yield from (f"it has a column {name} of its own" for name in types if name not in COLUMNS)
    if set(types) != set(COLUMNS):
        return
    if inspector.get_pk_constraint("locks")["constrained_columns"] != ["id"] or not _is_number(types["id"]):
        yield "id is not a primary key of whole numbers"
    yield from (f"{name} is {types[name]}, not text" for name in LENGTHS if not isinstance(types[name], String))
    if not _unique_keys(inspector):
        yield "it has no unique constraint on (resource_type, resource_id)"
    for name, length in LENGTHS.items():
        if connection.scalar(text(f"SELECT 1 FROM locks WHERE {name} IS NULL LIMIT 1")):  # noqa: S608  # nosec B608
            yield f"{name} has a NULL"
        too_long = f"SELECT 1 FROM locks WHERE char_length({name}) > {length} LIMIT 1"  # noqa: S608  # nosec B608
        if isinstance(types[name], String) and connection.scalar(text(too_long)):
            yield f"{name} has a text of more than {length} characters"


def _is_number(kind: object) -> bool:
    return isinstance(kind, Integer | BigInteger)


def _unique_keys(inspector: Inspector) -> list[tuple[str, bool]]:
    """The names of the unique keys on the resource, and whether each is a constraint."""
    constraints = [
        found["name"] for found in inspector.get_unique_constraints("locks") if set(found["column_names"]) == _KEY
    ]
    indexes = [
        found["name"]
        for found in inspector.get_indexes("locks")
        if found["unique"]
        and set(found["column_names"]) == _KEY
        and not found.get("dialect_options", {}).get("postgresql_where")
    ]
    names = {str(name): True for name in constraints} | {
        str(name): False for name in indexes if name not in constraints
    }
    return sorted(names.items(), key=lambda key: key[0] != _KEY_NAME)


def adopt(connection: Connection) -> None:
    """Make a table that fits ours: types, its key's name, and ids that are tokens from then on."""
    keys = _unique_keys(inspect(connection))
    adopting = _adopt_postgres if connection.dialect.name == "postgresql" else _adopt_mariadb
    for change in adopting(connection, *keys[0]):
        connection.exec_driver_sql(change)


def missing_indexes(connection: Connection) -> list[tuple[str, str]]:
    """Our indexes that the table lacks: name and column."""
    try:
        names = {found["name"] for found in inspect(connection).get_indexes("locks")}
    except NoSuchTableError:
        names = set()
    wanted = (("ix_locks_expires_at", "expires_at"), ("ix_locks_owner_id", "owner_id"))
    return [index for index in wanted if index[0] not in names]


def _adopt_postgres(connection: Connection, key: str, is_constraint: bool) -> Iterator[str]:
    quoted = connection.dialect.identifier_preparer.quote(key)
    is_plain = connection.scalar(text(_IS_PLAIN), {"key": quoted})
    sequence = connection.scalar(text("SELECT pg_get_serial_sequence('locks', 'id')"))
    known: list[Any] = [connection.scalar(text("SELECT max(id) FROM locks"))]
    if sequence is None:
        sequence = "lockwatch_fences"
        yield f"CREATE SEQUENCE {sequence}"
        yield f"ALTER SEQUENCE {sequence} OWNED BY locks.id"
        yield f"ALTER TABLE locks ALTER COLUMN id SET DEFAULT nextval('{sequence}')"
    else:
        known.append(connection.scalar(text(f"SELECT last_value FROM {sequence}")))  # noqa: S608  # nosec B608
    changes = [f"ALTER COLUMN {name} TYPE VARCHAR({length})" for name, length in _other_lengths(connection)]
    changes += [f"ALTER COLUMN {name} SET NOT NULL" for name in COLUMNS]
    if not isinstance(_columns(connection)["id"]["type"], BigInteger):
        changes.append("ALTER COLUMN id TYPE BIGINT")
    yield f"ALTER TABLE locks {', '.join(changes)}"
    yield f"ALTER SEQUENCE {sequence} AS BIGINT INCREMENT 1 MINVALUE 1 NO MAXVALUE START 1 RESTART 1 CACHE 1 NO CYCLE"
    yield "ALTER TABLE locks SET LOGGED"  # after a crash the rows and ids of one that is not would come back
    greatest = max(number or 0 for number in known)
    yield f"SELECT setval('{sequence}', {greatest + 1}, false)"
    if not is_plain:
        yield f"ALTER TABLE locks DROP CONSTRAINT {quoted}" if is_constraint else f"DROP INDEX {quoted}"
        yield f"ALTER TABLE locks ADD CONSTRAINT {_KEY_NAME} UNIQUE (resource_type, resource_id)"
    elif not is_constraint:
        yield f"ALTER TABLE locks ADD CONSTRAINT {_KEY_NAME} UNIQUE USING INDEX {quoted}"
    elif key != _KEY_NAME:
        yield f"ALTER TABLE locks RENAME CONSTRAINT {quoted} TO {_KEY_NAME}"


def _adopt_mariadb(connection: Connection, key: str, _is_constraint: bool) -> Iterator[str]:
    quoted = connection.dialect.identifier_preparer.quote
    find = (
        "SELECT auto_increment FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'locks'"
    )
    next_id = connection.scalar(text(find)) or 1
    greatest = connection.scalar(text("SELECT max(id) FROM locks")) or 0
    changes = ["MODIFY id BIGINT NOT NULL AUTO_INCREMENT"]
    exact = f"CHARACTER SET utf8mb4 COLLATE {EXACT}"
    changes += [f"MODIFY {name} VARCHAR({length}) {exact} NOT NULL" for name, length in LENGTHS.items()]
    if key != _KEY_NAME:
        changes += [f"DROP INDEX {quoted(key)}", f"ADD CONSTRAINT {_KEY_NAME} UNIQUE (resource_type, resource_id)"]
    changes += [f"DEFAULT {exact}", "ENGINE = InnoDB", f"AUTO_INCREMENT = {max(next_id, greatest + 1)}"]
    yield f"ALTER TABLE locks {', '.join(changes)}"


def _columns(connection: Connection) -> dict[str, Any]:
    return {column["name"]: column for column in inspect(connection).get_columns("locks")}


def _other_lengths(connection: Connection) -> list[tuple[str, int]]:
    columns = _columns(connection)
    return [
        (name, length)
        for name, length in LENGTHS.items()
        if (str(columns[name]["type"].compile(connection.dialect)) != f"VARCHAR({length})")
    ]
