"""Everything that happens, as JSON lines in a file: every change of every lease, however many there are at once.

A thread of its own writes, so that a disk that hangs keeps nobody from the screen.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from json import JSONEncoder
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeAlias

from lockwatch.core.model import Outcome
from lockwatch.core.timestamps import to_text, utc_now
from lockwatch.tui.catalogue import Catalogue
from lockwatch.tui.deeds import Deeds
from lockwatch.tui.diff import Changes
from lockwatch.tui.happenings import Between, Event, Gap, between
from lockwatch.tui.logfile import LogFile
from lockwatch.tui.look import Look
from lockwatch.tui.poller import reason_of

FLUSH_SECS: Final = 0.2
"""How long quitting waits for what is not written yet, in seconds."""
_PATIENCE_SECS: Final = 2.0
"""What a look showed is written with the next look, or after so many seconds: then it is known who did it."""
_RETRY_SECS: Final = 1.0
_MOST_WAITING: Final = 100_000
"""So many changes wait at most to be written while the file takes none; of more only the number is kept."""
_PORTION: Final = 100
_encode: Final = JSONEncoder(ensure_ascii=True).encode

Tell: TypeAlias = Callable[[str], object]
Facts: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What became of an order."""

    done: str
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Missed:
    """So many changes found no room to wait."""

    count: int


class _Silence:
    """Nothing came for a while."""


class _OverError(Exception):
    """It is over while the file takes nothing."""


_Item: TypeAlias = Between | Gap | _Answer | _Missed | None
"""None: it is over."""


class Journal:
    """Adds what happens to a file. `began` is when the run began, by this machine's clock."""

    def __init__(self, file: LogFile, look: Look, began: datetime) -> None:
        self._file = file
        self._first: Facts = {"at": to_text(began), "event": "watching", "database": look.name, "label": look.label}
        self._tell: Tell = _nobody
        self._items: SimpleQueue[_Item] = SimpleQueue()
        self._room = threading.Lock()
        self._waiting = 0
        self._missed = 0
        self._is_over = threading.Event()
        self._is_failing = False
        self._thread = threading.Thread(target=self._run, name="lockwatch-journal", daemon=True)

    def start(self, tell: Tell) -> None:
        """Begin to write. `tell` is called from the thread with one clean line when that fails, once until it works."""
        self._tell = tell
        self._thread.start()

    def add(self, changes: Changes, catalogue: Catalogue, previous: datetime | None) -> None:
        """Have written what a look showed, beside the one of `previous`."""
        seen = between(changes, catalogue, previous)
        if seen is not None and seen.size and not self._put(seen, seen.size):
            self._missed += seen.size

    def miss(self, start: datetime, end: datetime) -> None:
        """Have written that the database did not answer from one look to the next one."""
        self._put(Gap(at=start, until=end), 0)

    def note(self, done: str, outcomes: Iterable[Outcome]) -> None:
        """Take in what this dashboard did, before a look shows it or after; `done` is a participle."""
        answer = _Answer(done=done, outcomes=tuple(outcomes))
        self._put(answer, len(answer.outcomes))

    def close(self) -> None:
        """Write what is left, in no more than 0.2 s; a file that takes nothing is left behind."""
        self._tell_missed()
        self._items.put(None)
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join(FLUSH_SECS)
        if not self._thread.is_alive():
            self._file.close()

    def _put(self, item: Between | Gap | _Answer, size: int) -> bool:
        """Let it wait to be written, if there is room."""
        with self._room:
            if self._waiting and self._waiting + size > _MOST_WAITING:
                return False
            self._waiting += size
        self._tell_missed()
        self._items.put(item)
        return True

    def _tell_missed(self) -> None:
        if self._missed:
            self._items.put(_Missed(count=self._missed))
            self._missed = 0

    def _run(self) -> None:
        try:
            self._write([self._first])
            self._work()
        except _OverError:
            pass
        except Exception as error:  # noqa: BLE001 whatever it is, it is told on the screen and ends nothing else
            self._say(reason_of(error))

    def _work(self) -> None:
        """Write what each look showed when the next one came, or nothing for a while: then it is known who did it."""
        deeds = Deeds()
        held: Between | None = None
        while True:
            item = self._next(_PATIENCE_SECS if held else None)
            if isinstance(item, _Answer):
                deeds.note(item.done, item.outcomes)
                self._make_room(len(item.outcomes))
                continue
            if held is not None:
                self._write(map(_facts, held.events(deeds)))
                deeds.pass_look()
                self._make_room(held.size)
            held = item if isinstance(item, Between) else None
            if isinstance(item, Gap):
                self._write([{"at": to_text(item.at), "event": "unseen", "until": to_text(item.until)}])
            if isinstance(item, _Missed):
                self._write([{"at": to_text(utc_now()), "event": "missed", "changes": item.count}])
            if item is None:
                return

    def _next(self, timeout: float | None) -> _Item | _Silence:
        try:
            return self._items.get(timeout=timeout)
        except Empty:
            return _Silence()

    def _make_room(self, size: int) -> None:
        with self._room:
            self._waiting -= size

    def _write(self, facts: Iterable[Facts]) -> None:
        rest = iter(facts)
        while portion := list(islice(rest, _PORTION)):
            self._file.add("".join(f"{_encode(each)}\n" for each in portion).encode("ascii"))
            self._flush()

    def _flush(self) -> None:
        """Write, and if that fails try again and again until it works; once more when it is over."""
        while True:
            is_last = self._is_over.is_set()
            try:
                self._file.flush()
            except OSError as error:
                if not self._is_failing:
                    self._is_failing = True
                    self._say(self._file.reason_of(error))
                if is_last:
                    raise _OverError from error
                self._is_over.wait(_RETRY_SECS)
            else:
                self._is_failing = False
                return

    def _say(self, reason: str) -> None:
        with suppress(RuntimeError):  # the app's loop is closed: nobody is left to be told
            self._tell(reason)


@contextmanager
def opened(path: Path, look: Look) -> Iterator[Journal]:
    """The journal of a dashboard that looks so, in a file; closed at the end.

    Raises:
        LockwatchError: its file cannot be opened.
    """
    journal = Journal(LogFile(path), look, utc_now())
    try:
        yield journal
    finally:
        journal.close()


def _facts(event: Event) -> Facts:
    """One line of the file. What cannot be read as a moment is null."""
    lock, successor = event.lock, event.successor
    return {
        "at": to_text(event.at),
        "event": str(event.happening),
        "resource": lock.resource,
        "resource_type": lock.resource_type,
        "resource_id": lock.resource_id,
        "owner_id": lock.owner_id,
        "fence": lock.id,
        "expires_at": to_text(lock.expires_at) if lock.expires_at else None,
        "by_you": event.by_you,
        "successor": {"owner_id": successor.owner_id, "fence": successor.id} if successor else None,
    }


def _nobody(_: str) -> None:
    """Nobody is told before the screen has begun."""
