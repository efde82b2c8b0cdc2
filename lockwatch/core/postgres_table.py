"""Whether the table `locks` of a PostgreSQL database can give out fencing tokens."""

from __future__ import annotations

from typing import Final

from lockwatch.core.dialect import UPGRADE_HINT, Session
from lockwatch.core.errors import DatabaseError
from lockwatch.core.statements import COLUMNS

_TABLE: Final = """
SELECT columns, counts_up, is_kept, is_exact, EXISTS (
    SELECT FROM pg_index WHERE indrelid = oid AND indisunique AND indimmediate AND indisvalid AND indnkeyatts = 2
      AND indpred IS NULL AND indexprs IS NULL AND NOT EXISTS (
        SELECT FROM pg_collation WHERE oid = ANY (indcollation::oid[]) AND NOT collisdeterministic) AND (
        SELECT array_agg(attname::text ORDER BY attname) FROM pg_attribute
        WHERE attrelid = oid AND attnum = ANY (indkey::int2[])) = ARRAY['resource_id', 'resource_type'])
FROM (
    SELECT c.oid, columns, is_exact, relpersistence <> 'u' AS is_kept, CASE WHEN 'id' = ANY (columns) THEN (
        SELECT NOT seqcycle AND seqcache = 1 AND seqincrement > 0 FROM pg_sequence
        WHERE seqrelid = pg_get_serial_sequence(c.oid::regclass::text, 'id')::regclass) END AS counts_up
    FROM pg_class c, LATERAL (
        SELECT array_agg(attname::text) AS columns, bool_and(coalesce(collisdeterministic, true)) AS is_exact
        FROM pg_attribute LEFT JOIN pg_collation ON pg_collation.oid = attcollation
        WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) a
    WHERE c.oid = to_regclass('locks')) found
"""


def check_table(session: Session) -> str | None:
    """Why it cannot; None if it can.

    Raises:
        DatabaseError: the table is missing or not lockwatch's.
    """
    found = session.execute(_TABLE).fetchall()
    if not found:
        raise DatabaseError(f"the database has no table `locks` yet; {UPGRADE_HINT}")
    ((columns, counts_up, is_kept, is_exact, is_unique),) = found
    missing = [name for name in COLUMNS if name not in columns]
    if missing:
        raise DatabaseError(f"the table `locks` is not lockwatch's: it has no column {', '.join(missing)}")
    if not counts_up:
        return "ids of the table `locks` can come back, or out of order"
    if not is_kept:
        return "the table `locks` is UNLOGGED, and a server that crashes forgets it"
    if not is_exact:
        return "the table `locks` takes ids for one another that differ by case or accent"
    return None if is_unique else "the table `locks` can have two rows of one resource"
