"""The first two lines: which database, how many locks stand how, how fresh that is, and what is listed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from lockwatch.cells import fit, width
from lockwatch.core.text import clean, duration
from lockwatch.tui.editor import Editor
from lockwatch.tui.freshness import SKEW_SECS, Link
from lockwatch.tui.rows import GLYPHS, ROLES, arrow
from lockwatch.tui.scene import Scene
from lockwatch.tui.spans import LABELS, Line, Role, Span, apart, blanks, crop, muted, width_of
from lockwatch.tui.wish import Standing
from lockwatch.tui.words import number, plural

_TOOK_MS: Final = (10, 30, 100, 300, 1000)
"""The steps in which a poll's own time is told, in milliseconds."""
_LEAST_NAME: Final = 24
"""So many cells of the name are worth more than how many locks are held."""
_LEAST_TAIL: Final = 8
"""So many cells of its end are worth more than words for what is urgent."""
_LEAST_LEGIBLE: Final = 4
_ALWAYS: Final = (Standing.HELD, Standing.EXPIRING, Standing.STALE)
"""Of these it is worth a word that there are none."""
_FOR_A_PERSON: Final = (Standing.STALE, Standing.UNREADABLE)
_URGENT: Final = (Standing.EXPIRING, Standing.LATE, *_FOR_A_PERSON)


def header(scene: Scene, cells: int) -> Line:
    """Label, database, counts and freshness. The name gives way to what is urgent, which is told in signs at last."""
    label, name = label_of(scene), scene.look.name
    room = cells - width_of(label) - 3
    right = _right(scene, room, whole=min(width(name), _LEAST_NAME), tail=min(width(name), _LEAST_TAIL))
    return apart((blanks(1), *label, *_name(name, room - width_of(right))), (*right, blanks(1)), cells)


def _right(scene: Scene, room: int, *, whole: int, tail: int) -> Line:
    """As many counts, and as much of the freshness, as leave the name the cells that it is worth beside them."""
    freshness, age = _freshness(scene), _freshness(scene, short=True)
    counts = _counts(scene, tuple(Standing), always=_ALWAYS)
    urgent, signs = _counts(scene, _URGENT), _signs(scene, _URGENT)
    choices: list[tuple[int, Line]] = [
        (whole, (*counts, *freshness, *_pace(scene, took=True))),
        (whole, (*counts, *freshness, *_pace(scene))),
        (whole, (*counts, *freshness)),
        (whole, (*_counts(scene, tuple(Standing)), *freshness)),
        (whole, (*urgent, *freshness)),
        (tail, (*urgent, *freshness)),
        (tail, (*signs, *freshness)),
        (tail, (*signs, *age)),
        (0, (*signs, *age)),
        (0, (*_signs(scene, _FOR_A_PERSON), *age)),
    ]
    return next((line for least, line in choices if least + width_of(line) <= room), age)


def label_of(scene: Scene) -> Line:
    """What people call the database, in its colour; nothing if they do not."""
    label = scene.look.label
    role = LABELS.get(scene.look.colour, Role.LABEL_GREY)
    return (Span(f" {label} ", role, strong=True), blanks(1)) if label else ()


def filter_line(scene: Scene, cells: int, editor: Editor | None = None) -> Line:
    """What is listed, and of how many; while it is being typed with its caret."""
    right = (*_shown(scene), blanks(1))
    slash: Line = (blanks(1), Span("/ ", Role.KEY, strong=True))
    if editor is not None:
        return apart((*slash, *_typed(editor, cells)), right, cells)
    room = max(0, cells - width_of(right) - 1)
    return apart(crop((*slash, *_what_is_listed(scene, room - width_of(slash))), room), right, cells)


def _shown(scene: Scene) -> Line:
    board = scene.board
    if not board.is_filled:
        return ()
    shown = f"{number(board.shown)} of {number(board.total)} shown" if board.filter else plural(board.total, "lock")
    marked = len(board.marks)
    return (
        Span(shown, Role.DIM, strong=True),
        *([Span(f" · {number(marked)} marked", Role.KEY, strong=True)] if marked else []),
    )


def _what_is_listed(scene: Scene, cells: int) -> Line:
    """Text, state, owner, type and order. What is filtered by stays, what is not gives way."""
    wanted = scene.board.filter
    narrowed: list[Line] = []
    if wanted.text:
        narrowed.append((Span(wanted.text, strong=True),))
    if wanted.standing is not None:
        narrowed.append((Span("only ", Role.DIM), Span(wanted.standing, ROLES[wanted.standing], strong=True)))
    if wanted.owner is not None:
        narrowed.append((Span("owner ", Role.DIM), Span(clean(wanted.owner), strong=True)))
    if wanted.resource_type is not None:
        narrowed.append((Span("type ", Role.DIM), Span(clean(wanted.resource_type), strong=True)))
    order: Line = (Span(f"by {scene.board.sort.column.meaning} {arrow(scene.board.sort)}", Role.DIM, strong=True),)
    faint: Line = (Span("filter", Role.FAINT, strong=True),)
    every_state: Line = (Span("all states", Role.DIM, strong=True),)
    skew = _skew(scene)
    choices = [
        [*(narrowed or [faint, every_state]), order, *skew],
        [*(narrowed or [faint]), *skew, *([] if skew else [order])],
        [*(narrowed or [faint]), order],
        narrowed or [faint],
    ]
    lines = [_joined(choice) for choice in choices]
    return next((line for line in lines if width_of(line) <= cells), lines[-1])


def _joined(parts: list[Line]) -> Line:
    spans: list[Span] = []
    for part in parts:
        spans += [*([blanks(3)] if spans else []), *part]
    return tuple(spans)


def _freshness(scene: Scene, *, short: bool = False) -> Line:
    """Whether the data can be believed, and how old it is."""
    age = _age(scene.age())
    has_data = scene.freshness.polled is not None
    match scene.link():
        case Link.LIVE:
            return (Span("●" if short else "● live", Role.HELD), Span(f" {age}", Role.DIM))
        case Link.CONNECTING:
            return (Span("○" if short else "○ connecting", Role.EXPIRING), Span(f" {age}", Role.DIM))
        case Link.PAUSED:
            old = f" {age}" if short else f" data {age} old"
            return (Span(" PAUSED ", Role.LABEL_YELLOW, strong=True), Span(old, Role.EXPIRING, strong=True))
        case Link.DISCONNECTED:
            old = f" {age}" if short else f" data {age} old" if has_data else f" for {age}"
            return (Span(" DISCONNECTED ", Role.ALARM, strong=True), Span(old, Role.STALE, strong=True))


def _pace(scene: Scene, *, took: bool = False) -> Line:
    """How often the table is read; and how long that takes, where it makes it less often."""
    if scene.link() is not Link.LIVE:
        return ()
    every = f" every {_pace_text(scene.freshness.every)}"
    return (Span(every + (f" · {_coarsely(scene.freshness.took)}" if took else ""), Role.FAINT),)


def _counts(scene: Scene, wanted: Collection[Standing], *, always: Collection[Standing] = ()) -> Line:
    """How many locks stand so, in words, if there are any; of those that are told always, also if there is none."""
    line: list[Span] = []
    for state, count in _standings(scene).items():
        if state in wanted and (count or state in always):
            role = ROLES[state] if count else Role.DIM
            line += [Span(number(count), role, strong=True), Span(f" {state}", Role.DIM), blanks(2)]
    return _as_fresh(scene, tuple(line))


def _signs(scene: Scene, wanted: Collection[Standing]) -> Line:
    """The same in the glyphs of the table, which take the fewest cells."""
    counts = [(state, count) for state, count in _standings(scene).items() if count and state in wanted]
    signs = tuple(Span(f"{GLYPHS[state]}{number(count)} ", ROLES[state], strong=True) for state, count in counts)
    return _as_fresh(scene, (*signs, blanks(1)) if signs else ())


def _standings(scene: Scene) -> dict[Standing, int]:
    """How many locks stand how, as it is told from left to right; nothing before the first answer."""
    now = scene.now()
    if now is None:
        return {}
    counts = scene.board.counts(now)
    return {
        Standing.HELD: counts.held,
        Standing.EXPIRING: counts.expiring,
        Standing.LATE: counts.late,
        Standing.STALE: counts.stale,
        Standing.UNREADABLE: counts.unreadable,
    }


def _as_fresh(scene: Scene, counts: Line) -> Line:
    """Counts that may be old call nobody."""
    return muted(counts) if scene.link() is Link.DISCONNECTED else counts


def _name(name: str, room: int) -> Line:
    """If it is a path its folder is dim, and gives way. So few cells that they tell nothing are left empty."""
    if room < _LEAST_LEGIBLE:
        return ()
    folder, slash, base = name.rpartition("/")
    if not base:
        return (Span(fit(name, room), strong=True),)
    kept = fit(base, room)
    return (Span(fit(folder + slash, max(0, room - width(kept))), Role.DIM), Span(kept, strong=True))


def _typed(editor: Editor, cells: int) -> Line:
    """The text and its caret: the end of it, if it is too long."""
    before, after = editor.text[: editor.caret], editor.text[editor.caret :]
    while width(before) > max(1, cells - 24):
        before = before[1:]
    return (Span(before, strong=True), Span("▏", Role.KEY, strong=True), Span(after, strong=True))


def _skew(scene: Scene) -> list[Line]:
    skew = scene.freshness.skew
    if abs(skew) < SKEW_SECS:
        return []
    way = "ahead of" if skew > 0 else "behind"
    words = f"this machine's clock is {duration(round(abs(skew)))} {way} the database's"
    return [(Span(words, Role.EXPIRING),)]


def _age(seconds: float) -> str:
    """In whole seconds, so that it is drawn again only when it tells something."""
    return duration(seconds) if seconds >= 1 else "<1s"


def _pace_text(seconds: float) -> str:
    return duration(seconds) if seconds >= 10 or seconds == int(seconds) else f"{seconds:.1f}s"


def _coarsely(seconds: float) -> str:
    """In steps so great that it seldom changes while the table does not."""
    for limit in _TOOK_MS:
        if seconds * 1000 < limit:
            return f"<{limit} ms"
    return f"{seconds:.1f} s"
