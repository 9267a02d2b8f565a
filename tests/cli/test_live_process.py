"""`/v1/live` of a real server process: many rows, a crowd, clients that stop reading, lose it, or may not any more."""

import asyncio
import contextlib
import json
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import cli_process
import httpx2
import psycopg
import pytest
import websockets
from websockets.asyncio.client import ClientConnection

from weft.access import keys
from weft.base import ids
from weft.db.database import Database

HERE = Path(__file__).parent
PATIENCE = 90
CROWD = 500
MOST_EACH = 400 * 1024
"""Bytes that the server may grow by for each of the crowd."""


class Server:
    """Its process, its address, a key."""

    def __init__(self, program: cli_process.Program, url: str, key: str) -> None:
        self.program, self.url, self.key = program, url, key

    def memory(self) -> int:
        """Bytes that its process has in memory."""
        return int(Path(f"/proc/{self.program.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    @contextlib.asynccontextmanager
    async def client(self, query: str = "", **how: Any) -> AsyncIterator["Client"]:
        headers = {"authorization": f"Bearer {self.key}"}
        async with websockets.connect(
            f"{self.url.replace('http', 'ws', 1)}/v1/live{query}", additional_headers=headers, proxy=None, compression=None,
            open_timeout=PATIENCE, close_timeout=2, ping_interval=None, **how,
        ) as socket:  # fmt: skip
            made = Client(socket)
            made.hello = await made.next()
            yield made


class Client:
    """A socket, and what it was told."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.hello: dict[str, Any] = {}
        self.heard = 0

    async def subscribe(self, subject: str, args: dict[str, Any] | None = None, *, id: str = "s", **more: Any) -> None:
        await self.socket.send(json.dumps({"type": "subscribe", "id": id, "subject": subject, "args": args or {}, **more}))

    async def next(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE):
            self.heard += 1
            return json.loads(await self.socket.recv())  # type: ignore[no-any-return]

    async def until(self, wanted: Any) -> dict[str, Any]:
        while not wanted(message := await self.next()):
            pass
        return message

    async def closed(self) -> int | None:
        with contextlib.suppress(websockets.ConnectionClosed):
            while True:
                await self.next()
        return self.socket.close_code


@contextlib.asynccontextmanager
async def serving(database: Database) -> AsyncIterator[Server]:
    async with database.tx() as tx:
        _, key = await keys.create(tx, org=ids.DEFAULT_ORG, name="admin", role="admin", actor="test")
    plenty = {"WEFT_RATE_PER_KEY": "100000", "WEFT_RATE_PER_ORG": "100000"}
    given = {"DATABASE_URL": database.settings.database_url, **plenty}
    async with cli_process.weft("server", "live_app:app", "--port", "0", env=given, cwd=HERE) as program:
        await program.says("weft server is ready at")
        found = re.search(r"http://\S+:\d+", program.said)
        assert found, program.said
        yield Server(program, found[0], key)


@pytest.fixture
def owner(database_url: str) -> Any:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("create table orders (id bigint generated always as identity primary key, n int)")
        connection.execute("select weft.enable_reactivity('orders')")
        connection.execute("grant select on orders to weft_tenant")
        yield connection


async def test_many_rows_are_few_messages_and_a_revoked_key_hears_no_more(
    database: Database, owner: psycopg.Connection
) -> None:
    owner.execute("insert into orders (n) select 0 from generate_series(1, 50000)")
    async with serving(database) as server, server.client() as client:
        await client.subscribe("query:orders")
        assert (await client.until(lambda one: one["type"] == "data"))["data"]["count"] == 50_000
        heard = client.heard
        owner.execute("listen forge_changes")
        await asyncio.to_thread(owner.execute, "update orders set n = 1")
        found = await client.until(lambda one: one["data"]["sum"] == 50_000)
        assert found["data"]["most"] == 1
        # one look for one statement; another server's sequencer may cut it in two
        assert client.heard - heard <= 2
        owner.execute("notify forge_changes, 'the end'")
        told = []
        for note in owner.notifies(timeout=PATIENCE):
            if note.payload == "the end":
                break
            told.append(note.payload)
        assert told == ["orders:UPDATE:"]
        async with httpx2.AsyncClient(base_url=server.url, timeout=PATIENCE) as http:
            head = {"authorization": f"Bearer {server.key}"}
            [mine] = [one for one in (await http.get("/v1/keys", headers=head)).json()["items"] if one["name"] == "admin"]
            assert (await http.delete(f"/v1/keys/{mine['id']}", headers=head)).status_code == 200
        assert await client.closed() == 4401


async def test_who_lost_a_killed_server_goes_on_at_another_where_it_was(
    database: Database, owner: psycopg.Connection
) -> None:
    async with serving(database) as first, first.client() as client:
        await client.subscribe("query:orders")
        cursor = (await client.until(lambda one: one["type"] == "data"))["cursor"]
        session = client.hello["session"]
        first.program.process.kill()
        await client.closed()
    owner.execute("insert into orders (n) values (7)")
    async with serving(database) as second, second.client(f"?session={session}") as client:
        await client.subscribe("query:orders", cursor=cursor)
        found = await client.until(lambda one: one["data"]["most"] == 7)
        assert found["gap"] is False
        await client.subscribe("counts", cursor=found["cursor"], id="again")
        assert (await client.until(lambda one: one["id"] == "again"))["type"] == "unchanged"


@pytest.mark.long
async def test_a_client_that_stops_reading_is_cut_off_and_nobody_notices(
    database: Database, owner: psycopg.Connection
) -> None:
    async with (
        serving(database) as server, server.client() as reads, server.client(max_queue=1, write_limit=1) as stuck,
    ):  # fmt: skip
        for number in range(50):
            await stuck.subscribe("query:orders", {"filler": 200_000, "number": number}, id=str(number))
        await reads.subscribe("query:orders")
        await reads.until(lambda one: one["type"] == "data")
        stuck.socket.transport.pause_reading()
        before, largest, number = server.memory(), 0, 0
        live = "select count(*) from weft.live_sessions where status = 'connected'"
        async with asyncio.timeout(PATIENCE):
            while owner.execute(live).fetchone() != (2,):
                await asyncio.sleep(0.1)
            while True:
                number += 1
                owner.execute("insert into orders (n) values (%s)", [number])
                # whoever reads is told of each, however long the other does not
                await reads.until(lambda one, number=number: one["type"] == "data" and one["data"]["most"] == number)
                largest = max(largest, server.memory())
                if owner.execute(live).fetchone() == (1,):
                    break
        assert largest - before < 200 * 1024 * 1024
        stuck.socket.transport.abort()


@pytest.mark.long
async def test_five_hundred_clients_with_ten_subscriptions_each(database: Database, owner: psycopg.Connection) -> None:
    made = owner.execute(
        "select id from weft.enqueue_many('crowd', %s) as id", [json.dumps([{"n": n} for n in range(8)])]
    ).fetchall()
    tasks = [str(row[0]) for row in made]
    async with asyncio.timeout(600), serving(database) as server, contextlib.AsyncExitStack() as stack:
        before = server.memory()
        crowd = [await stack.enter_async_context(server.client()) for _ in range(CROWD)]

        async def come(client: Client) -> None:
            for number, task in enumerate(tasks):
                await client.subscribe("task", {"id": task}, id=f"t{number}")
            await client.subscribe("counts", id="counts")
            await client.subscribe("query:orders", id="orders")
            left = {*(f"t{number}" for number in range(8)), "counts", "orders"}
            while left:
                left.discard((await client.next()).get("id", ""))

        for at in range(0, CROWD, 50):
            await asyncio.gather(*map(come, crowd[at : at + 50]))
        for number in range(1, 11):
            owner.execute("insert into orders (n) values (%s)", [number])
            owner.execute("select weft.enqueue('crowd')")

            async def hear(client: Client, number: int = number) -> None:
                await client.until(lambda one: one["id"] == "orders" and one["data"]["most"] == number)

            await asyncio.gather(*map(hear, crowd))
        grown = server.memory() - before
        assert grown < CROWD * MOST_EACH, grown
