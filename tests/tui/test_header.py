from __future__ import annotations

from dataclasses import replace

import pytest

from lockwatch.cells import width
from lockwatch.tui.detail import detail
from lockwatch.tui.editor import Editor
from lockwatch.tui.freshness import Freshness
from lockwatch.tui.header import filter_line, header
from lockwatch.tui.hints import hints, status
from lockwatch.tui.look import Look
from lockwatch.tui.scene import Scene
from lockwatch.tui.wish import first_wish
from tests.tui.making import at, filter_by, lock, see, snapshot, text

WIDTHS = (25, 40, 60, 80, 120, 200)


def scene(
    *, steady: float = 0.4, failure: str | None = None, name: str = "/var/lib/orders.db", label: str = ""
) -> Scene:
    made = Scene(
        look=Look(name=name, label=label),
        freshness=Freshness(started=0.0, every=1.0, taken_at=at(0), polled=0.0, failure=failure),
        steady=lambda: steady,
    )
    see(made.board, snapshot([lock(1, 60), lock(2, 5, held=55), lock(3, -5), lock(4, None)]))
    return made


@pytest.mark.parametrize("cells", WIDTHS)
@pytest.mark.parametrize("failure", [None, "there is no database file"])
def test_every_line_fits_every_width(cells: int, failure: str | None) -> None:
    seen = scene(failure=failure)
    filter_by(seen.board, "plan")
    lines = [
        header(seen, cells),
        filter_line(seen, cells),
        filter_line(seen, cells, Editor("a long text " * 20, 100)),
        status(seen, cells),
        *detail(seen, cells),
    ]
    assert all(width(text(line)) <= cells for line in lines)


def test_the_header_tells_counts_and_freshness() -> None:
    said = text(header(scene(), 120))
    assert said.startswith(" /var/lib/orders.db ")
    assert said.endswith("1 held  1 expiring  1 stale  1 unreadable  ● live <1s every 1s · <10 ms ")


def test_at_forty_columns_what_is_urgent_is_worth_more_than_the_path() -> None:
    said = text(header(scene(name="/srv/data/teams/orders/production.db", label="PROD"), 40))
    assert said.startswith("  PROD  ")
    assert said.endswith("◐1 ✗1 ?1  ● live <1s ")
    assert "/srv" not in said


def test_the_end_of_a_name_stays_beside_what_is_urgent() -> None:
    said = text(header(scene(name="/srv/data/teams/orders/production.db"), 40))
    assert said.split()[0].endswith(".db")
    assert "✗1 ?1" in said


def test_what_is_urgent_is_told_in_words_where_they_fit() -> None:
    said = text(header(scene(name="orders.db", label="PROD"), 80))
    assert "orders.db" in said
    assert "1 expiring  1 stale  1 unreadable  ● live <1s" in said


def test_where_there_is_no_room_for_zeros_it_still_tells_how_many_are_held() -> None:
    seen = scene(name="orders@database-1.example:5432")
    see(seen.board, snapshot([*(lock(number, 60) for number in range(1, 16)), lock(16, -5), lock(17, None)]))
    assert text(header(seen, 80)).endswith(" 15 held  1 stale  1 unreadable  ● live <1s ")
    assert "15 held  0 expiring" in text(header(seen, 90))


@pytest.mark.parametrize(
    ("cells", "failure"), [*((cells, None) for cells in (20, 24, 32, 40, 60, 80, 120)), (40, "gone"), (80, "gone")]
)
def test_stale_and_unreadable_are_both_seen_beside_the_label(cells: int, failure: str | None) -> None:
    said = text(header(scene(name="/srv/data/orders/production.db", label="P", failure=failure), cells))
    assert " P " in said
    assert "✗1 ?1" in said or "1 stale  1 unreadable" in said


def test_where_nothing_is_urgent_a_narrow_screen_tells_the_name() -> None:
    calm = scene(name="/var/lib/orders.db")
    see(calm.board, snapshot([lock(1, 60)]))
    said = text(header(calm, 40))
    assert said.split()[0].endswith("/orders.db")
    assert said.endswith("● live <1s ")


def test_disconnected_is_told_with_the_age_at_any_usable_width() -> None:
    for cells in (40, 60, 80, 120):
        said = text(header(scene(steady=12.3, failure="gone"), cells))
        assert " DISCONNECTED " in said
        assert "12s" in said
        assert "live" not in said


def test_before_the_first_answer_it_says_so() -> None:
    seen = replace(scene(), freshness=Freshness(started=0.0, every=1.0))
    assert "○ connecting <1s" in text(header(seen, 80))
    assert seen.refusal() == "not connected yet"


def test_the_filter_line_tells_how_many_are_shown() -> None:
    seen = scene()
    assert text(filter_line(seen, 80)).endswith("4 locks ")
    filter_by(seen.board, "p1")
    said = text(filter_line(seen, 80))
    assert said.startswith(" / p1")
    assert said.endswith("1 of 4 shown ")


def test_a_filter_that_a_dashboard_begins_with_is_as_harmless_as_one_that_is_typed() -> None:
    seen = scene()
    hostile = "a\x1b[2J\u202eb\udcff\n"
    seen.board.wish_for(first_wish(Look(name="x", text=hostile, owner=hostile, resource_type=hostile)), at(0))
    said = text(filter_line(seen, 200))
    assert said.startswith(
        " / a␛[2J·b\N{REPLACEMENT CHARACTER}␊   owner a␛[2J·b\N{REPLACEMENT CHARACTER}␊   type a␛[2J·b"
    )
    seen.board.wish_for(first_wish(Look(name="x", text="  ")), at(0))
    assert text(filter_line(seen, 80)).startswith(" / filter")


def test_the_end_of_what_is_typed_is_in_view() -> None:
    typed = "x" * 100 + "END"
    assert "END▏" in text(filter_line(scene(), 60, Editor(typed, len(typed))))


def test_the_status_line_gives_the_reason_in_one_line() -> None:
    assert text(status(scene(failure="the file is gone"), 60)).startswith("─ DISCONNECTED: the file is gone ─")
    assert set(text(status(scene(), 60))) == {"─"}


@pytest.mark.parametrize(("cells", "last"), [(120, "q quit"), (40, "q quit"), (20, "q quit")])
def test_the_hints_keep_the_way_out(cells: int, last: str) -> None:
    assert text(hints(scene(), cells)).endswith(last)


def test_forty_columns_hint_at_release_purge_help_and_quit() -> None:
    assert text(hints(scene(), 40)) == " r release  p purge  ? help  q quit"


def test_a_skew_is_told_in_the_way_it_goes() -> None:
    seen = scene()
    seen.freshness = replace(seen.freshness, skew=-7200.0)
    assert "this machine's clock is 2h behind the database's" in text(filter_line(seen, 120))


def test_the_detail_of_an_unreadable_lease_says_what_stands_there() -> None:
    seen = scene()
    seen.board.move_to(0)
    assert "expires 'tomorrow': cannot be read, so it never expires" in text(*detail(seen, 100))


def test_the_detail_tells_renewals_that_were_seen() -> None:
    seen = scene()
    seen.board.move_to(3)
    assert "renewed not yet" in text(*detail(seen, 100))
    see(seen.board, snapshot([lock(1, 90.25)], 30))
    seen.freshness = replace(seen.freshness, taken_at=at(30))
    assert "renewed 0s ago, once since this dashboard began" in text(*detail(seen, 100))
    assert "ttl ~" in text(*detail(seen, 100))


def test_the_detail_of_nothing_is_a_rule() -> None:
    seen = scene()
    filter_by(seen.board, "nothing")
    assert set(text(*detail(seen, 50)).strip()) == {"─"}


def test_the_folder_of_a_database_gives_way_before_its_name() -> None:
    said = text(header(scene(name="/a/very/long/path/to/some/data/folder/orders.db"), 60))
    assert "…" in said.split()[0]
    assert said.split()[0].endswith("/orders.db")
