"""A holder of one lock, which writes under its guard when it is told to.

`python -m tests.faults.holder URL NAME` says `held`; for a line on its standard input it says what became of the write.
"""

from __future__ import annotations

import sys

import lockwatch
from lockwatch.database import Database
from tests.faults.worker import TTL_SECS, WRITE


def main(url: str, name: str) -> None:
    """Hold it, and write once."""
    engine = Database.from_url(url).transactional_engine()
    with lockwatch.connect(url) as service:
        try:
            with service.hold("plan", name, ttl_seconds=TTL_SECS) as lease:
                sys.stdout.write("held\n")
                sys.stdout.flush()
                sys.stdin.readline()
                with engine.begin() as connection:
                    lease.guard(connection)
                    connection.execute(WRITE, {"resource": lease.lock.resource, "fence": lease.fence})
            sys.stdout.write("written\n")
        except lockwatch.LockExpiredError as error:
            sys.stdout.write(f"refused: {error.reason}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
