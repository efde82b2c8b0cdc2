"""The server ends under its holders, in good order or by a crash, and comes back."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import pytest

import lockwatch
from tests.faults.crew import Crew
from tests.faults.servers import OwnServer
from tests.faults.timeouts import SLACK_SECS
from tests.faults.worker import WRITES

PATIENCE_SECS: Final = 20.0
Ending = Callable[[OwnServer], None]

by_any_end = pytest.mark.parametrize("end", [OwnServer.stop, OwnServer.kill], ids=["stopped", "killed"])


@by_any_end
def test_a_lease_and_its_fence_outlive_a_restart(server: OwnServer, end: Ending) -> None:
    with lockwatch.connect(server.site.url) as service:
        earlier = service.acquire("plan", "p2", "a")
        with service.hold("plan", "p1", "a", ttl_seconds=60, heartbeat_seconds=0.3) as lease:
            end(server)
            try:
                begun = time.monotonic()
                with pytest.raises(lockwatch.DatabaseError, match=r"cannot be reached|ended the connection"):
                    service.acquire("plan", "p3", "a", wait_seconds=10)
                assert time.monotonic() - begun < SLACK_SECS
            finally:
                server.start()
            before = lease.lock.expires_text
            give_up_at = time.monotonic() + PATIENCE_SECS
            while lease.lock.expires_text == before and time.monotonic() < give_up_at:
                time.sleep(0.02)
            assert lease.lock.expires_text > before
            assert not lease.is_lost()
            with pytest.raises(lockwatch.LockConflictError):
                service.acquire("plan", "p1", "b")
        assert service.get("plan", "p2") == earlier, "what was granted is kept"
        assert service.acquire("plan", "p3", "a").id > lease.fence > earlier.id


def test_workers_whose_server_crashes_again_and_again_have_no_two_leases_at_once(server: OwnServer, crew: Crew) -> None:
    server.site.execute("DROP TABLE IF EXISTS fault_writes")
    server.site.execute(WRITES.format(number=server.site.numbered))
    for _ in range(4):
        crew.hire(server.site.url)
    crew.wait_for_grants(3)
    for end in (server.kill, server.stop):
        end()
        time.sleep(0.2)
        server.start()
        seen = crew.check().grants
        crew.wait_for_grants(seen + 1)
    assert crew.finish() == [0] * 4
    found = crew.check(longest_call_seconds=25)
    assert found.violations == []
    assert found.errors["DatabaseError"] > 0
