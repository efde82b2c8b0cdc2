"""How soon `lockwatch run` starts its command, against what it cannot do without: Python with SQLAlchemy."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from lockwatch.sqlite_file import SqliteFile
from tests.benchmarks.measuring import Figure, seconds
from tests.support import ROOT

ROUNDS = 15


def figures() -> Iterator[Figure]:
    """The one figure of `lockwatch run`."""
    with TemporaryDirectory() as folder:
        database = SqliteFile(Path(folder) / "locks.db")
        database.upgrade()
        url = f"sqlite:///{database.path}"
        _until_command(url)
        _import_sqlalchemy()
        ratio = median(_until_command(url) / seconds(_import_sqlalchemy) for _ in range(ROUNDS))
    yield Figure(name="lockwatch run to its command, over import sqlalchemy", ratio=ratio, relation="<=", bar=2.0)


def _until_command(url: str) -> float:
    """Seconds until the command has said its first word; what comes after it does not count."""
    arguments = [sys.executable, "-m", "lockwatch", "--database", url, "run", "plan/p1", "--", "sh", "-c", "echo here"]
    started = time.perf_counter()
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        return time.perf_counter() - started


def _import_sqlalchemy() -> None:
    subprocess.run([sys.executable, "-c", "import sqlalchemy"], check=True, cwd=ROOT)
