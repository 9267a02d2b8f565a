"""Weft behind PgBouncer in transaction mode: no session state may be needed, and none may leak."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from weft import App
from weft.base import config

PGBOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")

pytestmark = pytest.mark.skipif(PGBOUNCER is None, reason="pgbouncer is not installed (apt install pgbouncer)")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def pooled_url(database_url: str) -> Iterator[str]:
    """The same database, through a pooler with two server connections."""
    direct = psycopg.conninfo.conninfo_to_dict(database_url)
    folder = Path(tempfile.mkdtemp(prefix="weft-pgbouncer-"))
    folder.chmod(0o777)
    port = _free_port()
    (folder / "users").write_text('"postgres" ""\n')
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
default_pool_size = 2
max_client_conn = 100
logfile = {folder}/log
"""
    )
    user = "nobody" if os.getuid() == 0 else None
    bouncer = subprocess.Popen([PGBOUNCER, str(folder / "pgbouncer.ini")], user=user, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and bouncer.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
    yield psycopg.conninfo.make_conninfo(database_url, host="127.0.0.1", port=port)
    bouncer.terminate()
    bouncer.wait(10)
    shutil.rmtree(folder, ignore_errors=True)


async def test_tasks_limits_and_results_work_through_a_transaction_pooler(database_url: str, pooled_url: str) -> None:
    app = App(settings=config.Settings(database_url=pooled_url, direct_url=database_url, pooled=True))

    @app.task
    async def double(n: int) -> int:
        return 2 * n

    async with app, app.worker(concurrency=5):
        first = await app.enqueue(double, {"n": 21})
        assert await app.result(first.id, timeout=20) == 42
        strict = [
            await app.enqueue(double, {"n": n}, concurrency_key="one by one", concurrency="strict") for n in range(3)
        ]
        assert [await app.result(one.id, timeout=20) for one in strict] == [0, 2, 4]
        many = await app.enqueue_many(double, [{"n": n} for n in range(500)])
        assert await app.result(many[-1].id, timeout=20) == 998


async def test_an_org_does_not_leak_to_the_next_client_of_a_server_connection(database_url: str, pooled_url: str) -> None:
    app = App(settings=config.Settings(database_url=pooled_url, direct_url=database_url, pooled=True))
    async with app:
        for _ in range(5):
            async with app.tx(org=uuid.uuid4()) as tx:
                assert await tx.value("select current_user") == "weft_tenant"
            async with await psycopg.AsyncConnection.connect(pooled_url, prepare_threshold=None) as stranger:
                cursor = await stranger.execute("select current_user, coalesce(current_setting('weft.org', true), '')")
                assert await cursor.fetchone() == ("postgres", "")
