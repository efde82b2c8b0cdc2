"""Whether the table `locks` of a MariaDB database can give out fencing tokens."""

from __future__ import annotations

from typing import Final

from lockwatch.core.dialect import UPGRADE_HINT, Session
from lockwatch.core.errors import DatabaseError
from lockwatch.core.schema import EXACT
from lockwatch.core.statements import COLUMNS

_COLUMNS: Final = """
SELECT c.column_name, c.collation_name, c.extra LIKE '%%auto_increment%%', t.engine, @@innodb_autoinc_lock_mode
FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
WHERE table_schema = DATABASE() AND table_name = 'locks'
"""
_UNIQUE_KEYS: Final = """
SELECT GROUP_CONCAT(column_name ORDER BY column_name) FROM information_schema.statistics
WHERE table_schema = DATABASE() AND table_name = 'locks' AND non_unique = 0
GROUP BY index_name HAVING MAX(sub_part) IS NULL
"""
_INTERLEAVED: Final = 2


def check_table(session: Session) -> str | None:
    """Why it cannot; None if it can.

    Raises:
        DatabaseError: the table is missing or not lockwatch's.
    """
    columns = {row[0].lower(): row[1:] for row in session.execute(_COLUMNS).fetchall()}
    if not columns:
        raise DatabaseError(f"the database has no table `locks` yet; {UPGRADE_HINT}")
    missing = [name for name in COLUMNS if name not in columns]
    if missing:
        raise DatabaseError(f"the table `locks` is not lockwatch's: it has no column {', '.join(missing)}")
    _, counts_up, engine, counting = columns["id"]
    if not counts_up or engine != "InnoDB":
        return "ids of the table `locks` can come back"
    if counting == _INTERLEAVED:
        return "ids of the table `locks` can come out of order, since innodb_autoinc_lock_mode is 2, not 1"
    if any(columns[name][0] != EXACT for name in ("resource_type", "resource_id")):
        return "the table `locks` takes ids for one another that differ by case or accent"
    is_unique = ("resource_id,resource_type",) in [tuple(row) for row in session.execute(_UNIQUE_KEYS).fetchall()]
    return None if is_unique else "the table `locks` can have two rows of one resource"
