"""One line of the table for one lock."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from lockwatch.cells import fit, pad, width
from lockwatch.core.model import Lock
from lockwatch.core.text import clean
from lockwatch.tui.board import Board
from lockwatch.tui.columns import Columns
from lockwatch.tui.diff import lease_of
from lockwatch.tui.ghosts import Ghost
from lockwatch.tui.ranking import Sort
from lockwatch.tui.spans import Line, Role, Span, blanks, crop
from lockwatch.tui.wish import Standing
from lockwatch.tui.words import brief, how_it_went, how_it_went_briefly, since

CURSOR: Final = "▸"
MARK: Final = "✓"
GHOST: Final = "┄"
GLYPHS: Final = {
    Standing.HELD: "●",
    Standing.EXPIRING: "◐",
    Standing.STALE: "✗",
    Standing.LATE: "◔",
    Standing.UNREADABLE: "?",
}
ROLES: Final = {
    Standing.HELD: Role.HELD,
    Standing.EXPIRING: Role.EXPIRING,
    Standing.STALE: Role.STALE,
    Standing.LATE: Role.LATE,
    Standing.UNREADABLE: Role.UNREADABLE,
}
_ROOM_FOR_MARK: Final = 4
"""Cells of a lead that has room for cursor, mark and glyph."""
_URGENT: Final = (Standing.STALE, Standing.EXPIRING, Standing.LATE)


def heading(columns: Columns, sort: Sort) -> Line:
    """The names of the columns; an arrow at the one that the rows are sorted by."""
    names = (
        ("RESOURCE", columns.resource, False),
        ("OWNER", columns.owner, False),
        ("STATE", columns.state, False),
        ("LEFT", columns.left, True),
        ("", columns.bar, True),
        ("HELD", columns.held, True),
        ("TTL", columns.ttl, True),
        ("FENCE", columns.fence, True),
    )
    line = [blanks(columns.lead - 1)]
    for name, cells, right in names:
        if cells:
            is_sorted = name == sort.column.upper()
            shown = f"{name}{arrow(sort)}" if is_sorted else name
            role = Role.DIM if is_sorted else Role.FAINT
            line += [blanks(1), Span(pad(shown, cells, right=right), role, strong=True)]
    return tuple(line)


def arrow(sort: Sort) -> str:
    """Which way the rows are sorted."""
    return "▼" if sort.is_descending else "▲"


def row(board: Board, lock: Lock, now: datetime, columns: Columns, *, selected: bool) -> Line:
    """One lock, or the ghost of one."""
    ghost = board.ghost(lock)
    if ghost is not None:
        return _ghost_row(ghost, now, columns, selected)
    state = board.standing(lock, now)
    role = ROLES[state]
    is_marked = lease_of(lock) in board.marks
    line = [
        *_lead(columns, GLYPHS[state], role, selected, is_marked),
        *resource(lock, columns.resource, strong=selected),
    ]
    if columns.owner:
        line += [blanks(1), *owner(lock, columns.owner)]
    if columns.state:
        word = state.upper() if columns.is_wide else str(state)
        line += [blanks(1), Span(pad(word, columns.state), role)]
    if columns.left:
        urgent = state in _URGENT
        left = pad(brief(lock.remaining(now)), columns.left, right=True)
        line += [blanks(1), Span(left, role if urgent else Role.TEXT, strong=urgent)]
    if columns.bar:
        line += [blanks(2), *bar(board.lives.share_left(lock, now), columns.bar - 1, role)]
    return (*line, *_numbers(board, lock, now, columns))


def resource(lock: Lock, cells: int, *, strong: bool = False) -> Line:
    """A resource in so many cells: its type dim and whole as long as that leaves the id some room."""
    kind = f"{clean(lock.resource_type)}/"
    if width(kind) > cells // 2:
        return (Span(pad(clean(lock.resource), cells), strong=strong),)
    return (Span(kind, Role.DIM), Span(pad(clean(lock.resource_id), cells - width(kind)), strong=strong))


def owner(lock: Lock, cells: int) -> Line:
    """An owner in so many cells: what comes after its `@`, host and process, is dim."""
    text = pad(clean(lock.owner_id), cells)
    name, at, place = text.partition("@")
    return (Span(name), Span(at + place, Role.DIM)) if at and name else (Span(text),)


def bar(share: float, cells: int, role: Role) -> Line:
    """A share from 0 to 1 as a thin bar, to half a cell. Heavy is left, light is spent: without colour too."""
    halves = max(1, round(share * cells * 2)) if share > 0 else 0
    full, half = divmod(halves, 2)
    heavy = "━" * full + "╾" * half
    return (
        (Span(heavy, role), Span("─" * (cells - len(heavy)), Role.RULE)) if heavy else (Span("─" * cells, Role.RULE),)
    )


def _lead(columns: Columns, glyph: str, role: Role, selected: bool, is_marked: bool = False) -> Line:
    """Cursor, mark and glyph; where there is no room for all, the mark stands for the cursor, which is lit anyway."""
    pointer, mark = CURSOR if selected else " ", MARK if is_marked else " "
    if columns.lead < _ROOM_FOR_MARK:
        pointer, mark = mark if is_marked else pointer, ""
    return crop((Span(pointer + mark, Role.KEY), Span(glyph, role), blanks(1 if columns.lead > 2 else 0)), columns.lead)


def _numbers(board: Board, lock: Lock, now: datetime, columns: Columns) -> Line:
    """How long it is held, its TTL, its fence."""
    line: list[Span] = []
    if columns.held:
        held = since(lock.acquired_at, now) if lock.acquired_at else "–"
        line += [blanks(1), Span(pad(held, columns.held, right=True), Role.DIM)]
    if columns.ttl:
        ttl = board.lives.ttl(lock)
        line += [blanks(1), Span(pad(str(ttl) if ttl else "–", columns.ttl, right=True), Role.DIM)]
    if columns.fence:
        line += [blanks(1), Span(pad(str(lock.id), columns.fence, right=True), Role.FAINT)]
    return tuple(line)


def _ghost_row(ghost: Ghost, now: datetime, columns: Columns, selected: bool) -> Line:
    lead = _lead(columns, GHOST, Role.FAINT, selected)
    name = f"{clean(ghost.lock.resource_type)}/"
    kind = Span(name if width(name) <= columns.resource // 2 else "", Role.FAINT)
    rest = clean(ghost.lock.resource_id if kind.text else ghost.lock.resource)
    named = Span(fit(rest, columns.resource - width(kind.text)), Role.DIM)
    told = how_it_went(ghost, now) if columns.is_wide else how_it_went_briefly(ghost, now)
    words = Span(told, Role.DIM, slanted=True)
    return (*lead, kind, named, blanks(3 if columns.owner else 1), words)
