"""What is looked at, and what is painted: only what can have changed, and only the cells that did."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Self

from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.pilot import Pilot

from lockwatch.tui import themes
from lockwatch.tui.spans import Line, Role, Span
from lockwatch.tui.widgets.line_view import Lines, LineView
from tests.tui.making import at

STEPS = [1.0, 2.0, 10.0, None, 1.5]
"""After how many seconds each line is another one."""


class Countdowns(LineView):
    DEFAULT_CSS = "Countdowns { height: 10; width: 100%; overflow-x: hidden; }"

    def __init__(self, count: int = 5) -> None:
        super().__init__()
        self.now = at(0)
        self.lines = count
        self.lit = -1
        self.asked: list[int] = []
        self.painted: list[Region] = []

    def count(self) -> int:
        return self.lines

    def is_lit(self, index: int) -> bool:
        return index == self.lit

    def line(self, index: int) -> Line:
        self.asked.append(index)
        step = STEPS[index % len(STEPS)]
        passed = 0 if step is None else int((self.now - at(0)).total_seconds() / step)
        return Span(f"line {index:4}", Role.DIM), Span(f"{'left':>12}"), Span(f"{passed:5}")

    def good_until(self, index: int) -> datetime | None:
        step = STEPS[index % len(STEPS)]
        if step is None:
            return None
        passed = int((self.now - at(0)).total_seconds() / step)
        return at((passed + 1) * step)

    def pass_to(self, seconds: float) -> None:
        self.now = at(seconds)
        self.asked.clear()
        self.painted.clear()
        self.tick(self.now)

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        if hasattr(self, "painted"):
            self.painted.extend(regions)
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)


class Shown(App[None]):
    def __init__(self, *widgets: LineView) -> None:
        super().__init__()
        themes.install(self, themes.DARK)
        self.widgets = widgets

    def compose(self) -> ComposeResult:
        yield from self.widgets

    def texts(self) -> list[str]:
        return [strip.text.rstrip() for strip in self.screen._compositor.render_strips()]


@asynccontextmanager
async def shown(*widgets: LineView, size: tuple[int, int] = (40, 12)) -> AsyncIterator[tuple[Shown, Pilot[None]]]:
    app = Shown(*widgets)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield app, pilot


async def test_a_tick_looks_only_at_lines_that_are_due() -> None:
    view = Countdowns()
    async with shown(view) as (app, pilot):
        view.pass_to(0.9)
        assert view.asked == []
        view.pass_to(1.0)
        assert view.asked == [0]
        view.pass_to(2.0)
        assert sorted(view.asked) == [0, 1, 4]
        await pilot.pause()
        assert [line.split()[-1] for line in app.texts()[:5]] == ["2", "1", "0", "0", "1"]


async def test_only_the_cells_that_changed_are_painted_in_one_go() -> None:
    view = Countdowns()
    async with shown(view):
        view.pass_to(2.0)
        assert sorted(view.painted) == [Region(25, 0, 1, 1), Region(25, 1, 1, 1), Region(25, 4, 1, 1)]
        view.pass_to(2.1)
        assert view.painted == []


async def test_a_line_that_is_looked_at_in_vain_is_not_painted() -> None:
    view = Countdowns()
    async with shown(view):
        view.painted.clear()
        view.redraw()
        assert view.painted == []


async def test_when_the_time_is_set_back_all_lines_are_looked_at() -> None:
    view = Countdowns()
    async with shown(view) as (app, pilot):
        view.pass_to(3000)
        view.pass_to(1)
        assert view.asked == [0, 1, 2, 3, 4]
        await pilot.pause()
        assert app.texts()[0].split()[-1] == "1"
        view.pass_to(0.5)
        assert view.asked == []


async def test_the_line_under_the_cursor_is_painted_whole_as_it_comes_and_goes() -> None:
    view = Countdowns()
    async with shown(view):
        view.painted.clear()
        view.lit = 2
        view.redraw()
        assert view.painted == [Region(0, 2, 40, 1)]


async def test_scrolling_paints_only_what_differs() -> None:
    view = Countdowns(count=500)
    async with shown(view, size=(40, 10)) as (app, pilot):
        view.painted.clear()
        view.scroll_to(y=5, animate=False, force=True)
        await pilot.pause()
        assert all(region.width < 10 for region in view.painted)
        assert app.texts()[0].startswith("line    5")


async def test_another_theme_and_another_size_draw_all_anew() -> None:
    view = Countdowns()
    async with shown(view) as (app, pilot):
        before = app.screen._compositor.render_strips()[0]
        app.theme = "nord"
        await pilot.pause()
        assert app.screen._compositor.render_strips()[0] != before
        view.now = at(1)
        await pilot.resize_terminal(30, 12)
        await pilot.pause()
        assert app.texts()[0].split()[-1] == "1"


async def test_more_and_fewer_lines_need_no_layout_while_the_scroll_bar_stays() -> None:
    view = Countdowns(count=500)
    async with shown(view, size=(40, 10)) as (app, pilot):
        view.scroll_to(y=490, animate=False, force=True)
        await pilot.pause()
        layouts = view._layout_updates
        view.lines = 600
        view.redraw()
        await pilot.pause()
        assert view.max_scroll_y == 590
        assert view.vertical_scrollbar.window_virtual_size == 600
        view.lines = 300
        view.redraw()
        await pilot.pause()
        assert view.scroll_offset.y == 290
        assert app.texts()[9].startswith("line  299")
        assert view._layout_updates == layouts


async def test_the_same_lines_again_cost_nothing() -> None:
    view = Lines()
    async with shown(view) as (app, pilot):
        view.show([(Span("one"),)])
        await pilot.pause()
        assert app.texts()[0] == "one"
        looked = view._drawn
        view.show([(Span("one"),)])
        assert view._drawn is looked
        view.show([(Span("two"),)])
        await pilot.pause()
        assert app.texts()[0] == "two"


async def test_lines_shown_while_hidden_are_there_afterwards() -> None:
    view, other = Lines(), Lines()
    async with shown(view, other) as (app, pilot):
        view.show([(Span("one"),)])
        view.display = False
        await pilot.pause()
        view.show([(Span("two"),)])
        await pilot.pause()
        view.display = True
        await pilot.pause()
        assert app.texts()[0] == "two"


async def test_a_blank_beside_a_label_is_not_part_of_it() -> None:
    view = Lines()
    async with shown(view) as (app, pilot):
        view.show([(Span(" PROD ", Role.LABEL_RED, strong=True), Span("  "), Span("db"))])
        await pilot.pause()
        first, second = list(app.screen._compositor.render_strips()[0])[:2]
        assert first.text == " PROD "
        assert second.text.startswith("  db")
