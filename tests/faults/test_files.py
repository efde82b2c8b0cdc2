"""What befalls an SQLite file: a full disk, gone, replaced, made read-only."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pytest
from sqlalchemy import event

import lockwatch
from lockwatch import LockService, LossReason
from lockwatch.database import Database
from tests.faults.losing import losing
from tests.faults.timeouts import Ahead, service_by
from tests.support import execute, insert_row, path_of

BEAT: Final = 0.3
TTL: Final = lockwatch.MIN_LOCK_TTL_SECS
PATIENCE_SECS: Final = 15.0
BESIDE: Final = ("", "-wal", "-shm")


@contextmanager
def _mounted(folder: Path, kilobytes: int) -> Iterator[Path]:
    """A file system of that size in memory."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "lockwatch-test", str(folder)]
    with suppress(FileNotFoundError):
        if os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0:
            try:
                yield folder
            finally:
                subprocess.run(["umount", "--lazy", str(folder)], check=True)
            return
    pytest.skip("needs to be root and to be allowed to mount a small file system; another test limits the pages")


def _is_whole(url: str) -> bool:
    return execute(url, "PRAGMA integrity_check") == [("ok",)]


def test_a_full_disk_is_said_and_takes_nothing_away(tmp_path: Path) -> None:
    with _mounted(tmp_path / "small", 400) as disk:
        url = f"sqlite:///{disk}/locks.db"
        lockwatch.upgrade(url)
        with lockwatch.connect(url) as service, lockwatch.connect(url) as other:
            lock = service.acquire("plan", "p1", "a")
            filler = _fill(disk)
            with pytest.raises(lockwatch.DatabaseError, match="disk is full"):
                _acquire_many(service)
            assert other.get("plan", "p1") == lock
            with pytest.raises(lockwatch.LockConflictError):
                other.acquire("plan", "p1", "b")
            filler.unlink()
            assert service.acquire("plan", "p2", "a").id > lock.id
            assert service.release("plan", "p1", "a")
        assert _is_whole(url)


def _acquire_many(service: LockService) -> None:
    """So many that a small database is full: a log that cannot grow has some room left at first."""
    for number in range(2000):
        service.acquire("plan", f"{number}".rjust(250, "x"), "a")


def _fill(disk: Path) -> Path:
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    return filler


def test_a_database_that_may_not_grow_is_said_to_be_full_and_works_once_it_may(url: str) -> None:
    pages = [1]
    database = Database.from_url(url)
    engine = database.engine()
    event.listen(engine, "connect", lambda driver, _record: driver.execute(f"PRAGMA max_page_count = {pages[0]}"))
    with LockService(engine, identity=database.identity) as service:
        lock = service.acquire("plan", "p1", "a")
        with pytest.raises(lockwatch.DatabaseError, match="disk is full"):
            _acquire_many(service)
        assert service.get("plan", "p1") == lock
        with pytest.raises(lockwatch.LockConflictError):
            service.acquire("plan", "p1", "b")
        pages[0] = 10_000
        service._tables.close_idle()
        assert service.acquire("plan", "p2", "a").id > lock.id
        assert service.release("plan", "p1", "a")
    assert _is_whole(url)


def _move(source: Path, target: Path) -> None:
    for suffix in BESIDE:
        if (found := source.with_name(source.name + suffix)).exists():
            found.rename(target.with_name(target.name + suffix))


def test_a_file_that_is_gone_is_said_and_its_leases_live_on_if_it_comes_back_in_time(url: str, tmp_path: Path) -> None:
    here, away = path_of(url), tmp_path / "away.db"
    with lockwatch.connect(url) as service:
        with service.hold("plan", "p1", ttl_seconds=TTL, heartbeat_seconds=BEAT) as lease:
            _move(here, away)
            with pytest.raises(lockwatch.DatabaseError, match="there is no database file"):
                service.acquire("plan", "p2", "a", wait_seconds=10)
            assert not here.exists()
            _move(away, here)
            assert service.acquire("plan", "p2", "a").owner_id == "a"
            assert not lease.is_lost()
        assert service.get("plan", "p1") is None


def _wait_until_cut_off(lease: lockwatch.Lease) -> None:
    give_up_at = time.monotonic() + PATIENCE_SECS
    while not lease.is_cut_off and time.monotonic() < give_up_at:
        time.sleep(0.01)


def test_the_leases_of_a_file_that_stays_away_are_lost_by_their_ttl(url: str, tmp_path: Path) -> None:
    ahead = Ahead()
    with service_by(ahead, url) as service:
        with losing() as told, service.hold("plan", "p1", ttl_seconds=TTL, heartbeat_seconds=BEAT) as lease:
            _move(path_of(url), tmp_path / "away.db")
            _wait_until_cut_off(lease)
            ahead.seconds = TTL
            assert lease.lost.wait(PATIENCE_SECS)
        assert told[0].reason is LossReason.UNREACHABLE


def test_the_leases_of_a_file_that_was_replaced_are_lost_at_the_next_heartbeat(
    url: str, tmp_path: Path, upgraded_database: Path
) -> None:
    with lockwatch.connect(url) as service, lockwatch.connect(url) as other:
        with losing() as told, service.hold("plan", "p1", "a", ttl_seconds=60, heartbeat_seconds=BEAT) as lease:
            _move(path_of(url), tmp_path / "away.db")
            shutil.copyfile(upgraded_database, tmp_path / "new.db")
            (tmp_path / "new.db").rename(path_of(url))
            assert lease.lost.wait(PATIENCE_SECS)
            with (
                pytest.raises(lockwatch.LockExpiredError),
                Database.from_url(url).transactional_engine().begin() as connection,
            ):
                lease.guard(connection)
        assert told[0].reason is LossReason.REMOVED
        assert other.acquire("plan", "p1", "b").owner_id == "b"


def test_a_file_made_read_only_is_said_and_works_again_once_it_may_be_written(tmp_path: Path) -> None:
    with _mounted(tmp_path / "disk", 4000) as disk:
        url = f"sqlite:///{disk}/locks.db"
        lockwatch.upgrade(url)
        insert_row(url, "plan/p1", "a", expires_at="2999-01-01T00:00:00.000000Z")
        _remount(disk, "ro")
        with lockwatch.connect(url) as service:
            for name in ("p1", "p2"):
                with pytest.raises(lockwatch.DatabaseError, match=r"cannot be (written|opened|read)"):
                    service.acquire("plan", name, "b", wait_seconds=10)
            assert Database.from_url(url).why_unwritable() is not None
        with lockwatch.connect(url, read_only=True) as reader:
            assert [lock.owner_id for lock in reader.snapshot().locks] == ["a"]
        _remount(disk, "rw")
        with lockwatch.connect(url) as service:
            assert service.acquire("plan", "p2", "b").owner_id == "b"


def _remount(disk: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(disk)], check=True)
