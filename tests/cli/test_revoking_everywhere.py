"""A key that is revoked on one server is refused by all of them, as soon as none may remember it."""

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator

import cli_process
import httpx2

from weft.access import keys
from weft.api import credentials
from weft.base import ids
from weft.db.database import Database


@contextlib.asynccontextmanager
async def server(database: Database) -> AsyncIterator[httpx2.AsyncClient]:
    """`weft server` as a process of its own, and a client for it."""
    env = {"DATABASE_URL": database.settings.database_url}
    async with cli_process.weft("server", "--port", "0", "--no-lead", env=env) as program:
        await program.says("weft server is ready at")
        found = re.search(r"http://\S+:\d+", program.said)
        assert found
        async with httpx2.AsyncClient(base_url=found[0], timeout=20) as client:
            yield client


async def test_two_server_processes_refuse_a_key_once_the_memory_of_it_is_over(database: Database) -> None:
    """Whatever is asked later than that after the revocation is refused, by the one it was told to and by the other."""
    made = {}
    async with database.tx() as tx:
        for name in ("admin", "reader"):
            made[name] = await keys.create(tx, org=ids.DEFAULT_ORG, name=name, role=name, actor="test")  # type: ignore[arg-type]
    reader = {"authorization": f"Bearer {made['reader'][1]}"}
    async with server(database) as first, server(database) as second:
        for client in (first, second):
            assert (await client.get("/v1/tasks", headers=reader)).status_code == 200
        admin = {"authorization": f"Bearer {made['admin'][1]}"}
        gone = await first.delete(f"/v1/keys/{made['reader'][0].id}", headers=admin)
        assert gone.status_code == 200
        over = time.monotonic() + credentials.REMEMBERED
        refused: dict[int, bool] = {}
        async with asyncio.timeout(30):
            while not all(refused.get(number) for number in (0, 1)):
                for number, client in enumerate((first, second)):
                    asked = time.monotonic()
                    status = (await client.get("/v1/tasks", headers=reader)).status_code
                    assert status == 401 or asked < over, "it was remembered for longer than a second"
                    refused[number] = status == 401
                await asyncio.sleep(0.02)
