"""The embedded server as a process: making its data directory, launching it, waiting until it answers.

The server gets a session of its own (Ctrl-C in our terminal does not reach it), no terminal, and no descriptor of
ours but that of server.lock, by which everybody can tell whether any process of it is left (see embedded_lifetime).
"""

import contextlib
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from psycopg import conninfo, pq

from weft.base import errors
from weft.db import embedded_account, embedded_files, embedded_lifetime
from weft.db.embedded_binaries import Installation
from weft.db.embedded_files import Home

SILENCE_SECONDS = 60.0  # how long a live server may give no answer at all
RECOVERY_SECONDS = 900.0  # how long recovery is waited for; it goes on without us
ORPHAN_SECONDS = 2.0  # how long the backends of a killed server may take to notice
LOG_LINES = 15

# What the log says -> what to do about it.
REMEDIES = (
    ("No space left on device", "Free some space on the disk that holds {home}."),
    ("could not look up effective user ID", "Run as a user that has an entry in /etc/passwd, or add one."),
    ("could not create shared memory segment", "Raise the system's limits kernel.shmmax and kernel.shmall."),
    ("could not create semaphores", "Raise the system's limit kernel.sem."),
    ("is still in use", "End the processes of an earlier server (ps aux | grep postgres), then start again."),
    ("could not map anonymous shared memory", "Free some memory: the server needs about 200 MB."),
    ("Permission denied", "Give {home} and all in it to uid {uid}: chown -R {uid} {home}"),
    ("invalid value for parameter", "Correct or delete the setting in {home}/data/postgresql.auto.conf."),
    ("unrecognized configuration parameter", "Delete the setting from {home}/data/postgresql.auto.conf."),
    ("could not locate a valid checkpoint record", "The data is damaged: restore {home}/data from a backup."),
    ("PANIC", "The data may be damaged: restore {home}/data from a backup."),
)

_log = logging.getLogger(__name__)


class Gone(Exception):
    """The server ended while we waited for its answer."""


def create_data(home: Home, *, installation: Installation, decision: int) -> None:
    """Make the data directory: beside its place, then renamed, so that a half-made one is never taken for whole.

    initdb inherits the decision's lock: if we are killed, nobody starts before it has ended.
    """
    embedded_files.sweep(home)
    building = Path(tempfile.mkdtemp(prefix="data.new-", dir=home.path))
    embedded_account.give(building, home.account)
    try:
        made = embedded_account.run(
            [
                installation.programs / "initdb",
                f"--pgdata={building}",
                "--username=postgres",
                "--encoding=UTF8",
                "--locale=C",
                "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8",
                "--data-checksums",
                "--auth-local=trust",  # the socket's folder is closed to other users
                "--auth-host=reject",
                "--no-instructions",
            ],
            account=home.account,
            descriptors=[decision],
        )
        if made.returncode != 0:
            raise explain("PostgreSQL could not make its data directory", home=home, said=made.stdout)
        embedded_files.include_settings(building)
        building.rename(home.data)
    finally:
        embedded_files.sweep(home)


def launch(home: Home, *, installation: Installation, socket: Path) -> None:
    """Start the server and wait until it takes connections."""
    embedded_files.write_settings(home, socket)
    embedded_account.make_folder(home.log, account=home.account)
    startup = home.log / "startup.log"
    startup.unlink(missing_ok=True)
    # Its pid is dead or somebody else's; PostgreSQL would refuse to start if somebody of the same user.
    (home.data / "postmaster.pid").unlink(missing_ok=True)
    since = time.time() - 1
    with embedded_lifetime.occupation(home.path) as descriptor:
        started = embedded_account.run(
            [installation.programs / "pg_ctl", "start", "--no-wait", "--silent", "-D", home.data, "-l", startup],
            account=home.account,
            descriptors=[descriptor],
        )
    try:
        if started.returncode != 0:
            raise Gone
        await_answer(home, socket=socket, ended=lambda: not embedded_lifetime.occupied(home.path))
    except Gone:
        said = started.stdout + _logged(home, since=since)
        raise explain("The embedded PostgreSQL did not start", home=home, said=said) from None


def await_answer(home: Home, *, socket: Path, ended: Callable[[], bool]) -> None:
    """Wait until the server takes connections; longer while it says that it is starting up (recovery)."""
    began = heard = reported = time.monotonic()
    pause = 0.005
    while (answer := ping(socket)) != pq.Ping.OK:
        now = time.monotonic()
        if ended():
            raise Gone
        if answer == pq.Ping.REJECT:
            heard = now
        if now - heard > SILENCE_SECONDS:
            raise explain(
                f"The embedded PostgreSQL runs but has not answered at {socket} for {SILENCE_SECONDS:.0f} s",
                home=home,
                said=_logged(home, since=0) + f"\nStop it with: kill -QUIT {embedded_lifetime.serving(home.data)}",
            )
        if now - began > RECOVERY_SECONDS:
            raise explain(
                f"The embedded PostgreSQL has been recovering for {RECOVERY_SECONDS:.0f} s. It goes on, so try again",
                home=home,
                said=_logged(home, since=0),
            )
        if now - reported > 5:
            reported = now
            _log.warning("the embedded PostgreSQL is still starting or recovering after %.0f s", now - began)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.1)


def ping(socket: Path) -> pq.Ping:
    """Ask the server whether it takes connections, without making one."""
    target = conninfo.make_conninfo(
        "",
        host=str(socket),
        port=embedded_files.PORT,
        user="postgres",
        dbname="postgres",
        connect_timeout=5,
    )
    return pq.Ping(pq.PGconn.ping(target.encode()))


def await_postmaster(home: Home) -> bool:
    """Whether a server runs; if only traces of one live, wait until they have become one or are gone.

    Traces are a server just launched by somebody who was killed meanwhile, or the backends of a killed server. While
    one of those lives, PostgreSQL rightly refuses to start; busy ones notice late, so they are ended.
    """
    began = time.monotonic()
    deadline = began + ORPHAN_SECONDS
    numbers = iter((signal.SIGQUIT, signal.SIGKILL))
    while embedded_lifetime.serving(home.data) is None:
        orphans = _commands(lambda command: command.startswith(f"postgres: {home.name}: "))
        if not orphans and not embedded_lifetime.occupied(home.path):
            return False
        now = time.monotonic()
        if now - began > SILENCE_SECONDS:
            raise explain("Processes of an earlier PostgreSQL do not end", home=home, said="is still in use")
        if now > deadline and not _commands(lambda command: f"-D {home.data}" in command.replace('"', "")):
            deadline = now + ORPHAN_SECONDS
            number = next(numbers, signal.SIGKILL)
            for pid in orphans:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        time.sleep(0.01)
    return True


def explain(problem: str, *, home: Home, said: str) -> errors.EmbeddedServerError:
    """An error that carries the last lines the server wrote and what to do about them."""
    lines = [line for line in said.strip().splitlines() if line.strip()][-LOG_LINES:]
    remedy = next(
        (remedy for sign, remedy in REMEDIES if any(sign in line for line in lines)),
        "Read the log in {home}/log; with a PostgreSQL of your own, set DATABASE_URL.",
    ).format(home=home.path, uid=home.account.uid)
    return errors.EmbeddedServerError("\n".join([f"{problem}. {remedy}", "It said:", *(f"  {line}" for line in lines)]))


def _logged(home: Home, *, since: float) -> str:
    """The server's log files written since then, oldest first."""
    try:
        files = [(file.stat().st_mtime, file) for file in home.log.iterdir() if file.suffix == ".log"]
    except FileNotFoundError:
        return ""
    texts = [file.read_text(errors="replace") for mtime, file in sorted(files) if mtime >= since]
    noise = ("redirecting log output", "Future log output")
    return "\n".join(line for text in texts for line in text.splitlines() if not any(word in line for word in noise))


def _commands(wanted: Callable[[str], bool]) -> list[int]:
    """Processes whose command line is wanted; a server's children are titled `postgres: weft-0123456789ab: ...`."""
    found = []
    if sys.platform == "linux":
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    command = (entry / "cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ")
                    if wanted(command.decode(errors="replace")):
                        found.append(int(entry.name))
        return found
    listed = subprocess.run(["ps", "-axww", "-o", "pid=,command="], capture_output=True, text=True).stdout
    pairs = (line.split(maxsplit=1) for line in listed.splitlines())
    return [int(pair[0]) for pair in pairs if len(pair) == 2 and wanted(pair[1])]
