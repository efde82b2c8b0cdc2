"""What a look shows is arranged for what it costs to know what changed, and comes out as if all were arranged anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from lockwatch.core.model import Lock
from lockwatch.core.watcher import Watched
from lockwatch.tui.catalogue import Catalogue, Selection, narrow, select
from lockwatch.tui.diff import lease_of
from lockwatch.tui.ranking import Column, Sort, place, rank_key
from lockwatch.tui.wish import Filter, Standing, Wish, standing
from tests.tui.making import at, lock

_LEFTS = st.one_of(st.none(), st.integers(-20, 40), st.floats(-20, 40))
_LOCKS = st.builds(
    lock,
    st.integers(1, 12),
    _LEFTS,
    name=st.sampled_from(["a", "b", "B", "ä", "x\x1b", "long-name"]),
    owner=st.sampled_from(["w@a:1", "W@a:1", "ana"]),
    held=st.sampled_from([0.0, 5.0, 7.5]),
)
_TABLES = st.lists(st.lists(_LOCKS, max_size=14, unique_by=lambda one: one.id), min_size=1, max_size=6)


def look(earlier: Catalogue, locks: Sequence[Lock], seconds: float, keep: Column = Column.OWNER) -> Catalogue:
    """The catalogue after a look at these; the same locks are the same objects, as a watcher gives them."""
    known = {one: one for one in earlier.locks}
    now = tuple(known.get(one, one) for one in locks)
    kept = set(map(id, now)) & set(map(id, earlier.locks))
    watched = Watched(
        taken_at=at(seconds),
        locks=now,
        by_id={one.id: one for one in now},
        came=tuple(one for one in now if id(one) not in kept),
        went=tuple(one for one in earlier.locks if id(one) not in kept),
    )
    return earlier.after(watched, keep)[0]


@given(_TABLES, st.sampled_from(Column))
def test_step_by_step_the_orders_and_counts_are_those_of_the_whole(tables: list[list[Lock]], column: Column) -> None:
    seen = Catalogue()
    for number, locks in enumerate(tables):
        seen = look(seen, locks, number, column)
        for order in {Column.RESOURCE, Column.LEFT, column}:
            assert seen.in_order(order) == sorted(locks, key=rank_key(order))
        stands = Counter(standing(one, seen.lives, at(number), at(number)) for one in locks)
        counts = seen.tally.at(at(number), at(number))
        assert {state: getattr(counts, state) for state in Standing} == {state: stands[state] for state in Standing}
        assert all(seen.find(lease_of(one)) is one for one in seen.locks)


@given(st.lists(_LOCKS, max_size=14, unique_by=lambda one: one.id), st.sampled_from(Column), st.booleans())
def test_every_lock_is_found_where_it_stands(locks: list[Lock], column: Column, is_descending: bool) -> None:
    sort = Sort(column=column, is_descending=is_descending)
    seen = look(Catalogue(), locks, 0, column)
    rows = select(seen, Wish(sort=sort), at(0)).rows
    assert [place(rows, one, sort) for one in rows] == list(range(len(rows)))


@given(
    st.lists(_LOCKS, max_size=14, unique_by=lambda one: one.id),
    st.text("abwäx␛@:/ ", max_size=4),
    st.text("aw1", max_size=2),
)
def test_to_type_on_gives_what_to_type_at_once_would(locks: list[Lock], text: str, more: str) -> None:
    seen = look(Catalogue(), locks, 0)
    whole = select(seen, Wish(filter=Filter(text=text + more)), at(0))
    step = narrow(seen, select(seen, Wish(filter=Filter(text=text)), at(0)), Filter(text=text + more), at(0))
    assert step == whole
    assert whole.rows == [one for one in seen.in_order(Column.LEFT) if whole.wish.filter.names(one)]


def test_filters_compose() -> None:
    locks = [lock(1, -5, name="ka", owner="x"), lock(2, 60, name="ka2", owner="x"), lock(3, -5, name="kb", owner="y")]
    seen = look(Catalogue(), locks, 0)

    def listed(**wanted: object) -> list[int]:
        chosen = Filter(**wanted)  # type: ignore[arg-type] # by name, as they come
        return [one.id for one in select(seen, Wish(filter=chosen), at(0)).rows]

    assert listed(text="ka") == [1, 2]
    assert listed(text="ka", standing=Standing.STALE) == [1]
    assert listed(owner="x") == [1, 2]
    assert listed(owner="X") == []
    assert listed(standing=Standing.STALE) == [1, 3]
    assert listed(resource_type="project") == []
    assert listed(text="kb", owner="y", standing=Standing.HELD) == []


def test_the_locks_whose_time_was_up_since_are_found_without_a_look_at_all() -> None:
    seen = look(Catalogue(), [lock(1, 1), lock(2, 2), lock(3, 3), lock(4, None)], 0)
    assert [one.id for one in seen.expired_between(at(1), at(3))] == [2, 3]


def test_a_lock_whose_id_another_has_too_is_found() -> None:
    one, other = lock(1, name="a"), lock(1, name="b")
    seen = replace(look(Catalogue(), [one, other], 0), _by_id={1: other})
    assert seen.find(lease_of(one)) is one
    assert seen.find(lease_of(lock(1, name="c"))) is None


def test_an_empty_selection_is_an_empty_list() -> None:
    assert select(Catalogue(), Wish(), at(0)) == Selection()
