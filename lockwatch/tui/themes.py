"""The themes: our own dark and light ones, the terminal's 16 colours, and all of Textual's by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from lockwatch.tui.palette import COLOURLESS, SIXTEEN, Palette, coloured, mixed, readable
from lockwatch.tui.spans import Role

if TYPE_CHECKING:
    from textual.app import App
    from textual.theme import Theme

DARK: Final = "lockwatch"
LIGHT: Final = "lockwatch-light"
ANSI: Final = "ansi"

_READABLE: Final = 4.5
"""The contrast that a text must have, by WCAG 2's AA."""
_GROUNDS: Final = {DARK: ("#0f1216", "#1e2a3a"), LIGHT: ("#fbfbf9", "#dde8f5")}
"""The backgrounds of our themes, and of the line under the cursor."""
_INKS: Final = {
    DARK: {
        Role.TEXT: "#c8ccd4",
        Role.DIM: "#7d8590",
        Role.FAINT: "#4b525c",
        Role.RULE: "#2b3038",
        Role.KEY: "#79b8ff",
        Role.HELD: "#6cc28a",
        Role.EXPIRING: "#e3b341",
        Role.STALE: "#f2686d",
        Role.UNREADABLE: "#e88e5a",
        Role.LATE: "#b692f6",
        Role.YOU: "#79b8ff",
    },
    LIGHT: {
        Role.TEXT: "#24292f",
        Role.DIM: "#59636e",
        Role.FAINT: "#656d76",
        Role.RULE: "#d3d8de",
        Role.KEY: "#0757ba",
        Role.HELD: "#116329",
        Role.EXPIRING: "#7d4e00",
        Role.STALE: "#b3161f",
        Role.UNREADABLE: "#953800",
        Role.LATE: "#6a36c4",
        Role.YOU: "#0757ba",
    },
}
_LABELS: Final = {
    "red": "#d1383f",
    "orange": "#e8843c",
    "yellow": "#e3b341",
    "green": "#5fb37c",
    "blue": "#4a8fe0",
    "purple": "#9a74e6",
    "grey": "#8b939e",
}
"""Grounds of labels. They are the same in every theme but the 16 colours: production looks like production."""

_palettes: dict[str, Palette] = {ANSI: SIXTEEN}


def names() -> list[str]:
    """Every theme there is, ours first."""
    from textual.theme import BUILTIN_THEMES

    return [DARK, LIGHT, ANSI, *sorted(BUILTIN_THEMES)]


def install(app: App[Any], name: str | None = None) -> None:
    """Give an app its theme. None: our dark one, or the terminal's 16 colours where no more can or may be used."""
    for theme in (_own(DARK), _own(LIGHT), _sixteen()):
        app.register_theme(theme)
    has_few = app.no_color or app.console.color_system in (None, "standard", "windows")
    app.theme = name or (ANSI if has_few else DARK)


def palette_of(app: App[Any]) -> Palette:
    """What an app's texts look like now."""
    if app.no_color:
        return COLOURLESS
    name = app.theme
    if name not in _palettes:
        _palettes[name] = _palette(app.current_theme)
    return _palettes[name]


def _palette(theme: Theme) -> Palette:
    """The roles in the colours of a theme."""
    if theme.ansi:
        return SIXTEEN
    if theme.name in _INKS:
        background, cursor = _GROUNDS[theme.name]
        return coloured(_INKS[theme.name], _LABELS, background=background, cursor=cursor)
    colours = _hues(theme)
    ground, text = colours["background"], colours["foreground"]
    cursor = mixed(ground, colours["primary"], 0.2)
    return coloured(_inks(colours, ground, cursor, text), _LABELS, background=ground, cursor=cursor)


def _inks(colours: Mapping[str, str], ground: str, cursor: str, text: str) -> dict[Role, str]:
    """A colour for each role, moved as far as it takes to be read, under the cursor too."""
    wanted = {
        Role.TEXT: text,
        Role.DIM: mixed(text, ground, 0.35),
        Role.KEY: colours["accent"],
        Role.HELD: colours["success"],
        Role.EXPIRING: colours["warning"],
        Role.STALE: colours["error"],
        Role.UNREADABLE: mixed(colours["warning"], colours["error"], 0.5),
        Role.LATE: "#9a74e6",
        Role.YOU: colours["accent"],
    }
    inks = {role: readable(readable(colour, ground, _READABLE), cursor, _READABLE) for role, colour in wanted.items()}
    return inks | {Role.FAINT: readable(mixed(text, ground, 0.6), ground, 3), Role.RULE: mixed(text, ground, 0.8)}


def _hues(theme: Theme) -> dict[str, str]:
    """A theme's colours, with those that it leaves to be derived, as `#rrggbb`."""
    from textual.color import Color

    given = theme.to_color_system().generate()
    wanted = ("background", "foreground", "primary", "accent", "success", "warning", "error")
    return {name: Color.parse(given[name]).hex6.lower() for name in wanted}


def _own(name: str) -> Theme:
    from textual.theme import Theme

    inks, (ground, _cursor) = _INKS[name], _GROUNDS[name]
    return Theme(
        name=name,
        primary=inks[Role.KEY],
        accent=inks[Role.KEY],
        foreground=inks[Role.TEXT],
        background=ground,
        surface=ground,
        panel=mixed(ground, inks[Role.TEXT], 0.06),
        success=inks[Role.HELD],
        warning=inks[Role.EXPIRING],
        error=inks[Role.STALE],
        dark=name == DARK,
        variables=_scrollbar(inks[Role.RULE], inks[Role.FAINT], inks[Role.DIM], ground),
    )


def _sixteen() -> Theme:
    from textual.theme import BUILTIN_THEMES

    return replace(BUILTIN_THEMES["ansi-dark"], name=ANSI)


def _scrollbar(bar: str, hover: str, active: str, ground: str) -> dict[str, str]:
    grounds = ("scrollbar-background", "scrollbar-background-hover", "scrollbar-background-active")
    return {
        "scrollbar": bar,
        "scrollbar-hover": hover,
        "scrollbar-active": active,
        **dict.fromkeys((*grounds, "scrollbar-corner-color"), ground),
    }
