"""How a guard on a server reads a lease's row on a caller's connection, which may know few of the characters in it.

So text goes both ways in hexadecimal digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import ColumnElement, Select, select

from lockwatch.core.model import Lock, Row, as_text
from lockwatch.core.schema import locks
from lockwatch.core.words import ROW, Compare


def held_row(in_hex: Callable[[ColumnElement[Any]], ColumnElement[str]], equals: Compare) -> Select[Any]:
    """The row of `type` and `resource`, for the transaction alone: its id and its text `in_hex`."""
    of_resource = (equals(locks.c.resource_type, "type"), equals(locks.c.resource_id, "resource"))
    return select(locks.c.id, *map(in_hex, ROW[1:])).where(*of_resource).with_for_update()


def key_in_hex(lock: Lock) -> dict[str, str]:
    """`type` and `resource` of a lock."""
    return {"type": lock.resource_type.encode().hex(), "resource": lock.resource_id.encode().hex()}


def out_of_hex(row: Row | None) -> Row | None:
    """Such a row with the bytes that its text is."""
    if row is None:
        return None
    number, *cells = row
    return (number, *(cell if cell is None else bytes.fromhex(as_text(cell)) for cell in cells))
