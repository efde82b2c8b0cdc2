"""What happened while this dashboard watched: as much of it as an operator may want to look back at."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import Final, TypeAlias

from lockwatch.core.model import Outcome
from lockwatch.tui.board import Board
from lockwatch.tui.catalogue import BEFORE_ALL, Catalogue
from lockwatch.tui.deeds import Deeds
from lockwatch.tui.diff import Changes, Lease, lease_of
from lockwatch.tui.event_lines import event_line, gap_line, rest_line
from lockwatch.tui.happenings import Between, Event, Gap, Kind, Rest, between
from lockwatch.tui.rules import rule
from lockwatch.tui.spans import BLANK, Line, Role, Span, blanks, crop
from lockwatch.tui.wish import Filter

_FEW: Final = 300
"""So many events of one look are kept one by one; of more the newest, and the rest as a number."""
_ROUTINE_SHARE: Final = 4
"""Holders' renewals are one part in so many of what is kept."""

Entry: TypeAlias = Event | Rest | Gap
_when: Final = attrgetter("at")


class Activity:
    """The last events, at most `limit` of them. A holder's renewals are routine: of each lease the last one is kept."""

    def __init__(self, limit: int = 1000) -> None:
        self.seen_at = BEFORE_ALL
        """The moment of the last look."""
        self._most_routine = limit // _ROUTINE_SHARE
        self._news: deque[Entry] = deque(maxlen=limit - self._most_routine)
        self._few = min(_FEW, limit - self._most_routine - 1)
        self._routine: dict[Lease, Event] = {}
        self._deeds = Deeds()
        self._crowd: Between | None = None

    def miss(self, start: datetime, end: datetime) -> None:
        """Take in that nothing could be seen from one look to the next one, whose news come after this."""
        self._news.append(Gap(at=start, until=end))

    def see(self, changes: Changes, catalogue: Catalogue, previous: datetime | None, board: Board) -> list[Event]:
        """Take in what a look showed, beside the one of `previous`: the news that are kept one by one, newest last."""
        self.seen_at = catalogue.taken_at
        seen = between(changes, catalogue, previous)
        self._crowd = None
        news: list[Event] = []
        if seen is not None and seen.size:
            news, counts = self._news_of(seen, board)
            if counts:
                self._crowd = seen
                self._news.append(Rest(at=news[0].at, counts=counts))
            self._news += news
            self._note_routine(seen)
        self._deeds.pass_look()
        return news

    def note(self, done: str, outcomes: Iterable[Outcome]) -> None:
        """Take in what this dashboard did, before a look shows it or after; `done` is a participle."""
        outcomes = list(outcomes)
        self._deeds.note(done, outcomes)
        leases = {lease_of(outcome.seen) for outcome in outcomes}
        ids = {lease.id for lease in leases}
        for index, entry in enumerate(self._news):
            if isinstance(entry, Event) and entry.lock.id in ids:
                self._news[index] = entry.claimed(self._deeds)
        for lease in leases & self._routine.keys():
            event = self._routine[lease].claimed(self._deeds)
            if not event.is_routine:
                del self._routine[lease]
                self._news = deque(sorted((*self._news, event), key=_when), self._news.maxlen)
        if self._crowd is not None and self._crowd.shows(outcomes):
            self._count_again(self._crowd)

    def events(self, text_filter: Filter | None = None, *, with_routine: bool = True) -> Iterator[Entry]:
        """What happened to the locks that a filter names, newest first, and how much more that is not kept or seen."""
        routine = reversed(self._routine.values()) if with_routine else ()
        entries: Iterator[Entry] = merge(reversed(self._news), routine, key=_when, reverse=True)
        if text_filter is None or not narrows(text_filter):
            return entries
        return (entry for entry in entries if not isinstance(entry, Event) or text_filter.names(entry.lock))

    def _news_of(self, seen: Between, board: Board) -> tuple[list[Event], Counter[Kind]]:
        """The newest of a look's news, newest last; and how many more there are."""
        few, deeds = self._few, self._deeds
        set_here, not_later = seen.unusual(deeds)
        news = [
            *seen.grants(few),
            *(seen.new_expiry(changed, deeds) for changed in (*set_here[-few:], *not_later[-few:])),
            *(seen.expiry(lock, board.lives.ttl_seconds(lock)) for lock in seen.expired[-few:]),
            *seen.ends(deeds, few),
        ]
        news = sorted(news, key=_when)[-few:]
        if seen.size <= few:
            return news, Counter()
        return news, seen.counts(deeds, set_here, not_later) - Counter(event.kind for event in news)

    def _note_routine(self, seen: Between) -> None:
        """Keep the holders' renewals of a look, each instead of the one before."""
        for changed in seen.changes.changed[-self._most_routine :]:
            event = seen.new_expiry(changed, self._deeds)
            if event.is_routine:
                self._routine.pop(lease_of(event.lock), None)
                self._routine[lease_of(event.lock)] = event
        for lease in list(islice(self._routine, max(0, len(self._routine) - self._most_routine))):
            del self._routine[lease]

    def _count_again(self, crowd: Between) -> None:
        """Tell the rest of the last look as what is known by now."""
        index = max((at for at, entry in enumerate(self._news) if isinstance(entry, Rest)), default=None)
        if index is None:
            return  # newer news took its place already
        kept = Counter(entry.kind for entry in islice(self._news, index, None) if isinstance(entry, Event))
        counts = crowd.counts(self._deeds, *crowd.unusual(self._deeds)) - kept
        self._news[index] = Rest(at=self._news[index].at, counts=counts)


def narrows(text_filter: Filter) -> bool:
    """Whether a filter leaves events out: how locks stand now says nothing about what happened."""
    return bool(replace(text_filter, standing=None))


def lines(activity: Activity, text_filter: Filter, cells: int, count: int) -> list[Line]:
    """A title, and the newest `count` events that a filter names. Holders' renewals are left out: they are too many."""
    entries = list(activity.events(text_filter, with_routine=False))
    shown = [entry_line(entry, cells, activity.seen_at) for entry in entries[:count]]
    shown = shown or [nothing(text_filter, cells)]
    return [heading(activity, text_filter, cells, with_routine=False), *shown, *[BLANK] * (count - len(shown))]


def nothing(text_filter: Filter, cells: int) -> Line:
    """What stands where there is no event."""
    words = "nothing that matches the filter" if narrows(text_filter) else "nothing yet"
    return crop((blanks(2), Span(words, Role.FAINT)), cells)


def heading(activity: Activity, text_filter: Filter, cells: int, *, with_routine: bool = True) -> Line:
    """A rule that says what this is, and how much of it a filter names."""
    title = "activity"
    if narrows(text_filter):
        named, kept = (
            sum(isinstance(entry, Event) for entry in activity.events(each, with_routine=with_routine))
            for each in (text_filter, None)
        )
        title = f"activity · {named} of {kept} match"
    return rule(title, cells)


def entry_line(entry: Entry, cells: int, now: datetime) -> Line:
    """One event, or how many more there were, or how long none could be seen, as of `now`."""
    if isinstance(entry, Gap):
        return gap_line(entry, cells, now.date())
    if isinstance(entry, Rest):
        return rest_line(entry, cells, now.date())
    return event_line(entry, cells, now.date())
