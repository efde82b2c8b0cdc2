"""Whether an SQLite file can be written, and how one is to be read whose folder cannot."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

CANNOT_BE_WRITTEN: Final = "the file cannot be written"
_WRITE_BITS: Final = 0o222
_BESIDE: Final = ("-wal", "-shm", "-journal")
_VERSIONS_AT: Final = 18
_NEEDS_LOG: Final = b"\x02\x02"


def why_unwritable(path: Path) -> str | None:
    """Why this process cannot write an SQLite file; None if it can, or if there is no file.

    SQLite needs the folder, too: it makes its log there. Root can write what nobody may; that a file is marked so is
    heeded all the same.
    """
    try:
        mode = path.stat().st_mode
    except OSError:
        return None
    beside = [name for name in map(path.with_name, _names_beside(path)) if os.path.lexists(name)]
    can_write = mode & _WRITE_BITS and all(map(_is_writable, (path, path.parent, *beside)))
    return None if can_write else CANNOT_BE_WRITTEN


def is_sealed(path: Path) -> bool:
    """Whether SQLite can read a file only if told that it never changes.

    Such a file is to be read with the help of a log, has none, and its folder cannot take one. Who may write there can
    make one at any moment, so whoever reads has to look again before each read: see `stamp`.
    """
    if _is_writable(path.parent) or any(os.path.lexists(path.with_name(name)) for name in _names_beside(path)):
        return False
    try:
        with path.open("rb") as file:
            file.seek(_VERSIONS_AT)
            return file.read(len(_NEEDS_LOG)) == _NEEDS_LOG
    except OSError:
        return False


def stamp(path: Path) -> tuple[int, int] | None:
    """What changes when a sealed file does; None if it is not sealed."""
    try:
        found = path.stat() if is_sealed(path) else None
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size) if found else None


def _names_beside(path: Path) -> list[str]:
    return [path.name + ending for ending in _BESIDE]


def _is_writable(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)
