"""The databases that are known, by the names that SQLAlchemy gives them."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from lockwatch.core.dialect import Dialect
from lockwatch.core.errors import ValidationError

DIALECTS: Final = {"sqlite": "sqlite", "postgresql": "postgres", "mariadb": "mariadb", "mysql": "mariadb"}
"""The module of each. Only the one that is used is loaded."""
DRIVERS: Final = {"postgresql": "psycopg", "mariadb": "pymysql", "mysql": "pymysql"}
"""The one driver of each server whose connections a service can use. A guard takes any."""


def dialect_of(argument: str, name: str) -> Dialect:
    """The dialect of that name, which `argument` brought.

    Raises:
        ValidationError: lockwatch does not know it.
    """
    if name not in DIALECTS:
        raise ValidationError(argument, name, f"must be of one of these databases: {', '.join(DIALECTS)}")
    dialect: Dialect = import_module(f"lockwatch.core.{DIALECTS[name]}").DIALECT
    return dialect
