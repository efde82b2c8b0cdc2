"""Leases: held while a body works, renewed beside it, known to be lost; and waiting for them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta

import pytest

import lockwatch
from lockwatch import LockService, LossReason
from lockwatch.core.table import LockTable
from lockwatch.core.timestamps import to_text, utc_now
from tests.contract.sites import SERVERS, Site, on
from tests.faults.losing import losing
from tests.faults.timeouts import SLACK_SECS
from tests.support import ROOT

BEAT = 0.2
PATIENCE_SECS = 20.0


def _eventually(is_so: Callable[[], object]) -> bool:
    give_up_at = time.monotonic() + PATIENCE_SECS
    while not is_so():
        if time.monotonic() > give_up_at:
            return False
        time.sleep(0.01)
    return True


def test_a_hold_renews_and_leaves_nothing_behind(service: LockService, site: Site) -> None:
    with service.hold("plan", "p1", ttl_seconds=5, heartbeat_seconds=BEAT) as lease:
        first = lease.lock.expires_text
        assert _eventually(lambda: lease.lock.expires_text > first)
        row = site.row("plan/p1")
        assert row is not None
        assert (row[0], row[5] > first) == (lease.fence, True)
    assert site.rows() == []


def test_the_heartbeat_tells_of_a_takeover_and_renews_no_stranger(
    service: LockService, other: LockService, site: Site
) -> None:
    with losing() as told, service.hold("plan", "p1", "a", ttl_seconds=5, heartbeat_seconds=BEAT) as lease:
        # in one step: no heartbeat is to find the lease gone and not yet taken
        site.execute("UPDATE locks SET id = id + 1000, owner_id = 'b', expires_at = ?", site.text(60))
        taken = other.get("plan", "p1")
        assert lease.lost.wait(PATIENCE_SECS)
        assert lease.lost_reason is not None
        assert (lease.lost_reason.reason, lease.lost_reason.holder) == (LossReason.TAKEN_OVER, taken)
    assert told[0].reason is LossReason.TAKEN_OVER
    assert other.get("plan", "p1") == taken


def test_a_heartbeat_in_flight_during_the_release_writes_nothing_after_it(
    service: LockService, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, opened = threading.Event(), threading.Event()
    answers: list[lockwatch.Lock | None] = []
    real = LockTable.extend

    def held_up(table: LockTable, lock: lockwatch.Lock, ttl: float, **named: bool) -> lockwatch.Lock | None:
        reached.set()
        assert opened.wait(PATIENCE_SECS)
        answers.append(real(table, lock, ttl, **named))
        return answers[-1]

    monkeypatch.setattr(LockTable, "extend", held_up)
    with service.hold("plan", "p1", ttl_seconds=5, heartbeat_seconds=BEAT):
        assert reached.wait(PATIENCE_SECS)
    assert site.rows() == []
    opened.set()
    assert _eventually(lambda: answers)
    assert answers == [None]
    service.close()  # it need not wait for the next round of the threads
    assert _eventually(lambda: not {"lockwatch heartbeat", "lockwatch watchdog"} & _threads())
    assert site.rows() == []


def _threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


def test_one_error_of_the_database_does_not_end_the_heartbeat(
    service: LockService, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = [lockwatch.DatabaseError("gone for a moment")]
    real = LockTable.find

    def failing(table: LockTable, key: object) -> object:
        if failures and threading.current_thread().name == "lockwatch heartbeat":
            raise failures.pop()
        return real(table, key)  # type: ignore[arg-type] # it is passed on

    monkeypatch.setattr(LockTable, "find", failing)
    with service.hold("plan", "p1", ttl_seconds=5, heartbeat_seconds=BEAT) as lease:
        first = lease.lock.expires_text
        assert _eventually(lambda: not failures and lease.lock.expires_text > first)
    assert site.rows() == []


@on(*SERVERS)
def test_a_lease_outlives_the_end_of_its_connections(service: LockService, site: Site) -> None:
    with service.hold("plan", "p1", ttl_seconds=10, heartbeat_seconds=BEAT) as lease:
        _end_all_connections(site)
        before = lease.lock.expires_text
        assert _eventually(lambda: lease.lock.expires_text > before)
        assert service.acquire("plan", "p2", "a").owner_id == "a"


def _end_all_connections(site: Site) -> None:
    if site.kind == "postgres":
        site.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return
    with site.raw() as run:
        find = "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()"
        for (number,) in run(find):
            run(f"KILL {number}")


def test_a_waiter_is_granted_soon_after_the_release_with_its_whole_ttl(
    service: LockService, other: LockService, site: Site
) -> None:
    service.acquire("plan", "p1", "a", 60)
    timer = threading.Timer(0.4, service.release, ("plan", "p1", "a"))
    timer.start()
    begun, asked_at = time.monotonic(), site.now()
    lock = other.acquire("plan", "p1", "b", 5, wait_seconds=30)
    took = time.monotonic() - begun
    timer.join()
    assert 0.4 <= took < 0.4 + 0.5 + SLACK_SECS
    assert lock.remaining(asked_at) > 5.2, "its time counts from the grant, not from the question"


def test_a_waiter_wakes_when_the_holders_time_is_up(service: LockService, site: Site) -> None:
    due = site.now() + timedelta(seconds=0.6)
    site.insert_row("plan/p1", "gone", to_text(due))
    begun = time.monotonic()
    lock = service.acquire("plan", "p1", "b", 5, wait_seconds=30)
    assert time.monotonic() - begun < 1.1 + SLACK_SECS
    assert lock.remaining(due) >= 5


def test_a_waiter_gives_up_in_time_and_inserts_nothing(service: LockService, other: LockService, site: Site) -> None:
    service.acquire("plan", "p1", "a", 60)
    before = site.rows()
    begun = time.monotonic()
    with pytest.raises(lockwatch.LockConflictError):
        other.acquire("plan", "p1", "b", wait_seconds=0.5)
    assert 0.5 <= time.monotonic() - begun < 0.5 + SLACK_SECS
    assert site.rows() == before


def test_a_wall_clock_that_is_set_back_prolongs_no_wait(
    other: LockService, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    other.acquire("plan", "p1", "a", 60)
    real, back = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: real() - back[0])
    with lockwatch.connect(site.url, clock=lambda: utc_now() - timedelta(seconds=back[0])) as service:
        setting = threading.Timer(0.3, back.__setitem__, (0, 3600.0))
        setting.start()
        begun = time.monotonic()
        with pytest.raises(lockwatch.LockConflictError):
            service.acquire("plan", "p1", "b", wait_seconds=1)
        assert 1 <= time.monotonic() - begun < 1 + SLACK_SECS
        setting.join()
    assert back == [3600.0]


def test_closing_the_service_ends_a_wait_at_once(service: LockService, other: LockService, site: Site) -> None:
    service.acquire("plan", "p1", "a", 60)
    closing = threading.Timer(0.3, other.close)
    closing.start()
    begun = time.monotonic()
    with pytest.raises(lockwatch.LockwatchError, match="closed"):
        other.acquire("plan", "p1", "b", wait_seconds=30)
    closing.join()
    assert time.monotonic() - begun < 0.3 + SLACK_SECS
    assert [row[1] for row in site.rows()] == ["a"]


_HOLDER = """
import sys, time, lockwatch
with lockwatch.connect(sys.argv[1]) as service:
    try:
        with (
            service.hold("plan", "p1", "a", ttl_seconds=5) as one,
            service.hold("plan", "p2", "a", ttl_seconds=5) as two,
        ):
            print("held", flush=True)
            sys.stdin.readline()
            print(one.is_lost(), two.is_lost(), flush=True)
            two.check()
    except lockwatch.LockExpiredError as lost:
        print(lost.reason, flush=True)
"""


def test_a_holder_that_was_stopped_past_its_ttl_knows_before_it_goes_on_whether_another_took_over_or_not(
    site: Site, other: LockService
) -> None:
    command = [sys.executable, "-c", _HOLDER, site.url]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        holder.send_signal(signal.SIGSTOP)
        try:
            taken = other.acquire("plan", "p1", "b", 60, wait_seconds=10)
            assert _eventually(lambda: other.count_stale_locks() == 1), "the one that nobody takes has expired too"
        finally:
            holder.send_signal(signal.SIGCONT)
        holder.stdin.write("\n")
        holder.stdin.flush()
        assert holder.stdout.readline() == "True True\n"
        assert holder.stdout.readline() in {"expired\n", "taken over\n", "database unreachable\n"}
    assert other.get("plan", "p1") == taken


def test_a_forked_child_leaves_the_parents_leases_and_connections_alone(service: LockService, site: Site) -> None:
    with service.hold("plan", "p1", ttl_seconds=30) as lease:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                is_granted = service.acquire("plan", "p2", "child").owner_id == "child"
                status = 0 if is_granted and lease.is_lost() else 2
                service.close()
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert not lease.is_lost()
        assert service.renew("plan", "p1", lease.lock.owner_id, 60).id == lease.fence
    assert [row[1] for row in site.rows()] == ["child"]
