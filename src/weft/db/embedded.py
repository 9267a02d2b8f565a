"""The PostgreSQL that weft brings along, for when there is no DATABASE_URL.

    with embedded.start(Path(".weft")) as server:
        psycopg.connect(server.url())

One server per folder, shared by all processes that call `start` on it. It begins with the first and ends with the
last; it outlives any of them that is killed. If all are killed, a guard process stops it (embedded_lifetime says how;
without a Python interpreter to run it, the server stays up until the next use). It is reached by a Unix socket in a
folder closed to other users, never by TCP. It obeys no other user of the machine but root.

A process that forks shares its use with its children: the server ends when the last of them has.
Everything here blocks: from async code call it with asyncio.to_thread.
"""

import logging
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib import parse

import psycopg
from psycopg import sql

from weft.base import errors
from weft.db import embedded_binaries, embedded_files, embedded_lifetime, embedded_process
from weft.db.embedded_files import Home

DATABASE = "weft"
DECISION_SECONDS = 600.0  # another process may be recovering a large database meanwhile

_log = logging.getLogger(__name__)


class EmbeddedServer:
    """One use of the server, held until `release`."""

    def __init__(self, home: Home, *, socket: Path, programs: Path, use: embedded_lifetime.Use) -> None:
        self.home = home.path
        self.data = home.data
        self.log = home.log
        self.socket = socket
        self.programs = programs
        self._use = use

    def url(self, user: str = "postgres", dbname: str = DATABASE) -> str:
        """A connection string for libpq and all that understand its URLs."""
        return _url(self.socket, user=user, dbname=dbname)

    @property
    def pid(self) -> int | None:
        """The server's process, or None if it does not run (killed from outside: `start` again)."""
        return embedded_lifetime.serving(self.data)

    def release(self) -> None:
        """Give up this use; the last one stops the server. Doing it twice does nothing."""
        try:
            with embedded_lifetime.decision(self.home, patience=DECISION_SECONDS, waiting=_log.warning):
                _leave(self.home, self._use)
        except OSError as error:
            self._use.leave()
            _log.warning("left the embedded PostgreSQL in %s to its guard: %s", self.home, error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def start(folder: Path) -> EmbeddedServer:
    """Use the server of this folder: the one that runs, or a new one."""
    if sys.platform not in ("linux", "darwin"):
        raise errors.EmbeddedServerError(
            f"The embedded PostgreSQL runs on Linux and macOS, not on {sys.platform}. "
            "Set DATABASE_URL to a PostgreSQL 15 or newer (on Windows, WSL works too)."
        )
    home = embedded_files.open_home(folder)
    installation = embedded_binaries.runnable(
        embedded_binaries.locate(), account=home.account, roots=embedded_files.STATE_ROOTS
    )
    try:
        embedded_lifetime.prepare(home.path)
        with embedded_lifetime.decision(home.path, patience=DECISION_SECONDS, waiting=_log.warning) as decision:
            if not _reachable(home) and embedded_lifetime.unused(home.path):
                embedded_lifetime.stop(home.data)
            use = embedded_lifetime.join(home.path)
            try:
                socket = _running(home) or _fresh(home, installation=installation, decision=decision)
                _ensure_database(socket)
            except BaseException:
                _leave(home.path, use)
                raise
    except embedded_lifetime.DecisionTimeout as error:
        raise errors.EmbeddedServerError(
            f"{error}. If it hangs, end it (kill {str(error).split()[1]}) and start again."
        ) from error
    except OSError as error:
        raise errors.EmbeddedServerError(
            f"The embedded PostgreSQL cannot use {home.path}: {error.strerror or error} ({error.filename}). "
            "See that the disk has space and that the folder is writable for this user, or set DATABASE_URL."
        ) from error
    return EmbeddedServer(home, socket=socket, programs=installation.programs, use=use)


def _running(home: Home) -> Path | None:
    """The socket of the server that runs already, once it answers; None if there is none or it is just ending."""
    if not embedded_process.await_postmaster(home):
        return None
    socket = embedded_files.recorded_socket(home)
    try:
        embedded_process.await_answer(home, socket=socket, ended=lambda: embedded_lifetime.serving(home.data) is None)
    except embedded_process.Gone:
        return _running(home)
    return socket


def _fresh(home: Home, *, installation: embedded_binaries.Installation, decision: int) -> Path:
    """Start a server, with a guard, on the data that is there or on new data; returns its socket."""
    began = time.monotonic()
    if not home.data.exists():
        embedded_process.create_data(home, installation=installation, decision=decision)
    embedded_files.check_version(home, major=installation.major)
    socket = embedded_files.prepare_socket(home)
    guard = embedded_lifetime.start_guard(home.path)
    try:
        embedded_process.launch(home, installation=installation, socket=socket)
    finally:
        if guard is not None:
            guard.wait()
    if guard is None or guard.returncode != 0:
        _log.warning("the embedded PostgreSQL has no guard: if all its users are killed, it runs until the next use")
    _log.info("the embedded PostgreSQL in %s started in %.2f s", home.path, time.monotonic() - began)
    return socket


def _reachable(home: Home) -> bool:
    """Whether the server, if one runs, still has its socket file (a cleaner of /tmp may have taken it)."""
    if embedded_lifetime.serving(home.data) is None or embedded_lifetime.recorded_socket(home.data) is None:
        return True
    return embedded_files.socket_file(embedded_files.recorded_socket(home)).exists()


def _ensure_database(socket: Path) -> None:
    try:
        with psycopg.connect(_url(socket, user="postgres", dbname="postgres"), autocommit=True) as connection:
            found = connection.execute("select 1 from pg_database where datname = %s", [DATABASE]).fetchone()
            if found is None:
                connection.execute(sql.SQL("create database {}").format(sql.Identifier(DATABASE)))
    except psycopg.Error as error:
        raise errors.EmbeddedServerError(
            f"The embedded PostgreSQL runs at {socket} but its database cannot be opened: {str(error).strip()}. "
            "If it has too many clients, end some of them; otherwise read its log."
        ) from error


def _leave(home: Path, use: embedded_lifetime.Use) -> None:
    if use.leave() and embedded_lifetime.unused(home) and not embedded_lifetime.stop(home / "data"):
        _log.warning("the embedded PostgreSQL did not stop in time and was stopped at once; the next start recovers")


def _url(socket: Path, *, user: str, dbname: str) -> str:
    host = parse.quote(str(socket), safe="")
    return (
        f"postgresql://{parse.quote(user, safe='')}@/{parse.quote(dbname, safe='')}"
        f"?host={host}&port={embedded_files.PORT}"
    )
