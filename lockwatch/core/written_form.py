"""Which stored times a server can compare with another: those in the written form. Others are read, and judged here."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import ColumnElement, Integer, Select, bindparam, literal_column, select

from lockwatch.core.schema import locks
from lockwatch.core.words import ROW

_LONG_MONTH: Final = "(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])"
_SHORT_MONTH: Final = "(0[469]|11)-(0[1-9]|[12][0-9]|30)"
_FEBRUARY: Final = "02-(0[1-9]|1[0-9]|2[0-8])"  # the 29th is left to Python, which knows the years
_TIME: Final = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9][.][0-9]{6}Z"
_MOMENT: Final = f"^[1-9][0-9]{{3}}-({_LONG_MONTH}|{_SHORT_MONTH}|{_FEBRUARY})T{_TIME}$"
_SHAPE: Final = "____-__-__T__:__:__.______Z"


def is_moment(matches: str) -> ColumnElement[bool]:
    """Whether the expiry names a moment in the written form for certain; by a regular expression."""
    form: ColumnElement[str] = literal_column(f"'{_MOMENT}'")
    return locks.c.expires_at.bool_op(matches)(form) & has_shape()


def has_shape() -> ColumnElement[bool]:
    """Whether the expiry has the shape of the written form. That is cheap to tell, but it may name no moment."""
    shape: ColumnElement[str] = literal_column(f"'{_SHAPE}'")
    return locks.c.expires_at.bool_op("LIKE")(shape)


def others(judged: ColumnElement[bool]) -> Select[Any]:
    """The next `size` rows after one whose expiry is not judged so."""
    is_next = locks.c.id > bindparam("after")
    return select(*ROW).where(is_next, ~judged).order_by(locks.c.id).limit(bindparam("size", type_=Integer))
