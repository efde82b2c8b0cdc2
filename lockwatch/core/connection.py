"""One driver connection in autocommit, whose errors are ours."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeAlias

from lockwatch.core.dialects import Clock, Dialect
from lockwatch.core.interrupts import swallowed

PORTION: Final = 500
"""How many rows of a large answer are taken at once."""

Parameters: TypeAlias = Mapping[str, object]


class Connection:
    """One driver connection. What the driver raises comes out as DatabaseError."""

    __slots__ = ("_dialect", "_driver", "_failure", "identity", "ids_never_return")

    def __init__(self, driver: Any, failure: type[Exception], dialect: Dialect, identity: Hashable) -> None:
        self._driver = driver
        self._failure = failure
        self._dialect = dialect
        self.identity = identity
        self.ids_never_return = False
        """Whether the table's ids can serve as fencing tokens."""

    def prepare(self, clock: Clock) -> None:
        """Make a new connection ready, and look at the table.

        Raises:
            DatabaseError: the table is missing or not lockwatch's, or the database cannot be used.
        """
        with self._translated():
            self._dialect.prepare(self._driver, clock)
            self.check_table()

    def check_table(self) -> None:
        """Look at the table again.

        Raises:
            DatabaseError: it is missing, or not lockwatch's.
        """
        with self._translated():
            self.ids_never_return = self._dialect.check_table(self._driver)

    def forbid_writes(self) -> None:
        """Have the database itself refuse what this connection might write."""
        with self._translated():
            self._driver.execute(self._dialect.forbid_writes)

    def rows(self, sql: str, parameters: Parameters | tuple[()] = ()) -> list[Any]:
        """All rows that one statement gives. Outside a transaction it has committed when this returns."""
        try:
            return self._driver.execute(sql, parameters).fetchall()  # type: ignore[no-any-return]
        except self._failure as error:
            raise self._meant_by(error) from error

    def each(self, sql: str) -> Iterator[Any]:
        """The rows that one statement gives, in portions: a large table is never here as a whole."""
        with self._translated():
            cursor = self._driver.execute(sql)
            while portion := cursor.fetchmany(PORTION):
                yield from portion

    def changes(self, sql: str, parameters: Parameters) -> int:
        """How many rows one statement changed."""
        with self._translated():
            return int(self._driver.execute(sql, parameters).rowcount)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction that may write from its start on. Rolled back if the body raises."""
        self.rows(self._dialect.begin)
        try:
            yield
            self.rows("COMMIT")
        except BaseException:
            with suppress(self._failure):  # the first error is the one that tells
                self._driver.rollback()
            raise

    def data_version(self) -> object:
        """A value that changes when somebody else changes the database; None where there is no such thing."""
        return self.rows(self._dialect.data_version)[0] if self._dialect.data_version else None

    def close(self) -> None:
        """Give it up; that a broken one cannot be closed in good order is no news."""
        with suppress(self._failure):
            self._driver.close()

    def _meant_by(self, error: Exception) -> BaseException:
        return swallowed(error) or self._dialect.translate(error)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except self._failure as error:
            raise self._meant_by(error) from error
