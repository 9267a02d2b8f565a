"""Live: from before an enqueue call to the moment when a WebSocket client has the org's new counts, at low load; then to
the pixel in a browser (`live_pixels.py`); then with a crowd of clients (`live_crowd.py`).

One server process, which also leads the upkeep; changes come at odd intervals, so that they do not fall in step with it.
"""

import asyncio
import contextlib
import json
import random
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import websockets

from bench import live_crowd, live_pixels, processes
from bench.errors import Stalled
from bench.scenarios import http
from bench.scenarios.measurement import Line, Measurement, percentile
from bench.system import Contender

TITLE = "Live: a change to the client's WebSocket, at low load"
LINES = (
    Line("change to push, ms, median", "p50_ms", digits=1),
    Line("change to push, ms, 99th percentile", "p99_ms", digits=1, below=300),
    Line("change to push, ms, slowest", "max_ms", digits=1),
    *live_pixels.LINES,
    *live_crowd.LINES,
)

WARM_UP = 5
TIMEOUT = 60
_PAUSES = (0.3, 0.6)


def measure(contender: Contender, *, url: str, rounds: int, changes: int, clients: int) -> list[Measurement]:
    """As many changes as asked for, in each round; a quarter of them on each page."""
    contender.run("setup", url=url)
    found = []
    with _server(contender, url=url) as (address, key, process):
        for _ in range(rounds):
            delays = asyncio.run(_delays(url, address=address, key=key, changes=changes))
            values = {"p50_ms": percentile(delays, 0.50), "p99_ms": percentile(delays, 0.99), "max_ms": max(delays)}
            values |= live_pixels.measure(url, address=address, key=key, changes=max(10, changes // 4))
            values |= asyncio.run(live_crowd.measure(url, address=address, key=key, process=process, clients=clients))
            found.append(Measurement(values))
    return found


async def _delays(url: str, *, address: str, key: str, changes: int) -> list[float]:
    dice = random.Random(7)
    delays = []
    headers = {"authorization": f"Bearer {key}"}
    async with (
        await psycopg.AsyncConnection.connect(url, autocommit=True) as connection,
        websockets.connect(address.replace("http", "ws", 1) + "/v1/live", additional_headers=headers, proxy=None) as socket,
    ):
        await socket.recv()
        await socket.send(json.dumps({"type": "subscribe", "id": "a", "subject": "counts"}))
        ready = await _ready(socket)
        for number in range(WARM_UP + changes):
            await asyncio.sleep(dice.uniform(*_PAUSES))
            began = time.monotonic()
            await connection.execute("select weft.enqueue('live')")
            while await _ready(socket) <= ready:
                pass
            ready += 1
            if number >= WARM_UP:
                delays.append((time.monotonic() - began) * 1000)
    return delays


async def _ready(socket: websockets.ClientConnection) -> int:
    async with asyncio.timeout(TIMEOUT):
        return int(json.loads(await socket.recv())["data"]["ready"]["count"])


@contextlib.contextmanager
def _server(contender: Contender, *, url: str) -> Iterator[tuple[str, str, psutil.Process]]:
    weft = str(Path(sys.executable).with_name("weft"))
    # the crowd comes all at once, with one key
    environment = {**contender.environment(url), "WEFT_RATE_PER_KEY": "100000", "WEFT_RATE_PER_ORG": "100000"}
    made = processes.finished(
        ["sh", "-c", '"$0" key create bench --role admin --json | tr -d "\\n"', weft],
        label="weft key create", environment=environment, timeout=TIMEOUT,
    )  # fmt: skip
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [weft, "server", "--port", str(port), "--log-level", "warning"]
    with processes.started(command, label="weft server", environment=environment) as [program]:
        http._reachable(port, program)
        try:
            yield f"http://127.0.0.1:{port}", json.loads(made)["key"], program.tree()[0]
        except (TimeoutError, OSError, websockets.WebSocketException) as error:
            raise Stalled(f"nothing came: {error!r}\n{program.log_tail()}") from error
