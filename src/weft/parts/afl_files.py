"""The files of an AFL program: those that are named, libraries, and what `use` needs from folders."""

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from weft.afl import library
from weft.afl.source import MAX_BYTES, Source
from weft.base import errors

_MOST = 5000
"""Files of folders that are looked into."""


def named(paths: Iterable[Path]) -> list[Path]:
    """The files, and those of the folders."""
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = sorted(path.rglob("*.afl"))[:_MOST]
            if not inside:
                raise errors.InvalidInput(f"there is no .afl file in {path}")
            found |= dict.fromkeys(inside)
        else:
            found[path] = None
    return list(found)


def load(path: Path, *, library: bool = False) -> Source:
    try:
        raw = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        if len(raw) > 4 * MAX_BYTES:
            raise errors.InvalidInput(f"{path} is larger than {4 * MAX_BYTES:,} bytes")
        return Source(str(path), raw.decode(), library=library)
    except OSError as error:
        raise errors.InvalidInput(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise errors.InvalidInput(f"{path} is not UTF-8 text") from None


def replace(path: Path, text: str) -> None:
    """Writes a file anew: whoever looks sees the old text or the new one, whatever happens."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text)
        shutil.copymode(path, beside)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise errors.InvalidInput(f"cannot write {path}: {error.strerror}") from None


def program(files: Sequence[Path], libraries: Sequence[Path] = (), search: Sequence[Path] = ()) -> list[Source]:
    """All sources of a program: what it uses is looked for beside its files, and in the folders to search."""
    own = named(files)
    sources = [load(path) for path in own]
    sources += [load(path, library=True) for path in named(libraries) if path not in own]
    folders = dict.fromkeys([*search, *(path.parent for path in own if str(path) != "-")])
    index: dict[str, list[str]] = {}
    seen = {str(path) for path in own}
    for folder in folders:
        nested = folder in search
        for path in sorted(folder.rglob("*.afl") if nested else folder.glob("*.afl"))[:_MOST]:
            if str(path) in seen or not path.is_file():
                continue
            seen.add(str(path))
            for namespace in library.declares(peek(path)):
                index.setdefault(namespace, []).append(str(path))
    return library.resolve(sources, index, lambda name: load(Path(name), library=True))


def peek(path: Path) -> str:
    """A file's text, to look whether it is of use; empty if it cannot be read."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
