"""Which Weft was measured: a digest of its source, so that a run during which it was edited says so."""

import hashlib

from bench.system import BENCH

SOURCE = BENCH.parent / "src" / "weft"


def digest() -> str:
    """Return a short digest of every module and statement of Weft as it lies on the disk now."""
    found = hashlib.sha256()
    for path in sorted(path for path in SOURCE.rglob("*") if path.suffix in (".py", ".sql")):
        found.update(str(path.relative_to(SOURCE)).encode())
        found.update(path.read_bytes())
    return found.hexdigest()[:12]
