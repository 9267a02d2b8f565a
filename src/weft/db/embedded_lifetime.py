"""Who uses the embedded server, and who stops it.

Four lock files lie in the server's home. The kernel frees a lock when its holder dies, kill -9 included.

    decide.lock  exclusive: held while somebody starts or stops the server, joins its users or leaves them
    users.lock   shared: held by each process that uses the server; probed only by who holds decide.lock
    guard.lock   shared: held by the same processes; the guard waits for it to be free
    server.lock  exclusive: inherited by every process of the server, so that it is free only when none is left; pids
                 alone cannot tell (a server just launched has noted none, backends outlive a killed postmaster)

The last user to leave stops the server. For users that never leave (kill -9 of all of them) there is the guard: a
process of its own that sleeps until guard.lock is free, takes decide.lock as everybody else does, looks again whether
users.lock is free, and only then stops the server. It waits on a file of its own so that its wait is never mistaken
for a user; a user that arrives in between holds users.lock before it lets go of decide.lock, so the guard sleeps again.

The guard runs this file as a script, in an interpreter without site-packages: standard library only.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

if sys.platform != "win32":  # where `embedded.start` refuses before anything here is called
    import fcntl

DECIDE, USERS, GUARD, SERVER = "decide.lock", "users.lock", "guard.lock", "server.lock"
FAST_STOP_SECONDS = 60.0
IMMEDIATE_STOP_SECONDS = 10.0
NOTE_SECONDS = 5.0  # how long a server that is being launched may take to note its pid


class DecisionTimeout(TimeoutError):
    """Another process has been starting or stopping the server for too long."""


class Use:
    """This process's place among the users, held until `leave`."""

    def __init__(self, descriptors: tuple[int, ...]) -> None:
        self._descriptors = descriptors

    def leave(self) -> bool:
        """Give up the place; False if it was given up before."""
        descriptors, self._descriptors = self._descriptors, ()
        for descriptor in descriptors:
            os.close(descriptor)
        return bool(descriptors)


def prepare(home: Path) -> None:
    """Make the lock files, for the home's owner so that root locks nobody out.

    Only `start` does: the guard of a home that is being deleted must not put files back into it.
    """
    for name in (DECIDE, USERS, GUARD, SERVER):
        descriptor = os.open(home / name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            if os.geteuid() == 0 and os.fstat(descriptor).st_uid == 0:
                owner = home.stat()
                os.fchown(descriptor, owner.st_uid, owner.st_gid)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def decision(home: Path, *, patience: float, waiting: Callable[[str], None] | None = None) -> Iterator[int]:
    """Hold the exclusive right to start or stop the server; yields the descriptor that carries it."""
    descriptor = _take_decision(home, patience=patience, waiting=waiting)
    try:
        with contextlib.suppress(OSError):  # only for messages; a full disk must not keep anybody from stopping
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


def join(home: Path) -> Use:
    """Count this process among the users (call while holding the decision)."""
    descriptors = []
    for name in (USERS, GUARD):
        descriptors.append(_open(home / name))
        fcntl.flock(descriptors[-1], fcntl.LOCK_SH)
    return Use(tuple(descriptors))


def unused(home: Path) -> bool:
    """Whether no process uses the server (call while holding the decision)."""
    return _free(home / USERS)


def occupied(home: Path) -> bool:
    """Whether any process of a server that we launched is left."""
    return not _free(home / SERVER)


@contextlib.contextmanager
def occupation(home: Path) -> Iterator[int]:
    """The descriptor of server.lock for the server to inherit (call while holding the decision)."""
    descriptor = _open(home / SERVER)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def serving(data: Path) -> int | None:
    """The pid of the live PostgreSQL that serves this data directory; a recycled pid does not count."""
    try:
        pid = abs(int((data / "postmaster.pid").read_text().partition("\n")[0]))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return pid if _serves(pid, data) else None


def recorded_socket(data: Path) -> Path | None:
    """The folder of the socket, as the running server noted it."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return None
    return Path(lines[4]) if len(lines) > 4 and lines[4] else None


def stop(data: Path) -> bool:
    """Stop the server (call while holding the decision); False if it only obeyed an immediate shutdown.

    A fast shutdown waits for connected replicas to catch up, so a stuck one could hold it for ever; an immediate one
    loses nothing that was committed, the next start recovers from the log.
    """
    deadline = time.monotonic() + NOTE_SECONDS
    while (pid := serving(data)) is None:
        if not occupied(data.parent) or time.monotonic() > deadline:
            return True
        time.sleep(0.01)
    socket = recorded_socket(data)
    _signal(pid, signal.SIGINT)
    obeyed = _gone(pid, data=data, patience=FAST_STOP_SECONDS)
    if not obeyed:
        _signal(pid, signal.SIGQUIT)
        if not _gone(pid, data=data, patience=IMMEDIATE_STOP_SECONDS):
            _signal(pid, signal.SIGKILL)
            _gone(pid, data=data, patience=IMMEDIATE_STOP_SECONDS)
    if socket is not None and socket.parent != data.parent:
        with contextlib.suppress(OSError):
            socket.rmdir()  # a short-lived folder in the temporary directory; stays if it is not empty
    return obeyed


def start_guard(home: Path) -> subprocess.Popen[bytes] | None:
    """Start the guard; the process returned ends as soon as the guard stands on its own feet.

    None if there is no interpreter to run it: Python is embedded in another program, or closed to this user.
    """
    interpreter = Path(sys.executable or "").name.lower().startswith(("python", "pypy"))
    if not interpreter or not os.access(sys.executable, os.X_OK):
        return None
    return subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, str(home)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )


def guard(home: Path) -> None:
    """Wait until nobody uses the server, then stop it. Ends early if the home is gone."""
    with contextlib.suppress(FileNotFoundError):
        while True:
            _wait_until_free(home / GUARD)
            with decision(home, patience=float("inf")):
                if unused(home):
                    stop(home / "data")
                    return


def _take_decision(home: Path, *, patience: float, waiting: Callable[[str], None] | None) -> int:
    started = reported = time.monotonic()
    descriptor = _open(home / DECIDE)
    try:
        while True:
            if _try_exclusive(descriptor):
                if _still_there(descriptor, home / DECIDE):
                    return descriptor
                replaced, descriptor = descriptor, _open(home / DECIDE)
                os.close(replaced)
                continue
            now = time.monotonic()
            holder = os.pread(descriptor, 20, 0).decode(errors="replace").strip() or "?"
            if now - started > patience:
                raise DecisionTimeout(f"process {holder} has held {home / DECIDE} for {patience:.0f} s")
            if waiting and now - reported > 5:
                reported = now
                waiting(f"waiting for process {holder}, which is starting or stopping the embedded PostgreSQL")
            time.sleep(0.02)
    except BaseException:
        os.close(descriptor)
        raise


def _try_exclusive(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _free(path: Path) -> bool:
    descriptor = _open(path)
    try:
        return _try_exclusive(descriptor)
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)


def _still_there(descriptor: int, path: Path) -> bool:
    """A lock on a file that was deleted meanwhile excludes nobody; raises if there is none in its place either."""
    return os.path.samestat(os.fstat(descriptor), path.stat())


def _wait_until_free(path: Path) -> None:
    descriptor = _open(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    finally:
        os.close(descriptor)


def _serves(pid: int, data: Path) -> bool:
    if sys.platform == "linux":
        try:
            # A server works inside its data directory; a zombie has no working directory.
            return Path(f"/proc/{pid}/comm").read_text() == "postgres\n" and os.path.samefile(f"/proc/{pid}/cwd", data)
        except OSError:
            return False
    listed = subprocess.run(["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True)
    return "postgres" in listed.stdout and f"-D {data}" in listed.stdout


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _gone(pid: int, *, data: Path, patience: float) -> bool:
    deadline = time.monotonic() + patience
    while _serves(pid, data) or occupied(data.parent):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


if __name__ == "__main__":
    # The starter waits for this process, not for the guard: the fork leaves the guard without a parent to mourn it.
    if os.fork() == 0:
        guard(Path(sys.argv[1]))
