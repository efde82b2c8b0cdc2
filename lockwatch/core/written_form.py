"""Which stored times a server may judge by comparing text.

Only what is certain: the written form of a moment that there is. All others are read, and judged in Python.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import ColumnElement, Integer, Select, bindparam, literal_column, select

from lockwatch.core.schema import locks
from lockwatch.core.statements import ROW

_LONG_MONTH: Final = "(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])"
_SHORT_MONTH: Final = "(0[469]|11)-(0[1-9]|[12][0-9]|30)"
_FEBRUARY: Final = "02-(0[1-9]|1[0-9]|2[0-8])"  # the 29th is left to Python, which knows the years
_TIME: Final = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9][.][0-9]{6}Z"
_FORM: Final = f"^(?!0000)[0-9]{{4}}-({_LONG_MONTH}|{_SHORT_MONTH}|{_FEBRUARY})T{_TIME}$"
_LENGTH: Final = 27


def is_judgeable(matches: str, length: str) -> ColumnElement[bool]:
    """Whether the expiry is in the written form, in a dialect's words for a regular expression and a text's length."""
    form: ColumnElement[str] = literal_column(f"'{_FORM}'")
    size: ColumnElement[int] = literal_column(f"{length}(locks.expires_at)")
    in_form: ColumnElement[bool] = locks.c.expires_at.bool_op(matches)(form)
    return in_form & (size == literal_column(str(_LENGTH)))


def others(judgeable: ColumnElement[bool]) -> Select[Any]:
    """The next `size` rows after one whose expiry is in another form."""
    is_next = locks.c.id > bindparam("after")
    return select(*ROW).where(is_next, ~judgeable).order_by(locks.c.id).limit(bindparam("size", type_=Integer))
