"""A forked child neither keeps, nor releases, nor believes it has its parent's leases; it can hold its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

import lockwatch
from tests.core.leases.leasing import (
    PATIENCE_SECS,
)
from tests.support import ROOT, row

_PRELUDE = """
    import os, sys, threading, time
    import lockwatch
    from sqlalchemy import create_engine

    url = sys.argv[1]
    service = lockwatch.connect(url)

    def fork(work):
        "What a child says of its work, and how it ends."
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            words = "nothing"
            try:
                words = str(work())
            except BaseException as error:
                words = repr(error)
            finally:
                os.write(writing, words.encode())
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as answer:
            words = answer.read()
        os.waitpid(pid, 0)
        return words
"""


def _run(url: str, program: str, timeout: float = 2 * PATIENCE_SECS) -> list[str]:
    """What a program prints that forks, in a process of its own: a test's process has threads of others."""
    whole = textwrap.dedent(_PRELUDE) + textwrap.dedent(program)
    done = subprocess.run(
        [sys.executable, "-c", whole, url], capture_output=True, text=True, timeout=timeout, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_child_has_lost_its_parents_lease_and_says_why(url: str) -> None:
    (answer,) = _run(
        url,
        """
        def work():
            try:
                lease.check()
            except lockwatch.LockExpiredError as error:
                with create_engine(url).connect() as connection:
                    try:
                        lease.guard(connection)
                    except lockwatch.LockExpiredError:
                        return [lease.lost.is_set(), lease.remaining(), lease.lost_reason.reason.name, str(error)]

        with service.hold("plan", "p1", "a") as lease:
            print(fork(work))
            assert not lease.lost.is_set()
            lease.check()
        """,
    )
    assert answer == "[True, 0.0, 'FORKED', 'the lock of a on plan/p1 is held by the parent process, not by this one']"


def test_the_end_of_a_hold_in_a_child_releases_nothing_and_raises_nothing(url: str) -> None:
    answer = _run(
        url,
        """
        def work():
            hold.__exit__(None, None, None)
            return service.get("plan", "p1").owner_id

        hold = service.hold("plan", "p1", "a")
        lease = hold.__enter__()
        print(fork(work))
        lease.check()
        print(service.get("plan", "p1") == lease.lock)
        hold.__exit__(None, None, None)
        print(service.get("plan", "p1"))
        """,
    )
    assert answer == ["a", "True", "None"]


def test_the_parent_goes_on_renewing_and_no_thread_runs_in_the_child(url: str) -> None:
    answer = _run(
        url,
        """
        def work():
            time.sleep(2)
            return [thread.name for thread in threading.enumerate()]

        with service.hold("plan", "p1", "a", ttl_seconds=5, heartbeat_seconds=0.5) as lease:
            print(fork(work))
            print(lease.lock.expires_at > lease.lock.acquired_at.__class__.now(lease.lock.expires_at.tzinfo))
            print(lease.remaining() > 3.5)
        """,
    )
    assert answer == ["['MainThread']", "True", "True"]


def test_a_child_holds_leases_of_its_own_and_is_kept_out_of_its_parents(url: str) -> None:
    answer = _run(
        url,
        """
        def work():
            try:
                service.acquire("plan", "p1", "b")
            except lockwatch.LockConflictError as conflict:
                with service.hold("plan", "p2", "b", ttl_seconds=5, heartbeat_seconds=0.3) as mine:
                    before = mine.lock
                    time.sleep(1.5)
                    mine.check()
                    threads = sorted(thread.name for thread in threading.enumerate())
                    return [conflict.holder.owner_id, mine.lock.expires_at > before.expires_at, threads]

        with service.hold("plan", "p1", "a"):
            print(fork(work))
        print(service.get("plan", "p2"))
        """,
    )
    assert answer == ["['a', True, ['MainThread', 'lockwatch heartbeat', 'lockwatch watchdog']]", "None"]


@pytest.mark.parametrize(
    "mutex", ["service._keeper._mutex", "lease._mutex", "service._keeper._turns._mutex", "lease.lost._cond"]
)
def test_a_fork_while_another_thread_is_in_the_middle_of_things_stops_no_child(url: str, mutex: str) -> None:
    (answer,) = _run(
        url,
        f"""
        def work():
            threading.Timer(5, os._exit, (1,)).start()
            assert lease.is_lost() and lease.lost.is_set()
            lease.tell(lambda _lease: None)
            hold.__exit__(None, None, None)
            with service.hold("plan", "p2", "a", wait_seconds=1) as mine:
                mine.check()
            return "done"

        hold = service.hold("plan", "p1", "a")
        lease = hold.__enter__()
        taken, over = threading.Event(), threading.Event()

        def occupy():
            with {mutex}:
                taken.set()
                over.wait(10)

        threading.Thread(target=occupy, daemon=True).start()
        taken.wait()
        print(fork(work))
        over.set()
        """,
    )
    assert answer == "done"


def test_a_fork_while_another_thread_waits_for_a_lock_lets_the_child_wait(url: str) -> None:
    with lockwatch.connect(url) as other:
        held = other.acquire("plan", "p1", "c")
        answer = _run(
            url,
            """
            def work():
                threading.Timer(8, os._exit, (1,)).start()
                try:
                    service.acquire("plan", "p1", "b", wait_seconds=0.3)
                except lockwatch.LockConflictError as conflict:
                    return conflict.holder.owner_id

            def wait():
                try:
                    service.acquire("plan", "p1", "a", wait_seconds=60)
                except lockwatch.LockwatchError:
                    pass

            threading.Thread(target=wait, daemon=True).start()
            time.sleep(0.3)
            taken, over = threading.Event(), threading.Event()

            def occupy():  # as a waiter does for a moment
                with service._acquirer._closing._cond:
                    taken.set()
                    over.wait(10)

            threading.Thread(target=occupy, daemon=True).start()
            taken.wait()
            print(fork(work))
            over.set()
            """,
        )
        assert answer == ["c"]
        assert row(url, "plan/p1") is not None
        assert other.get("plan", "p1") == held


def test_a_grandchild_is_a_child(url: str) -> None:
    (answer,) = _run(
        url,
        """
        def grandchild():
            return [lease.lost_reason.reason.name, mine.lost_reason.reason.name]

        def work():
            global mine
            with service.hold("plan", "p2", "b") as mine:
                words = fork(grandchild)
                mine.check()
                return words

        with service.hold("plan", "p1", "a") as lease:
            print(fork(work))
        """,
    )
    assert answer == "['FORKED', 'FORKED']"
