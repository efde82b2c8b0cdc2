"""Whether a file lies on a network file system, whose locks cannot be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from lockwatch.core.text import clean
from lockwatch.database import Condition

MOUNTS: Final = Path("/proc/self/mounts")
"""Where Linux tells what is mounted where; other systems have no such file, and nothing is said there."""

_OVER_A_NETWORK: Final = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "beegfs", "gpfs", "ocfs2")
)
_FUSE_OVER_A_NETWORK: Final = frozenset(("fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone"))


def conditions(path: Path) -> list[Condition]:
    """What to say of the file system of `path`: nothing if it is a local one, or not known."""
    kind = file_system(path)
    if kind is None or kind not in _OVER_A_NETWORK | _FUSE_OVER_A_NETWORK:
        return []
    message = f"{clean(kind)}, over a network: SQLite's locks cannot be trusted there"
    hint = "put the file on a local disk, or the locks on a server"
    return [Condition(name="File system", message=message, hint=hint)]


def file_system(path: Path) -> str | None:
    """The type of the file system that a file lies on; None if it cannot be told."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        real = path.resolve()
    except OSError:
        return None
    mounted = [line.split(" ") for line in lines]
    here = [(_unescaped(fields[1]), fields[2]) for fields in mounted if len(fields) > 2]
    above = [(len(folder), kind) for folder, kind in here if real.is_relative_to(folder)]
    longest = max((length for length, _ in above), default=0)
    return next((kind for length, kind in reversed(above) if length == longest), None)  # the last mount hides others


def _unescaped(folder: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        folder = folder.replace(code, character)
    return folder
