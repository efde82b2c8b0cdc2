"""The statements as calls on one connection: arguments in, locks out. Nothing is decided here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Final

from lockwatch.core.connection import Connection
from lockwatch.core.errors import DatabaseBusyError, TakenError
from lockwatch.core.model import Key, Lock, Row, as_text
from lockwatch.core.timestamps import from_text, name_moments, to_text, written

PAGE_SIZE: Final = 5000
"""How many rows a clean-up looks at in one transaction: others wait for no longer than that takes."""
FIRST: Final = -(2**63)
"""Before the least id: in a table that is not lockwatch's own an id may be anything."""


class LockTable:
    """The table of locks, seen through one connection."""

    __slots__ = ("_sql", "connection")

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._sql = connection.dialect.statements

    def now(self) -> datetime:
        """The moment, by the clock that judges."""
        ((text,),) = self.connection.rows(self._sql.now)
        return written(text)

    def insert(self, key: Key, owner_id: str, ttl_seconds: float) -> Lock | None:
        """A new lease that starts now; None if the resource has a row."""
        resource_type, resource_id = key
        try:
            rows = self.connection.rows(
                self._sql.insert,
                {"owner": owner_id, "type": resource_type, "resource": resource_id, "ttl": ttl_seconds},
            )
        except TakenError:
            return None
        if not rows:
            return None
        number, acquired, expires = rows[0]
        return Lock(
            id=number,
            owner_id=owner_id,
            resource_type=resource_type,
            resource_id=resource_id,
            acquired_at=written(acquired),
            expires_at=written(expires),
            expires_text=expires,
        )

    def find(self, key: Key) -> tuple[Lock, datetime] | None:
        """The resource's row, whatever its state, and the moment it was read."""
        rows = self.connection.rows(self._sql.find, {"type": key.resource_type, "resource": key.resource_id})
        if not rows:
            return None
        *row, now = rows[0]
        return Lock.from_row(row), written(now)

    def find_again(self, seen: Lock) -> Lock | None:
        """What is there now instead of a lock that was seen: the row with its id, or else of its resource."""
        rows: Sequence[Row] = ()
        if self._may_be_stored(seen.id):
            rows = self.connection.rows(self._sql.find_id, {"lock": seen.id})
        if not rows and self._may_be_stored(0, seen.resource_type, seen.resource_id):
            named = {"type": _bound(seen.resource_type), "resource": _bound(seen.resource_id)}
            rows = self.connection.rows(self._sql.find_stored, named)
        return Lock.from_row(rows[0]) if rows else None

    def of_owner(self, owner_id: str) -> list[Lock]:
        """All rows of one owner."""
        return [Lock.from_row(row) for row in self.connection.rows(self._sql.of_owner, {"owner": owner_id})]

    def each(self) -> Iterator[Row]:
        """All rows as one statement sees them, ordered by id, a few at a time."""
        return self.connection.each(self._sql.all)

    def all(self) -> tuple[Lock, ...]:
        """All rows, ordered by id."""
        return tuple(map(Lock.from_row, self.each()))

    def count_expired(self) -> int:
        """How many rows have expired."""
        now = self.now()
        known = [row for row in self.connection.rows(self._sql.count_expired, {"now": to_text(now)}) if _is_moment(row)]
        return sum(int(count) for _, count in known) + sum(lock.is_expired(now) for lock in self._unjudged())

    def delete_expired(self) -> int:
        """Delete the rows that have expired by now, a page at a time: how many."""
        now = self.now()
        deleted = 0
        after: object = FIRST
        while (last := self._end_of_page(after)) is not None:
            deleted += self._delete_expired({"after": after, "last": last, "now": to_text(now)}, now)
            after = last
        return deleted + self._end_each(self._unjudged(), now)

    def _end_of_page(self, after: object) -> object:
        size = PAGE_SIZE * self.connection.dialect.pages_at_once
        ((last,),) = self.connection.rows(self._sql.next_page, {"after": after, "size": size})
        return last

    def _delete_expired(self, page: dict[str, object], now: datetime) -> int:
        sql = self._sql
        if sql.expired_ids is not None:
            page["ids"] = [number for (number,) in self.connection.rows(sql.expired_ids, page)]
            if not page["ids"]:
                return 0
        try:
            return self._delete_page(page)
        except (DatabaseBusyError, _UnreadableError):
            if sql.maybe_expired is None:
                raise
            return self._end_each(map(Lock.from_row, self.connection.rows(sql.maybe_expired, page)), now)

    def _delete_page(self, page: dict[str, object]) -> int:
        if self._sql.expired_times is None:
            return self.connection.changes(self._sql.delete_expired, page)
        return self.connection.transact(lambda: self._delete_if_readable(page))

    def _delete_if_readable(self, page: dict[str, object]) -> int:
        self.connection.do(str(self._sql.one_snapshot))
        ((lines,),) = self.connection.rows(str(self._sql.expired_times), page)
        if lines is None:
            return 0
        if not name_moments(lines.split("\n")):
            raise _UnreadableError
        return self.connection.changes(self._sql.delete_expired, page)

    def _end_each(self, locks: Iterable[Lock], now: datetime) -> int:
        """End those that have expired, one by one: how many. What a transaction has locked is left for another time."""
        ended = 0
        for lock in locks:
            if lock.is_expired(now):
                with suppress(DatabaseBusyError):
                    ended += self.end(lock) is not None
        return ended

    def _unjudged(self) -> Iterator[Lock]:
        """The rows whose expiry is in a form that SQL cannot judge here."""
        after: object = FIRST
        while self._sql.unjudged is not None:
            rows = self.connection.rows(self._sql.unjudged, {"after": after, "size": PAGE_SIZE})
            yield from map(Lock.from_row, rows)
            if len(rows) < PAGE_SIZE:
                break
            after = rows[-1][0]

    def extend(self, lock: Lock, ttl_seconds: float, *, waits: bool = True) -> Lock | None:
        """That very lease with an expiry `ttl_seconds` from now; None if it changed since, or is not live.

        A row that another transaction has locked is waited for; if not `waits`, None at once or DatabaseBusyError.
        """
        if lock.expires_at is None:
            return None
        parameters = {**_very_row(lock), "live_until": to_text(lock.expires_at), "ttl": ttl_seconds}
        rows = self.connection.rows(self._sql.extend if waits else self._sql.extend_unlocked, parameters)
        if not rows:
            return None
        ((expires,),) = rows
        return replace(lock, expires_at=written(expires), expires_text=expires)

    def end(self, lock: Lock) -> datetime | None:
        """Delete that very row: the moment it was done, or None if it changed since."""
        rows = self.connection.rows(self._sql.end, _very_row(lock))
        return written(rows[0][0]) if rows else None

    def end_owned(self, key: Key, owner_id: str) -> bool | None:
        """Delete the owner's row: whether it was live; None if there is none whose expiry can be judged at once."""
        named = {"type": key.resource_type, "resource": key.resource_id, "owner": owner_id}
        rows = self.connection.rows(self._sql.end_owned, named)
        if not rows:
            return None
        stored, ended_at = rows[0]
        expires = from_text(as_text(stored))
        return expires is not None and written(ended_at) < expires

    def could_hold(self, lock: Lock) -> bool:
        """Whether there can be such a row: a lock that was made by hand may have what no column takes."""
        return self._may_be_stored(lock.id, lock.owner_id, lock.expires_text)

    def _may_be_stored(self, number: object, *texts: str) -> bool:
        dialect = self.connection.dialect
        if isinstance(number, int):
            fits = -(2**63) <= number < 2**63
        else:
            fits = dialect.holds_anything and isinstance(number, str) and _is_storable(number, as_bytes=False)
        return fits and all(_is_storable(text, as_bytes=dialect.holds_anything) for text in texts)


class _UnreadableError(Exception):
    """What looks like an expired time names no moment."""


def _is_moment(row: Row) -> bool:
    """Whether a time of a tally was judged by the database, or can be read."""
    return row[0] is None or from_text(row[0]) is not None


def _is_storable(text: str, *, as_bytes: bool) -> bool:
    try:
        text.encode("utf-8", "surrogateescape" if as_bytes else "strict")
    except UnicodeEncodeError:
        return False
    return as_bytes or "\0" not in text


def _very_row(lock: Lock) -> dict[str, object]:
    return {"lock": lock.id, "owner": _bound(lock.owner_id), "expires": _bound(lock.expires_text)}


def _bound(text: str) -> str | bytes:
    """Text as a driver takes it: bytes that were no text go back as the bytes they were."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape")
    return text
