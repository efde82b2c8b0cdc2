"""A soak: workers take locks for minutes while a gremlin kills, stops, cuts, swallows, delays, refuses and restarts.

`python -m tests.soak` mixes all faults on servers of its own, on ports of their own, and removes them at the end.
It prints grants, conflicts, faults by kind and violations; with any of the last it ends with 1.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Final, NoReturn

import lockwatch
from tests.contract.sites import Site, SqliteSite
from tests.faults.checker import Findings
from tests.faults.crew import Crew, Worker
from tests.faults.proxy import Proxy
from tests.faults.servers import KINDS, OwnServer, own_server
from tests.faults.worker import TTL_SECS, WRITES

DATABASES: Final = ("sqlite", "postgres", "mysql")
WORKERS: Final = 8
PROGRESS_SECS: Final = 10.0
PAUSE_SECS: Final = (0.5, 3.0)
"""Bounds of the calm between two faults."""
SHORT_SECS: Final = (0.1, 1.5)
LONG_SECS: Final = (TTL_SECS * 0.8, TTL_SECS * 1.6)
"""How long a fault lasts: most are shorter than a lease, some are longer."""
LONGEST_CALL_SECS: Final = 60.0
"""A wait, the body of a hold, a stop past the TTL, and a few answers that never came: no call may take longer."""
ENDINGS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_dice: Final = random.SystemRandom()


@dataclass(kw_only=True)
class Scene:
    """What the gremlin can get at."""

    site: Site
    crew: Crew
    url: str
    proxy: Proxy | None = None
    server: OwnServer | None = None
    faults: Counter[str] = field(default_factory=Counter)

    def hire(self) -> None:
        """One more worker."""
        self.crew.hire(self.url)


def _while_it_lasts() -> None:
    time.sleep(_dice.uniform(*(LONG_SECS if _dice.random() < 0.2 else SHORT_SECS)))


def kill_worker(scene: Scene) -> None:
    """In the midst of whatever it does; another one comes."""
    scene.crew.kill(_dice.choice(scene.crew.workers))
    scene.hire()


def stop_worker(scene: Scene) -> None:
    """For less or more than its leases last."""
    victim: Worker = _dice.choice(scene.crew.workers)
    victim.send_signal(signal.SIGSTOP)
    _while_it_lasts()
    victim.send_signal(signal.SIGCONT)


def lock_table(scene: Scene) -> None:
    """A session that is idle on all rows; on a file, on the file."""
    begin = "BEGIN" if scene.site.is_server else "BEGIN IMMEDIATE"
    with scene.site.raw() as run:
        run(begin)
        if scene.site.is_server:
            run("SELECT id FROM locks FOR UPDATE")
        _while_it_lasts()
        run("ROLLBACK")


def cut(scene: Scene) -> None:
    """All connections, several times."""
    assert scene.proxy is not None
    for _ in range(_dice.randrange(1, 4)):
        scene.proxy.cut()
        time.sleep(_dice.uniform(0, 0.2))


def black_hole(scene: Scene) -> None:
    """All that is said is swallowed, and then comes late, or is lost with its connections."""
    assert scene.proxy is not None
    scene.proxy.black_hole()
    _while_it_lasts()
    if _dice.random() < 0.5:
        scene.proxy.cut()
    scene.proxy.heal()


def swallow_answers(scene: Scene) -> None:
    """The server does what it is told, and nobody hears of it."""
    assert scene.proxy is not None
    scene.proxy.answers.block()
    _while_it_lasts()
    if _dice.random() < 0.5:
        scene.proxy.cut()
    scene.proxy.heal()


def delay(scene: Scene) -> None:
    """Both ways are slow."""
    assert scene.proxy is not None
    scene.proxy.statements.delay_seconds = scene.proxy.answers.delay_seconds = _dice.uniform(0.02, 0.3)
    _while_it_lasts()
    scene.proxy.heal()


def refuse(scene: Scene) -> None:
    """Nobody is let in, and those who are in are put out."""
    assert scene.proxy is not None
    scene.proxy.refuse()
    scene.proxy.cut()
    _while_it_lasts()
    scene.proxy.admit()


def restart(scene: Scene) -> None:
    """The server ends in good order and comes back."""
    assert scene.server is not None
    scene.server.stop()
    scene.server.start()


def crash(scene: Scene) -> None:
    """The server is killed and comes back."""
    assert scene.server is not None
    scene.server.kill()
    scene.server.start()


def move_away(scene: Scene) -> None:
    """The file is gone, with all that is beside it, and comes back."""
    here = Path(scene.site.url.removeprefix("sqlite:///"))
    names = [f"{here.name}{suffix}" for suffix in ("", "-wal", "-shm")]
    moved = [name for name in names if (here.parent / name).exists()]
    for name in moved:
        (here.parent / name).rename(here.parent / f"away-{name}")
    time.sleep(_dice.uniform(*SHORT_SECS))
    for name in reversed(moved):
        (here.parent / f"away-{name}").rename(here.parent / name)


Fault = Callable[[Scene], None]
ANYWHERE: Final[tuple[Fault, ...]] = (kill_worker, stop_worker, lock_table)
ON_A_FILE: Final[tuple[Fault, ...]] = (move_away,)
ON_A_SERVER: Final[tuple[Fault, ...]] = (cut, black_hole, swallow_answers, delay, refuse, restart, crash)


@contextmanager
def scene_of(kind: str, folder: Path) -> Iterator[Scene]:
    """A new database of a kind, with workers on it; nothing of either is left at the end."""
    with Crew(folder / "journals") as crew:
        if kind == "sqlite":
            site: Site = SqliteSite(f"sqlite:///{folder}/locks.db")
            _make_tables(site)
            yield Scene(site=site, crew=crew, url=site.url)
            return
        with own_server(kind) as server, Proxy(server.site.url) as proxy:
            _make_tables(server.site)
            yield Scene(site=server.site, crew=crew, url=proxy.url, proxy=proxy, server=server)


def _make_tables(site: Site) -> None:
    lockwatch.upgrade(site.url)
    site.execute(WRITES.format(number=site.numbered))


def soak(kind: str, minutes: float) -> bool:
    """One soak of one database: whether nothing was violated."""
    with TemporaryDirectory(prefix="lockwatch-soak-") as folder, scene_of(kind, Path(folder)) as scene:
        for _ in range(WORKERS):
            scene.hire()
        _trouble(kind, scene, minutes * 60)
        codes = scene.crew.finish()
        found = scene.crew.check(LONGEST_CALL_SECS)
        violations = [*found.violations, *_stale_writes(scene.site)]
        violations += _damage(scene.site)
        violations += [f"a worker ended with {code}" for code in codes if code]
        _report(kind, scene, found, violations)
        return not violations


def _trouble(kind: str, scene: Scene, seconds: float) -> None:
    faults = [*ANYWHERE, *(ON_A_SERVER if scene.server else ON_A_FILE)]
    begun = shown = time.monotonic()
    while (now := time.monotonic()) < begun + seconds:
        time.sleep(_dice.uniform(*PAUSE_SECS))
        fault = _dice.choice(faults)
        scene.faults[fault.__name__] += 1
        fault(scene)
        if now > shown + PROGRESS_SECS:
            shown = now
            found = scene.crew.check(LONGEST_CALL_SECS)
            _say(
                f"{kind}: {now - begun:.0f} of {seconds:.0f} s, {found.grants} grants, {found.conflicts} conflicts,"
                f" {scene.faults.total()} faults, {len(found.violations)} violations"
            )


def _stale_writes(site: Site) -> Iterator[str]:
    """Where an older holder wrote under its guard after a newer one had."""
    greatest: dict[str, int] = {}
    for resource, fence in site.execute("SELECT resource, fence FROM fault_writes ORDER BY id"):
        if fence < greatest.get(resource, 0):
            yield f"{resource}: written under fence {fence} after {greatest[resource]}"
        greatest[resource] = max(fence, greatest.get(resource, 0))


def _damage(site: Site) -> list[str]:
    """What a file has suffered."""
    found = [] if site.is_server else [words for (words,) in site.execute("PRAGMA integrity_check")]
    return [f"the file is damaged: {words}" for words in found if words != "ok"]


def _report(kind: str, scene: Scene, found: Findings, violations: list[str]) -> None:
    ((writes,),) = scene.site.execute("SELECT count(*) FROM fault_writes")
    _say(f"{kind}: {found.grants} grants, {found.conflicts} conflicts, {writes} guarded writes")
    _say(f"{kind}: faults: {_counted(scene.faults)}")
    _say(f"{kind}: errors seen by workers: {_counted(found.errors)}")
    _say(f"{kind}: violations: {len(violations)}")
    for violation in violations[:20]:
        _say(f"{kind}:   {violation}")


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common()) or "none"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    for number in ENDINGS:
        signal.signal(number, signal.SIG_IGN)  # a second ctrl-C must not end the clearing up
    raise KeyboardInterrupt


def main(arguments: list[str]) -> int:
    """Soak what is asked for, one after the other: the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long each database is soaked (10)")
    parser.add_argument("--database", choices=[*DATABASES, "all"], default="all", help="which one (all)")
    given = parser.parse_args(arguments)
    for number in ENDINGS:
        signal.signal(number, _interrupt)
    kinds = DATABASES if given.database == "all" else (given.database,)
    for reason in filter(None, (KINDS[kind].why_missing() for kind in kinds if kind in KINDS)):
        _say(reason)
        return 1
    try:
        results = [soak(kind, given.minutes) for kind in kinds]
    except KeyboardInterrupt:
        _say("interrupted; all servers and workers are gone")
        return 130
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
