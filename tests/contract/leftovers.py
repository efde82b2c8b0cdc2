"""Databases and users that a run of the tests left behind on a server because it was killed."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import count
from typing import Any, Final

import psycopg
import pymysql  # type: ignore[import-untyped] # the driver has no types

OLD_SECS: Final = 3600
"""From which age on nobody can be using it any more."""
_numbers: Final = count()
_NAME: Final = re.compile(r"lockwatch_test_(\d{10,})_")
_LISTS: Final = {
    "postgres": ("SELECT datname FROM pg_database", "SELECT rolname FROM pg_roles"),
    "mysql": ("SELECT schema_name FROM information_schema.schemata", "SELECT user FROM mysql.user"),
}
_DROPS: Final = {
    "postgres": ('DROP DATABASE IF EXISTS "{}" WITH (FORCE)', 'DROP ROLE IF EXISTS "{}"'),
    "mysql": ("DROP DATABASE IF EXISTS `{}`", "DROP USER IF EXISTS `{}`"),
}
"""Databases first: a role that may do something in one cannot be dropped."""


def new_name() -> str:
    """A name for a database of this process, that tells when it was made. Users of it have names that begin so."""
    return f"lockwatch_test_{time.time():.0f}_{os.getpid()}_{next(_numbers)}"


def old(names: Iterable[str], now: float) -> list[str]:
    """Those that tests made so long ago that nobody uses them."""
    found = [(name, _NAME.match(name)) for name in names]
    return [name for name, match in found if match and now - int(match[1]) > OLD_SECS]


def drop(kind: str, run: Callable[[str], list[Any]]) -> None:
    """Drop what is left behind on a server. Another process may be doing the same."""
    for listing, dropping in zip(_LISTS[kind], _DROPS[kind], strict=True):
        for name in old([str(row[0]) for row in run(listing)], time.time()):
            with suppress(psycopg.Error, pymysql.err.Error):
                run(dropping.format(name))
