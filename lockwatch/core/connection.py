"""One driver connection in autocommit, whose errors are ours."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar

from lockwatch.core.dialect import Clock, Dialect, Parameters, Session
from lockwatch.core.errors import LostRaceError
from lockwatch.core.interrupts import swallowed

T = TypeVar("T")

PORTION: Final = 500
"""How many rows of a large answer are taken at once."""
RACES: Final = 6
"""How often a transaction is tried where another one comes first; a single statement once more."""
_PAUSE_SECS: Final = 0.02
"""The longest pause before the second of these tries; it grows with each."""


class Connection:
    """One driver connection. What the driver raises comes out as DatabaseError."""

    __slots__ = (
        "_dialect",
        "_driver",
        "_execute",
        "_failure",
        "_in_transaction",
        "_session",
        "identity",
        "idle_since",
        "unfenced",
    )  # fmt: skip

    def __init__(self, driver: Any, failure: type[Exception], dialect: Dialect, identity: Hashable) -> None:
        self._driver = driver
        self._failure = failure
        self._dialect = dialect
        self._in_transaction = False
        self.identity = identity
        self.unfenced: str | None = None
        """Why the table's ids cannot serve as fencing tokens; None if they can."""
        self.idle_since = 0.0
        """Since when nobody uses it."""

    def prepare(self, clock: Clock) -> None:
        """Make a new connection ready, and look at the table.

        Raises:
            DatabaseError: the table is missing or not lockwatch's, or the database cannot be used.
        """
        with self._translated():
            self._session: Session = self._dialect.prepare(self._driver, clock)
            self._execute = self._session.execute
            self.check_table()

    def check_table(self) -> None:
        """Look at the table again.

        Raises:
            DatabaseError: it is missing, or not lockwatch's.
        """
        with self._translated():
            self.unfenced = self._dialect.check_table(self._session)

    def is_gone(self) -> bool:
        """Whether the database has hung up while nobody used it. Asks nobody, and takes no time."""
        return self._dialect.is_gone(self._driver)

    @property
    def dialect(self) -> Dialect:
        """Its database's ways."""
        return self._dialect

    def forbid_writes(self) -> None:
        """Have the database itself refuse what this connection might write."""
        self.do(self._dialect.forbid_writes)

    def rows(self, sql: str, parameters: Parameters | tuple[()] = ()) -> Sequence[Any]:
        """All rows that one statement gives. Outside a transaction it has committed when this returns."""
        try:
            return self._execute(sql, parameters).fetchall()
        except self._failure as error:
            meant = self._meant_by(error)
            if self._in_transaction or not isinstance(meant, LostRaceError):
                raise meant from error
        return self.settle(lambda: self._rows_at_once(sql, parameters))

    def _rows_at_once(self, sql: str, parameters: Parameters | tuple[()]) -> Sequence[Any]:
        with self._translated():
            return self._execute(sql, parameters).fetchall()

    def each(self, sql: str) -> Iterator[Any]:
        """The rows that one statement gives, in portions: a large table is never here as a whole."""
        with self._translated():
            cursor = self._execute(sql)
            while portion := cursor.fetchmany(PORTION):
                yield from portion

    def changes(self, sql: str, parameters: Parameters) -> int:
        """How many rows one statement changed. It is tried again where another one came first."""
        if self._in_transaction:
            return self._changes_at_once(sql, parameters)
        return self.settle(lambda: self._changes_at_once(sql, parameters))

    def _changes_at_once(self, sql: str, parameters: Parameters) -> int:
        with self._translated():
            return self._execute(sql, parameters).rowcount

    def settle(self, work: Callable[[], T]) -> T:
        """What `work` gives, which is one statement or one transaction: tried again where another one came first.

        Raises:
            LostRaceError: that happened time and again.
        """
        for lost in range(1, RACES):
            try:
                return work()
            except LostRaceError:
                time.sleep(random.uniform(0, _PAUSE_SECS * lost))  # noqa: S311  # nosec B311 # no secret: out of step
        return work()

    def transact(self, work: Callable[[], T]) -> T:
        """What `work` gives, done in one transaction."""

        def in_transaction() -> T:
            with self.transaction():
                return work()

        return self.settle(in_transaction)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction that may write from its start on. Rolled back if the body raises."""
        self.do(self._dialect.begin)
        self._in_transaction = True
        try:
            yield
            self.do("COMMIT")
        except BaseException:
            with suppress(self._failure):  # the first error is the one that tells
                self._driver.rollback()
            raise
        finally:
            self._in_transaction = False

    def do(self, sql: str) -> None:
        """Run a statement that gives no rows."""
        with self._translated():
            self._execute(sql)

    def data_version(self) -> object:
        """A value that changes when somebody else changes the database; None where there is no such thing."""
        return self.rows(self._dialect.data_version)[0] if self._dialect.data_version else None

    def close(self) -> None:
        """Give it up; that a broken one cannot be closed in good order is no news."""
        with suppress(self._failure, AttributeError):  # one that was never made ready has no session
            self._session.close()  # SQLite's file stays open for as long as a statement of it is kept
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
