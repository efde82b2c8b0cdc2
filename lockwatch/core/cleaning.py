"""Clean-up: the rows that have expired are counted, or deleted a page at a time.

What SQL can judge is judged and deleted in few statements; the rest, of which there is hardly ever any, row by row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any, Final

from lockwatch.core.errors import DatabaseBusyError
from lockwatch.core.model import Lock
from lockwatch.core.table import LockTable
from lockwatch.core.timestamps import from_text, name_moments, to_text

PAGE_SIZE: Final = 5000
"""How many rows are looked at in one transaction, times `pages_at_once`: others wait for no longer than that takes."""
LONG_RUN: Final = 1000
"""From how many rows on a run of ids is worth a statement of its own, and so a commit."""
FIRST: Final = -(2**63)
"""Before the least id: in a table that is not lockwatch's own an id may be anything."""


def count_expired(table: LockTable) -> int:
    """How many rows have expired."""
    now = table.now()
    tally = table.connection.rows(table.statements.count_expired, {"now": to_text(now)})
    known = sum(int(count) for expiry, count in tally if expiry is None or from_text(expiry) is not None)
    return known + sum(lock.is_expired(now) for lock in _unjudged(table))


def delete_expired(table: LockTable) -> int:
    """Delete the rows that have expired by now: how many. What a transaction has locked is left for another time."""
    now = table.now()
    judged = sum(
        _delete(table, sql, some, now) for page in _pages(table, to_text(now)) for sql, some in _deletions(table, page)
    )
    return judged + _end_each(table, _unjudged(table), now)


def _pages(table: LockTable, now: str) -> Iterator[dict[str, Any]]:
    size = PAGE_SIZE * table.connection.dialect.pages_at_once
    after: object = FIRST
    while True:
        ((last,),) = table.connection.rows(table.statements.next_page, {"after": after, "size": size})
        if last is None:
            return
        yield {"after": after, "last": last, "now": now}
        after = last


def _deletions(table: LockTable, page: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What deletes the expired rows of a page."""
    sql = table.statements
    if sql.expired_runs is None:
        yield sql.delete_expired, page
        return
    scattered: list[int] = []
    for first, last in table.connection.rows(sql.expired_runs, page):
        if last - first + 1 >= LONG_RUN:
            yield sql.delete_expired, {**page, "after": first - 1, "last": last}
        else:
            scattered += range(first, last + 1)
    if scattered:
        yield str(sql.delete_listed), {**page, "ids": scattered}


def _delete(table: LockTable, sql: str, some: dict[str, Any], now: datetime) -> int:
    connection, statements = table.connection, table.statements
    try:
        if statements.expired_times is None:
            return connection.changes(sql, some)
        return connection.transact(partial(_delete_if_readable, table, sql, some))
    except (DatabaseBusyError, _UnreadableError):
        if statements.maybe_expired is None:
            raise
        return _end_each(table, map(Lock.from_row, connection.rows(statements.maybe_expired, some)), now)


def _delete_if_readable(table: LockTable, sql: str, some: dict[str, Any]) -> int:
    connection, statements = table.connection, table.statements
    connection.do(str(statements.one_snapshot))
    ((lines,),) = connection.rows(str(statements.expired_times), some)
    if lines is None:
        return 0
    if not name_moments(lines.split("\n")):
        raise _UnreadableError
    return connection.changes(sql, some)


class _UnreadableError(Exception):
    """What looks like an expired time names no moment."""


def _end_each(table: LockTable, locks: Iterable[Lock], now: datetime) -> int:
    """End those that have expired, one by one: how many."""
    ended = 0
    for lock in locks:
        if lock.is_expired(now):
            with suppress(DatabaseBusyError):
                ended += table.end(lock) is not None
    return ended


def _unjudged(table: LockTable) -> Iterator[Lock]:
    """The rows whose expiry is in a form that SQL cannot judge here."""
    after: object = FIRST
    while table.statements.unjudged is not None:
        rows = table.connection.rows(table.statements.unjudged, {"after": after, "size": PAGE_SIZE})
        yield from map(Lock.from_row, rows)
        if len(rows) < PAGE_SIZE:
            break
        after = rows[-1][0]
