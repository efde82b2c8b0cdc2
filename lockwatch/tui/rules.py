"""The lines that part what is on the screen."""

from __future__ import annotations

from lockwatch.cells import fit, width
from lockwatch.tui.spans import Line, Role, Span, crop


def rule(title: str, cells: int, role: Role = Role.DIM) -> Line:
    """A line across the screen, with a title."""
    shown = fit(title, max(0, cells - 5))
    if not shown:
        return (Span("─" * cells, Role.RULE),)
    line = (Span("─ ", Role.RULE), Span(shown, role, strong=True), Span(" ", Role.RULE))
    return crop((*line, Span("─" * max(0, cells - 3 - width(shown)), Role.RULE)), cells)
