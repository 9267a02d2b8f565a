"""A real PgBouncer in transaction mode in front of a database."""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg

PGBOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
REASON = "pgbouncer is not installed (apt install pgbouncer)"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def pooled(database_url: str, *, servers: int = 2) -> Iterator[str]:
    """The same database, through a pooler with so many server connections."""
    assert PGBOUNCER is not None
    direct = psycopg.conninfo.conninfo_to_dict(database_url)
    folder = Path(tempfile.mkdtemp(prefix="weft-pgbouncer-"))
    folder.chmod(0o777)
    port = _free_port()
    (folder / "users").write_text(f'"{direct.get("user", "postgres")}" "{direct.get("password") or ""}"\n')
    (folder / "pgbouncer.ini").write_text(
        f"""[databases]
* = host={direct["host"]} port={direct.get("port", 5432)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = {servers}
max_client_conn = 100
logfile = {folder}/log
"""
    )
    user = "nobody" if os.getuid() == 0 else None
    # none of our descriptors: one that outlives us must not keep whoever reads our output waiting
    bouncer = subprocess.Popen(
        [PGBOUNCER, str(folder / "pgbouncer.ini")], user=user,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and bouncer.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
        yield psycopg.conninfo.make_conninfo(database_url, host="127.0.0.1", port=port)
    finally:
        bouncer.terminate()
        try:
            bouncer.wait(10)
        except subprocess.TimeoutExpired:
            # newer ones wait for their clients first
            bouncer.kill()
            bouncer.wait(10)
        shutil.rmtree(folder, ignore_errors=True)
