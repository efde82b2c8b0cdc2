"""The keys, once: what they do, what they are called in the help, in the hints, and in the command palette."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_FAR: Final = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What some keys do. `keys` are Textual's names, `shown` is what people read, `hint` a word for the last line."""

    keys: tuple[str, ...]
    shown: str
    action: str
    what: str
    hint: str = ""
    name: str = ""
    """What the command palette calls it; empty: it is not in there."""
    writes: bool = False


COMMANDS: Final = (
    Command(
        keys=("r",),
        shown="r",
        action="app.order('release')",
        what="release the marked leases, or else the one under the cursor",
        hint="release",
        name="Release",
        writes=True,
    ),
    Command(
        keys=("n",),
        shown="n",
        action="app.order('renew')",
        what="renew them for their holders",
        hint="renew",
        name="Renew",
        writes=True,
    ),
    Command(
        keys=("p",),
        shown="p",
        action="app.order('purge')",
        what="purge the stale locks that are marked, or else those that match the filter",
        hint="purge stale",
        name="Purge stale locks",
        writes=True,
    ),
    Command(
        keys=("slash",),
        shown="/",
        action="type_filter",
        what="filter by words in resource and owner; enter keeps, esc clears",
        hint="filter",
        name="Filter",
    ),
    Command(
        keys=("s",),
        shown="s",
        action="sort",
        what="sort by the next column: time left, resource, owner, time held, fence",
        hint="sort",
        name="Sort by the next column",
    ),
    Command(keys=("S",), shown="S", action="reverse", what="the other way round", name="Reverse the order"),
    Command(
        keys=("t",),
        shown="t",
        action="next_state",
        what="only one state: held, expiring, stale, late, unreadable, all",
        hint="state",
        name="Show only one state",
    ),
    Command(
        keys=("o",),
        shown="o",
        action="only_owner",
        what="only this owner's locks, or all owners' again",
        hint="owner",
        name="Show only this owner",
    ),
    Command(
        keys=("space",),
        shown="space",
        action="mark",
        what="mark the lease, or take its mark away, and go to the next",
        hint="mark",
        name="Mark",
    ),
    Command(
        keys=("v",),
        shown="v",
        action="mark_range",
        what="mark all from the last mark to the cursor",
        name="Mark a range",
    ),
    Command(
        keys=("asterisk",),
        shown="*",
        action="mark_shown",
        what="mark all that match the filter, or none of them if all are",
        name="Mark all that are shown",
    ),
    Command(keys=("u",), shown="u", action="unmark", what="take all marks away", name="Take all marks away"),
    Command(
        keys=("enter",),
        shown="enter",
        action="detail",
        what="show or hide the detail of the lease under the cursor",
        hint="detail",
        name="Detail",
    ),
    Command(
        keys=("l",),
        shown="l",
        action="activity",
        what="show or hide what happened",
        hint="activity",
        name="Activity",
    ),
    Command(keys=("L",), shown="L", action="app.all_activity", what="all that happened", name="All activity"),
    Command(
        keys=("c",),
        shown="c",
        action="app.copy",
        what="copy what is known of the marked leases, or the one under the cursor",
        name="Copy",
    ),
    Command(
        keys=("z",),
        shown="z",
        action="app.pause",
        what="pause: nothing moves, and nothing can be done, until z again",
        hint="pause",
        name="Pause, or go on",
    ),
    Command(keys=("plus",), shown="+", action="app.pace(1)", what="look less often", name="Look less often"),
    Command(keys=("minus",), shown="-", action="app.pace(-1)", what="look more often", name="Look more often"),
    Command(keys=("ctrl+r",), shown="ctrl+r", action="app.poll_now", what="look at once", name="Look at once"),
    Command(keys=("ctrl+l",), shown="ctrl+l", action="app.repaint", what="repaint", name="Repaint"),
    Command(keys=("j", "down"), shown="j ↓", action="move(1)", what="the next lock"),
    Command(keys=("k", "up"), shown="k ↑", action="move(-1)", what="the previous lock"),
    Command(keys=("g", "home"), shown="g Home", action=f"move({-_FAR})", what="the first lock"),
    Command(keys=("G", "end"), shown="G End", action=f"move({_FAR})", what="the last lock"),
    Command(keys=("pagedown", "ctrl+f"), shown="PgDn", action="page(1)", what="a screen down"),
    Command(keys=("pageup", "ctrl+b"), shown="PgUp", action="page(-1)", what="a screen up"),
    Command(keys=("ctrl+d",), shown="ctrl+d", action="page(0.5)", what="half a screen down"),
    Command(keys=("ctrl+u",), shown="ctrl+u", action="page(-0.5)", what="half a screen up"),
    Command(keys=("ctrl+p", "colon"), shown=": ctrl+p", action="app.command_palette", what="the commands by name"),
    Command(keys=("question_mark",), shown="?", action="app.help", what="help", hint="help", name="Help"),
    Command(keys=(), shown="ctrl+z", action="app.suspend_process", what="suspend; `fg` goes on"),
    Command(keys=("escape",), shown="esc", action="back", what="back: clear the filter, then the marks"),
    Command(keys=("q",), shown="q ctrl+c", action="app.quit", what="quit", hint="quit", name="Quit"),
)
"""All that can be done on the main screen, in the order of the help."""

ACTIONS: Final = {key: command.action for command in COMMANDS for key in command.keys}
"""What each key does."""
