from __future__ import annotations

import subprocess
import sys

import pytest
from rich.color import ColorType
from rich.style import Style
from textual.app import App

from lockwatch.tui import themes
from lockwatch.tui.palette import COLOURLESS, SIXTEEN, Palette, contrast, mixed, readable
from lockwatch.tui.spans import LABELS, Role, Span
from lockwatch.tui.themes import ANSI, DARK, LIGHT, install, palette_of

TEXTS = [role for role in Role if role not in (Role.RULE, Role.FAINT, Role.ALARM, *LABELS.values())]


def palette(name: str) -> Palette:
    app: App[None] = App()
    install(app, name)
    return palette_of(app)


def contrast_of(style: Style) -> float:
    assert style.color is not None
    assert style.bgcolor is not None
    return contrast(style.color.get_truecolor().hex, style.bgcolor.get_truecolor().hex)


@pytest.mark.parametrize("name", themes.names())
def test_every_theme_has_a_look_for_every_role_and_no_text_is_without_a_style(name: str) -> None:
    look = palette(name)
    for role in Role:
        for strong in (False, True):
            for lit in (False, True):
                assert look.style_of(Span("x", role, strong), under_cursor=lit)


@pytest.mark.parametrize("name", [name for name in themes.names() if not name.startswith("ansi")])
def test_states_keys_and_labels_are_readable_in_every_theme_and_under_the_cursor(name: str) -> None:
    look = palette(name)
    for lit in (False, True):
        for role in TEXTS if name != DARK else [*LABELS.values(), Role.ALARM]:
            assert contrast_of(look.style_of(Span("x", role), under_cursor=lit)) >= 4.5, (role, lit)
    for role in (*LABELS.values(), Role.ALARM):
        assert contrast_of(look.style_of(Span("x", role))) >= 4.5, role


def test_in_the_light_theme_even_faint_texts_are_readable() -> None:
    assert contrast_of(palette(LIGHT).style_of(Span("x", Role.FAINT))) >= 4.5


@pytest.mark.parametrize("name", [DARK, LIGHT])
def test_our_themes_tell_the_states_apart(name: str) -> None:
    look = palette(name)
    states = (Role.HELD, Role.EXPIRING, Role.STALE, Role.UNREADABLE, Role.LATE, Role.TEXT)
    assert len({look.style_of(Span("x", role)).color for role in states}) == len(states)


def test_the_sixteen_colours_are_the_terminals_own() -> None:
    for role in Role:
        style = SIXTEEN.style_of(Span("x", role))
        for colour in (style.color, style.bgcolor):
            assert colour is not None
            assert colour.type in (ColorType.STANDARD, ColorType.DEFAULT)


def test_without_colours_the_cursor_and_what_calls_out_are_reversed() -> None:
    for role in Role:
        plain, lit = (COLOURLESS.style_of(Span("x", role), under_cursor=under) for under in (False, True))
        assert (plain.color, plain.bgcolor, lit.color, lit.bgcolor) == (None,) * 4
        assert lit.reverse
        assert bool(plain.reverse) == (role is Role.ALARM or role in LABELS.values())


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, DARK),
        ({"TERM": "xterm-256color"}, DARK),
        ({"TERM": "xterm"}, ANSI),
        ({"TERM": "linux"}, ANSI),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": "1"}, ANSI),
    ],
)
def test_the_theme_follows_what_the_terminal_can_show(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], name: str
) -> None:
    for variable in ("TERM", "COLORTERM", "NO_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    assert theme_on_a_terminal() == name


def theme_on_a_terminal() -> str:
    """The default theme of an app on a terminal; the one of these tests is none."""
    import os
    import pty

    program = (
        "from textual.app import App; from lockwatch.tui.themes import install; app = App(); install(app);"
        "print(app.theme)"
    )
    master, slave = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=slave, stdin=slave, check=True
    )
    os.close(slave)
    os.close(master)
    return done.stdout.decode().strip()


def test_a_theme_that_is_chosen_is_used() -> None:
    app: App[None] = App()
    install(app, "nord")
    assert app.theme == "nord"
    assert palette_of(app) is not palette(DARK)


def test_ours_come_first_among_the_names_and_all_can_be_installed() -> None:
    names = themes.names()
    assert names[:3] == [DARK, LIGHT, ANSI]
    assert {"nord", "textual-dark", "solarized-light"} <= set(names)
    assert len(set(names)) == len(names)


def test_a_colour_is_moved_only_as_far_as_it_takes() -> None:
    assert readable("#ffffff", "#000000", 4.5) == "#ffffff"
    moved = readable("#777777", "#808080", 4.5)
    assert 4.5 <= contrast(moved, "#808080") < 6
    assert mixed("#000000", "#ffffff", 0.5) == "#808080"


def test_names_of_themes_are_told_apart_from_what_loads_a_screen() -> None:
    loaded = "import lockwatch.tui.themes, sys; print([name for name in sys.modules if name.startswith('textual')])"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
