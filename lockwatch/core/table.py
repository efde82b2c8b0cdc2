"""The statements as calls on one connection: arguments in, locks out. Nothing is decided here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from lockwatch.core.connection import Connection
from lockwatch.core.errors import TakenError
from lockwatch.core.model import Key, Lock, Row, as_text
from lockwatch.core.timestamps import from_text, to_text, written


class LockTable:
    """The table of locks, seen through one connection."""

    __slots__ = ("connection", "statements")

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.statements = connection.dialect.statements

    def now(self) -> datetime:
        """The moment, by the clock that judges."""
        ((text,),) = self.connection.rows(self.statements.now)
        return written(text)

    def insert(self, key: Key, owner_id: str, ttl_seconds: float) -> Lock | None:
        """A new lease that starts now; None if the resource has a row."""
        resource_type, resource_id = key
        try:
            rows = self.connection.rows(
                self.statements.insert,
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
        rows = self.connection.rows(self.statements.find, {"type": key.resource_type, "resource": key.resource_id})
        if not rows:
            return None
        *row, now = rows[0]
        return Lock.from_row(row), written(now)

    def find_again(self, seen: Lock) -> Lock | None:
        """What is there now instead of a lock that was seen: the row with its id, or else of its resource."""
        rows: Sequence[Row] = ()
        if self._may_be_stored(seen.id):
            rows = self.connection.rows(self.statements.find_id, {"lock": seen.id})
        if not rows and self._may_be_stored(0, seen.resource_type, seen.resource_id):
            named = {"type": _bound(seen.resource_type), "resource": _bound(seen.resource_id)}
            rows = self.connection.rows(self.statements.find_stored, named)
        return Lock.from_row(rows[0]) if rows else None

    def of_owner(self, owner_id: str) -> list[Lock]:
        """All rows of one owner."""
        return [Lock.from_row(row) for row in self.connection.rows(self.statements.of_owner, {"owner": owner_id})]

    def each(self) -> Iterator[Row]:
        """All rows as one statement sees them, ordered by id, a few at a time."""
        return self.connection.each(self.statements.all)

    def all(self) -> tuple[Lock, ...]:
        """All rows, ordered by id."""
        return tuple(map(Lock.from_row, self.each()))

    def extend(self, lock: Lock, ttl_seconds: float, *, waits: bool = True) -> Lock | None:
        """That very lease with an expiry `ttl_seconds` from now; None if it changed since, or is not live.

        A row that another transaction has locked is waited for; if not `waits`, None at once or DatabaseBusyError.
        """
        if lock.expires_at is None:
            return None
        parameters = {**_very_row(lock), "live_until": to_text(lock.expires_at), "ttl": ttl_seconds}
        rows = self.connection.rows(self.statements.extend if waits else self.statements.extend_unlocked, parameters)
        if not rows:
            return None
        ((expires,),) = rows
        return replace(lock, expires_at=written(expires), expires_text=expires)

    def end(self, lock: Lock) -> datetime | None:
        """Delete that very row: the moment it was done, or None if it changed since."""
        rows = self.connection.rows(self.statements.end, _very_row(lock))
        return written(rows[0][0]) if rows else None

    def end_owned(self, key: Key, owner_id: str) -> bool | None:
        """Delete the owner's row: whether it was live; None if there is none whose expiry can be judged at once."""
        named = {"type": key.resource_type, "resource": key.resource_id, "owner": owner_id}
        rows = self.connection.rows(self.statements.end_owned, named)
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
