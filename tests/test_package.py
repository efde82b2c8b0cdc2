"""The package as a whole: what it offers, and what an import of it costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import lockwatch
from lockwatch.version import __version__
from tests.support import ROOT

REFERENCE = {
    "DEFAULT_LOCK_TTL_SECS",
    "MAX_LOCK_TTL_SECS",
    "MIN_LOCK_TTL_SECS",
    "Lock",
    "LockConflictError",
    "LockExpiredError",
    "LockService",
    "LockSnapshot",
    "LockwatchError",
    "DatabaseError",
    "ValidationError",
    "connect",
}


def test_every_name_that_is_offered_exists() -> None:
    assert set(lockwatch.__all__) >= REFERENCE
    assert all(getattr(lockwatch, name) is not None for name in lockwatch.__all__)


def test_a_name_that_is_not_offered_does_not_exist() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = lockwatch.Nonsense
    with pytest.raises(ImportError):
        exec("from lockwatch import Nonsense")  # noqa: S102 the statement is the subject


def _modules_after(statement: str) -> set[str]:
    script = f"""
import sys
from pathlib import Path
before = set(sys.modules)
{statement}
print(*{{name.partition('.')[0] for name in set(sys.modules) - before}})
"""
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    return set(ended.stdout.split())


def test_importing_the_package_imports_no_database_and_no_front_end() -> None:
    heavy = {"sqlalchemy", "alembic", "textual", "typer", "rich", "platformdirs", "sqlite3"}
    assert not _modules_after("import lockwatch; lockwatch.__all__") & heavy


USE = """
with lockwatch.connect({url!r}) as service:
    service.acquire("plan", "p1", "a")
    with service.hold("plan", "p2") as lease:
        service.watcher().look(), lease.check(), service.cleanup_expired(), service.snapshot()
    service.release_exact(service.get("plan", "p1"))
"""


def test_using_locks_in_a_file_imports_no_sqlalchemy_no_alembic_and_no_front_end(url: str) -> None:
    loaded = _modules_after(f"import lockwatch\n{USE.format(url=url)}")
    assert "lockwatch" in loaded
    assert not loaded & {"sqlalchemy", "alembic", "textual", "typer", "rich", "platformdirs"}


@pytest.mark.parametrize(
    "statement",
    [
        "from lockwatch import plans; plans.connect({url!r})",
        "from lockwatch.database import Database; Database.from_url({url!r}).engine()",
        "from lockwatch.database import Database; Database.from_url('postgresql://host/locks')",
    ],
)
def test_what_needs_sqlalchemy_imports_it(url: str, statement: str) -> None:
    assert "sqlalchemy" in _modules_after(statement.format(url=url))


def test_the_package_is_typed() -> None:
    assert Path(lockwatch.__file__).with_name("py.typed").is_file()


def test_the_version_is_a_version() -> None:
    assert all(part.isdigit() for part in __version__.split(".")[:2])
