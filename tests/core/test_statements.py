from __future__ import annotations

import re
from dataclasses import replace

import pytest
from sqlalchemy import ColumnElement, Executable, String, Text, bindparam, cast, func, literal_column
from sqlalchemy.dialects.sqlite.base import SQLiteDialect

from lockwatch.core.schema import locks
from lockwatch.core.sqlite_statements import OF_RESOURCE, STATEMENTS
from lockwatch.core.statements import COLUMNS
from lockwatch.core.words import ROW, Words, common, compiler


def _equals(column: ColumnElement[str], name: str) -> ColumnElement[bool]:
    return column == bindparam(name)


def _equals_bytes(column: ColumnElement[str], name: str) -> ColumnElement[bool]:
    stored = func.coalesce(cast(column, Text), literal_column("''"))
    return stored == cast(bindparam(name, type_=Text), Text)


SQLITES = Words(now=func.lockwatch_now(type_=String), equals=_equals, equals_bytes=_equals_bytes)


def _compiled(statement: Executable) -> str:
    return compiler(SQLiteDialect(paramstyle="named"))(statement)


def _plain(sql: str) -> str:
    """Without the names that SQLAlchemy gives to what needs none, and with one blank for many."""
    return " ".join(re.sub(r" AS \w+_\d+", "", sql).replace("anon_1", "page").split()).replace(" AS page", "")


@pytest.mark.parametrize("name", common(SQLITES, _compiled))
def test_sqlite_says_alike_what_all_databases_do(name: str) -> None:
    assert _plain(getattr(STATEMENTS, name)) == _plain(common(SQLITES, _compiled)[name])


def test_the_comparison_can_fail() -> None:
    other = replace(SQLITES, equals=lambda column, name: column >= bindparam(name))
    assert _plain(STATEMENTS.find) != _plain(common(other, _compiled)["find"])


def test_a_guard_on_sqlite_reads_what_a_find_does_without_the_moment() -> None:
    assert _plain(OF_RESOURCE) == _plain(STATEMENTS.find).replace(", lockwatch_now()", "")


def test_the_table_has_the_columns_that_statements_name() -> None:
    assert tuple(column.name for column in locks.columns) == COLUMNS == tuple(column.name for column in ROW)
