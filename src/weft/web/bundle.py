"""What there is to serve: every file of `dist/`, read once, compressed when first asked for."""

import dataclasses
import functools
import gzip
import hashlib
import mimetypes
from collections.abc import Mapping
from pathlib import Path

DIST = Path(__file__).parent / "dist"
INDEX = "index.html"

_WORTH_GZIP = 1024
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
"""Ours, because the machine's own table may lack some, and a script of the wrong type does not run."""

_FOREVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"


@dataclasses.dataclass(frozen=True)
class File:
    """One file as it is sent."""

    path: str
    body: bytes

    @property
    def type(self) -> str:
        suffix = Path(self.path).suffix
        return _TYPES.get(suffix) or mimetypes.types_map.get(suffix, "application/octet-stream")

    @property
    def cache(self) -> str:
        return _FOREVER if self.path.startswith("assets/") else _ASK_AGAIN

    @functools.cached_property
    def tag(self) -> str:
        return f'"{hashlib.sha256(self.body).hexdigest()[:32]}"'

    @functools.cached_property
    def gzipped(self) -> bytes | None:
        """None where that would not pay."""
        if len(self.body) < _WORTH_GZIP:
            return None
        small = gzip.compress(self.body, 9, mtime=0)
        return small if len(small) < len(self.body) * 0.9 else None


@dataclasses.dataclass(frozen=True)
class Bundle:
    """The files by their paths, `index.html` among them if the UI was built."""

    files: Mapping[str, File]

    @property
    def index(self) -> File | None:
        return self.files.get(INDEX)

    def find(self, path: str) -> File | None:
        """The file at a URL's path. Only what was read at the start is there, so no path leads out of the folder."""
        return self.files.get(path.lstrip("/"))


def load(folder: Path = DIST) -> Bundle:
    """Whatever is in the folder; nothing, if the UI was not built. Maps of sources and marks of the build stay at home."""
    found = [one for one in folder.rglob("*") if one.is_file()] if folder.is_dir() else []
    paths = {
        one.relative_to(folder).as_posix(): one for one in found
        if one.suffix != ".map" and not one.name.startswith(".")
    }  # fmt: skip
    return Bundle({path: File(path, one.read_bytes()) for path, one in sorted(paths.items())})
