"""Which source files changed: two snapshots of a folder, compared. Looking is cheap enough to do twice a second."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

Snapshot = Mapping[str, tuple[int, int]]
"""Path → time of change and size."""

MOST = 5000
"""Files looked at; a folder with more is watched only in part."""

_NOT_SOURCE = {"node_modules", "__pycache__", "site-packages", "dist", "build"}


def snapshot(folder: Path) -> Snapshot:
    """Every Python file below the folder, but for hidden and generated ones."""
    found: dict[str, tuple[int, int]] = {}
    for entry in _files(folder):
        try:
            seen = entry.stat()
        except OSError:
            continue  # gone in between
        found[entry.path] = (seen.st_mtime_ns, seen.st_size)
        if len(found) >= MOST:
            break
    return found


def changed(before: Snapshot, after: Snapshot) -> list[str]:
    """Files that are new, gone or different."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def _files(folder: Path) -> "Iterator[os.DirEntry[str]]":
    waiting = [str(folder)]
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith(".") or entry.name in _NOT_SOURCE:
                continue
            if entry.is_dir(follow_symlinks=False):
                # a virtual environment under any name
                if not os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):
                    waiting.append(entry.path)
            elif entry.name.endswith(".py"):
                yield entry
