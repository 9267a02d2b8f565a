"""A crowd on one server: hundreds of WebSocket clients with ten subscriptions each, all of them in this process.

    memory     what the server's process grew by while they came
    a change   from before its commit until the last of them has what it changed
    CPU        of the server's process (not PostgreSQL's), from before the first change to the end of the last
"""

import asyncio
import contextlib
import json
import time

import httpx2
import psutil
import psycopg
import websockets

from bench.scenarios.measurement import Line, percentile

SUBSCRIPTIONS = 10
ROUNDS = 20
LINES = (
    Line("{clients} clients × 10 subscriptions: server memory per client, kB", "crowd_kb", digits=0),
    Line("  10 things of their own each: server memory per client, kB", "crowd_own_kb", digits=0),
    Line("  one change until all have it, ms, median", "crowd_p50_ms", digits=0),
    Line("  one change until all have it, ms, slowest", "crowd_max_ms", digits=0),
    Line("  nine things change at once until all have all, ms, median", "crowd_nine_p50_ms", digits=0),
    Line("  server CPU ms per change to all", "crowd_cpu_ms", digits=0),
    Line("revoked key to closed socket, s, slowest of 20 sockets", "revoked_s", digits=1, below=5),
)
_TOGETHER = 50
_TIMEOUT = 120


class Client:
    """Counts what it was told, by subscription."""

    def __init__(self, socket: websockets.ClientConnection) -> None:
        self.socket = socket
        self.told: dict[bytes, int] = {}
        self.grew = asyncio.Event()
        self.reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for message in self.socket:
            raw = message.encode() if isinstance(message, str) else message
            # {"type":"data","id":"7","cursor":… : not parsed, so that this process is not what is measured
            if raw.startswith(b'{"type":"data"'):
                id = raw[21:30].partition(b'"')[0]
                self.told[id] = self.told.get(id, 0) + 1
                self.grew.set()

    async def until(self, ids: list[bytes], times: int) -> None:
        while any(self.told.get(id, 0) < times for id in ids):
            self.grew.clear()
            await self.grew.wait()


async def measure(url: str, *, address: str, key: str, process: psutil.Process, clients: int) -> dict[str, float]:
    values: dict[str, float] = {}
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as database:
        same = await _tasks(database, 9)
        async with asyncio.timeout(_TIMEOUT * 4), contextlib.AsyncExitStack() as stack:
            before = process.memory_info().rss
            crowd = [await _came(stack, address, key) for _ in range(clients)]
            await _subscribed(crowd, [same] * clients, counts=True)
            values["crowd_kb"] = (process.memory_info().rss - before) / 1024 / clients
            values |= await _changes(database, crowd, same, process)
        own = await _tasks(database, clients * SUBSCRIPTIONS)
        async with asyncio.timeout(_TIMEOUT * 4), contextlib.AsyncExitStack() as stack:
            before = process.memory_info().rss
            crowd = [await _came(stack, address, key) for _ in range(clients)]
            await _subscribed(crowd, [own[n::clients] for n in range(clients)])
            values["crowd_own_kb"] = (process.memory_info().rss - before) / 1024 / clients
        values["revoked_s"] = await _revoked(address, key)
    return values


async def _came(stack: contextlib.AsyncExitStack, address: str, key: str) -> Client:
    where = address.replace("http", "ws", 1) + "/v1/live"
    headers = {"authorization": f"Bearer {key}"}
    socket = await stack.enter_async_context(websockets.connect(
        where, additional_headers=headers, proxy=None, compression=None, ping_interval=None, close_timeout=1
    ))  # fmt: skip
    await socket.recv()
    made = Client(socket)
    stack.callback(made.reading.cancel)
    return made


async def _subscribed(crowd: list[Client], wanted: list[list[str]], *, counts: bool = False) -> None:
    async def subscribe(client: Client, tasks: list[str]) -> None:
        ids = [str(number) for number in range(len(tasks))]
        for id, task in zip(ids, tasks, strict=True):
            asked = {"type": "subscribe", "id": id, "subject": "task", "args": {"id": task}}
            await client.socket.send(json.dumps(asked))
        if counts:
            await client.socket.send('{"type": "subscribe", "id": "counts", "subject": "counts"}')
        await client.until([id.encode() for id in [*ids, *(["counts"] if counts else [])]], 1)

    pairs = list(zip(crowd, wanted, strict=True))
    for first in range(0, len(pairs), _TOGETHER):
        await asyncio.gather(*(subscribe(*pair) for pair in pairs[first : first + _TOGETHER]))


async def _changes(
    database: psycopg.AsyncConnection, crowd: list[Client], tasks: list[str], process: psutil.Process
) -> dict[str, float]:
    began_cpu = _cpu(process)
    one, nine = [], []
    for number in range(ROUNDS):
        await asyncio.sleep(0.5)
        changed = tasks[:1] if number % 2 else tasks
        ids = [str(place).encode() for place in range(len(changed))]
        for client in crowd:
            client.told.clear()
        began = time.monotonic()
        async with database.transaction():
            await database.execute(
                "update weft.tasks set progress_message = %s where id = any(%s::uuid[])", [str(number), changed]
            )
            await database.execute(
                "insert into weft.change_inbox (table_name, op, ids) values ('tasks', 'UPDATE', %s::uuid[])", [changed]
            )
        await asyncio.gather(*(client.until(ids, 1) for client in crowd))
        (one if number % 2 else nine).append((time.monotonic() - began) * 1000)
    return {
        "crowd_p50_ms": percentile(one, 0.5), "crowd_max_ms": max(one), "crowd_nine_p50_ms": percentile(nine, 0.5),
        "crowd_cpu_ms": (_cpu(process) - began_cpu) * 1000 / ROUNDS,
    }  # fmt: skip


async def _revoked(address: str, key: str) -> float:
    head = {"authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(base_url=address, headers=head, timeout=60) as client, contextlib.AsyncExitStack() as stack,
    ):  # fmt: skip
        made = (await client.post("/v1/keys", json={"name": "crowd", "role": "reader"})).raise_for_status().json()
        crowd = [await _came(stack, address, made["key"]) for _ in range(20)]
        await asyncio.sleep(1)
        (await client.delete(f"/v1/keys/{made['id']}")).raise_for_status()
        began = time.monotonic()
        await asyncio.gather(*(one.socket.wait_closed() for one in crowd))
        return time.monotonic() - began


def _cpu(process: psutil.Process) -> float:
    spent = process.cpu_times()
    return spent.user + spent.system


async def _tasks(database: psycopg.AsyncConnection, count: int) -> list[str]:
    payloads = json.dumps([{"n": number} for number in range(count)])
    made = await database.execute("select id from weft.enqueue_many('crowd', %s, queue => 'crowd') as id", [payloads])
    return [str(row[0]) for row in await made.fetchall()]
