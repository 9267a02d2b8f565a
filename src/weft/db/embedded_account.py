"""The system account the embedded server runs as.

PostgreSQL refuses to run as root. A normal user runs it as itself. Root runs it as the owner of the data, else as the
owner of the project's folder, else as `nobody`, and never opens a folder to everybody for its sake: what that account
cannot reach is put where it can (`embedded_files`, `embedded_binaries`).
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.base import errors

if sys.platform != "win32":  # where `embedded.start` refuses before anything here is called
    import pwd


@dataclass(frozen=True)
class Account:
    """Who runs the server. `switched` means that we are root and become somebody else for it."""

    uid: int
    gid: int
    switched: bool


def choose(folder: Path, home: Path) -> Account:
    """The account that fits what is already on disk, `folder` being the project's `.weft`, `home` the server's."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid(), switched=False)
    for place in (home / "data", home, folder, folder.parent):
        if place.exists() and (owner := place.stat()).st_uid != 0:
            return Account(owner.st_uid, owner.st_gid, switched=True)
        if place == home / "data" and place.exists():
            raise errors.EmbeddedServerError(
                f"{place} belongs to root, but PostgreSQL does not run as root. "
                f"Give it to another user, for example: chown -R nobody {home}"
            )
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        raise errors.EmbeddedServerError(
            "PostgreSQL does not run as root and there is no user `nobody` to run it as. "
            "Run weft as a normal user, create that user (useradd nobody), or set DATABASE_URL."
        ) from None
    return Account(nobody.pw_uid, nobody.pw_gid, switched=True)


def run(
    command: Sequence[str | Path], *, account: Account, descriptors: Sequence[int] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a command as the account, away from our terminal, with a small fixed environment."""
    return subprocess.run(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd="/",
        # LC_ALL: without it macOS starts threads inside the server, which then refuses to run.
        env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C", "TZ": "UTC"},
        start_new_session=True,
        umask=0o077,
        pass_fds=descriptors,
        user=account.uid if account.switched else None,
        group=account.gid if account.switched else None,
        extra_groups=[] if account.switched else None,
    )


def reaches(account: Account, folder: Path) -> bool:
    """Whether the account can enter the folder (asked of the kernel, so that ACLs and mounts count)."""
    if not account.switched:
        return True
    try:
        return run(["/bin/sh", "-c", 'cd "$1"', "sh", folder], account=account).returncode == 0
    except OSError as error:  # setuid refused, as in a user namespace that maps a single user
        raise errors.EmbeddedServerError(
            f"PostgreSQL does not run as root, and root may not become uid {account.uid} here ({error}). "
            "Run weft as a normal user or set DATABASE_URL."
        ) from error


def make_folder(path: Path, *, account: Account, mode: int = 0o700) -> None:
    """Make a folder that belongs to the account, unless it is there already.

    It appears with its owner and mode in one step, because others that start now must never see it without.
    """
    if path.exists():
        return
    building = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        building.chmod(mode)
        give(building, account)
        building.rename(path)
    except OSError:
        building.rmdir()
        if not path.is_dir():  # otherwise somebody else was quicker
            raise


def give(path: Path, account: Account) -> None:
    """Let the account own a path we just made."""
    if account.switched:
        os.chown(path, account.uid, account.gid, follow_symlinks=False)
