"""Every SQL statement on the table of locks, with its guards in the WHERE. Nothing is executed here.

Three rules give them their shape:

- **A change repeats what was read.** Takeover, renewal, release and the operators' statements name the very row
  (`id`, owner and expiry as stored), never a resource alone. Who lost a race changes nothing. Clean-up judges what it
  deletes in the deleting statement.
- **Time is read in the statement**, and comes in the written form of `core.timestamps`.
- **Stored times are compared in one form**, the written one, though they may be in any ISO-8601 form.

Here is what is said. How, is in the module of each database: SQLite's are written out, those of the servers are
composed, in `words`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

COLUMNS: Final = ("id", "owner_id", "resource_type", "resource_id", "acquired_at", "expires_at")
"""The cells of a row, in the order in which statements give them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements:
    """The statements as SQL text in one database's words, compiled once: parameters go by name."""

    now: str
    """The moment."""
    insert: str
    """A grant, unless the resource has a row: (id, acquired_at, expires_at). One clock reading serves both times."""
    find: str
    """The resource's row, if it has one, and the moment."""
    find_stored: str
    """The row of a resource whose name may be no text."""
    find_id: str
    """The row with that id."""
    of_owner: str
    """All rows of one owner."""
    all: str
    """The whole table, ordered by id."""
    end: str
    """That very row, deleted if it is still as it was read; the moment of its end if so."""
    end_owned: str
    """The row of a resource, deleted if it is its `owner`'s and its expiry can be judged: that, and the moment."""
    extend: str
    """A later expiry for that very row, if it is as it was read and still live: the new expiry.

    `live_until` is the expiry that was read, in the written form, so that two texts of one form are compared. The
    later of it and the new one is written: a clock may step back between two statements."""
    extend_unlocked: str
    """The same, but nothing at once if another transaction has locked the row."""
    next_page: str
    """The last id of the next `size` rows after one; NULL if there are none."""
    count_expired: str
    """Of the rows that have expired at `now`: an expiry, or NULL if SQL has judged them all, and how many have it."""
    delete_expired: str
    """The rows of a page that have expired at `now`, judged as they are deleted."""
    expired_runs: str | None = None
    """Runs of ids without a gap (first, last), all of them expired at `now`, where a DELETE has to be told of each."""
    delete_listed: str | None = None
    """The rows with one of `ids` that have expired at `now`, judged as they are deleted."""
    expired_times: str | None = None
    """The expiries of what `delete_expired` would delete, a line each, or NULL: to be judged in `one_snapshot`."""
    one_snapshot: str | None = None
    """Has the rest of a transaction see what its first statement sees, or fail."""
    maybe_expired: str | None = None
    """The rows that `delete_expired` would delete, to be judged and ended one by one where it cannot be used."""
    unjudged: str | None = None
    """`size` rows after one, in a form that the above leave out; None where they leave out nothing that can be read."""
