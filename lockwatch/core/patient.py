"""A connection of psycopg that does not wait for ever. To be imported only where the driver is there."""

from __future__ import annotations

from collections.abc import Generator
from time import monotonic
from typing import Any, ClassVar, TypeVar

import psycopg

from lockwatch.core.dialect import ANSWER_TIMEOUT_SECS

T = TypeVar("T")


def options_of_environment() -> str:
    """What `$PGOPTIONS` asks of every session, as the driver finds it: it asks for no more once it is given some."""
    options = psycopg.pq.Conninfo.get_defaults()
    return next((option.val.decode() for option in options if option.keyword == b"options" and option.val), "")


class PatientConnection(psycopg.Connection[Any]):
    """Gives up an answer that does not come in time: a server that has stopped keeps none of its own timeouts."""

    Refused: ClassVar = psycopg.OperationalError
    patience_secs: float = ANSWER_TIMEOUT_SECS

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **kwargs: Any) -> T:
        """What the driver's generator comes to. The driver looks after it several times a second."""
        return super().wait(self._bounded(gen), *args, **kwargs)

    def _bounded(self, gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        give_up_at = monotonic() + self.patience_secs
        try:
            ready = yield next(gen)
            while ready or monotonic() < give_up_at:
                ready = yield gen.send(ready)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
        self.close()
        raise psycopg.OperationalError(f"no answer within {self.patience_secs:g} s")
