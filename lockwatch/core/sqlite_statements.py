"""SQLite's statements, written out: to compose them takes SQLAlchemy, which loads for longer than all the rest.

What all databases say alike is composed in `words`; a test holds these to it. SQLite has no clock and no way with
ISO-8601: `lockwatch_now`, `lockwatch_later` and `lockwatch_utc` are functions of ours.
"""

from __future__ import annotations

from typing import Final

from lockwatch.core.statements import Statements

_EXTEND: Final = """
UPDATE locks SET expires_at = max(:live_until, lockwatch_later(lockwatch_now(), :ttl))
WHERE locks.id = :lock AND coalesce(CAST(locks.owner_id AS TEXT), '') = CAST(:owner AS TEXT)
AND coalesce(CAST(locks.expires_at AS TEXT), '') = CAST(:expires AS TEXT) AND :live_until > lockwatch_now()
RETURNING expires_at
"""

STATEMENTS: Final = Statements(
    now="SELECT lockwatch_now()",
    insert="""
WITH clock AS MATERIALIZED (SELECT lockwatch_now() AS now)
INSERT INTO locks (owner_id, resource_type, resource_id, acquired_at, expires_at)
SELECT :owner, :type, :resource, clock.now, lockwatch_later(clock.now, :ttl) FROM clock
WHERE NOT (EXISTS (SELECT 1 FROM locks WHERE locks.resource_type = :type AND locks.resource_id = :resource))
RETURNING id, acquired_at, expires_at
""",
    find="""
SELECT locks.id, locks.owner_id, locks.resource_type, locks.resource_id, locks.acquired_at, locks.expires_at,
lockwatch_now()
FROM locks WHERE locks.resource_type = :type AND locks.resource_id = :resource
""",
    find_stored="""
SELECT locks.id, locks.owner_id, locks.resource_type, locks.resource_id, locks.acquired_at, locks.expires_at
FROM locks WHERE coalesce(CAST(locks.resource_type AS TEXT), '') = CAST(:type AS TEXT)
AND coalesce(CAST(locks.resource_id AS TEXT), '') = CAST(:resource AS TEXT)
""",
    find_id="""
SELECT locks.id, locks.owner_id, locks.resource_type, locks.resource_id, locks.acquired_at, locks.expires_at
FROM locks WHERE locks.id = :lock
""",
    of_owner="""
SELECT locks.id, locks.owner_id, locks.resource_type, locks.resource_id, locks.acquired_at, locks.expires_at
FROM locks WHERE locks.owner_id = :owner
""",
    all="""
SELECT locks.id, locks.owner_id, locks.resource_type, locks.resource_id, locks.acquired_at, locks.expires_at
FROM locks ORDER BY locks.id
""",
    end="""
DELETE FROM locks
WHERE locks.id = :lock AND coalesce(CAST(locks.owner_id AS TEXT), '') = CAST(:owner AS TEXT)
AND coalesce(CAST(locks.expires_at AS TEXT), '') = CAST(:expires AS TEXT)
RETURNING lockwatch_now()
""",
    end_owned="""
DELETE FROM locks
WHERE locks.resource_type = :type AND locks.resource_id = :resource AND locks.owner_id = :owner
AND typeof(locks.id) = 'integer' AND lockwatch_utc(CAST(locks.expires_at AS BLOB)) IS NOT NULL
RETURNING expires_at, lockwatch_now()
""",
    extend=_EXTEND,
    extend_unlocked=_EXTEND,
    next_page="""
SELECT max(page.id)
FROM (SELECT locks.id AS id FROM locks WHERE locks.id > :after ORDER BY locks.id LIMIT :size OFFSET 0) AS page
""",
    count_expired="""
SELECT NULL, count(*) FROM locks WHERE lockwatch_utc(CAST(locks.expires_at AS BLOB)) <= :now
""",
    delete_expired="""
DELETE FROM locks
WHERE locks.id > :after AND locks.id <= :last AND lockwatch_utc(CAST(locks.expires_at AS BLOB)) <= :now
""",
)

TOUCH: Final = "UPDATE locks SET owner_id = locks.owner_id WHERE locks.id = :lock AND locks.owner_id = :owner"
"""Changes nothing, and takes the file's write lock."""
OF_RESOURCE: Final = """
SELECT locks.id, locks.owner_id, locks.resource_type, locks.resource_id, locks.acquired_at, locks.expires_at
FROM locks WHERE locks.resource_type = :type AND locks.resource_id = :resource
"""
"""A row as a connection can read it that knows none of these functions."""
