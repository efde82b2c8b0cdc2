from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

import lockwatch
from lockwatch.demo.scene import STUCK_ON, worker_of
from tests.demo.playing import DEADLINE_SECS, until
from tests.support import insert_row, path_of, row


@pytest.fixture
def process(url: str) -> Iterator[subprocess.Popen[bytes]]:
    """The stuck worker, as the demo starts it."""
    command = [sys.executable, "-m", "lockwatch.demo.worker", str(path_of(url)), "2"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        try:
            yield started
        finally:
            started.kill()


def stuck_in(url: str, process: subprocess.Popen[bytes]) -> None:
    def is_stuck() -> bool:
        lock = service.get(*STUCK_ON)
        return lock is not None and worker_of(lock.owner_id) == f"worker-2@build-1:{process.pid}"

    with lockwatch.connect(url) as service:
        assert until(is_stuck)


def test_a_worker_process_says_in_its_owner_which_process_it_is_and_ends_with_its_standard_input(
    url: str, process: subprocess.Popen[bytes]
) -> None:
    stuck_in(url, process)
    out, err = process.communicate(timeout=DEADLINE_SECS)
    assert (process.returncode, out, err) == (0, b"", b"")


def test_a_worker_process_that_is_asked_to_end_frees_its_locks_and_leaves_stale_ones_to_be_seen(
    url: str, process: subprocess.Popen[bytes]
) -> None:
    insert_row(url, "plan/old")
    stuck_in(url, process)
    process.send_signal(signal.SIGTERM)
    process.wait(DEADLINE_SECS)
    assert row(url, str(STUCK_ON)) is None
    assert row(url, "plan/old")


def test_a_worker_process_that_hangs_ends_with_its_standard_input_too() -> None:
    script = """
import threading
from lockwatch.demo import worker
worker.GRACE_SECS = 0.1
threading.Thread(target=worker.end_with_parent, args=(threading.Event(),), daemon=True).start()
threading.Event().wait()
"""
    ended = subprocess.run([sys.executable, "-c", script], stdin=subprocess.DEVNULL, timeout=DEADLINE_SECS, check=False)
    assert ended.returncode == 1
