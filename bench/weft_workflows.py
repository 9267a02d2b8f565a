"""Runs no-op workflows on one worker process and prints what it measured: `python -m bench.weft_workflows ONE TEN CALLS`.

From the first call that starts a run until the last one's end is committed; and, at low load, from one start to its result.
"""

import asyncio
import json
import statistics
import sys
import time
from typing import Any

import uvloop

from bench.peers import protocol
from weft import App

CONCURRENCY = 500
UNFINISHED = "select count(*) from weft.runs where finished_at is null"

app = App(database_url=protocol.database_url())


@app.step
async def noop(n: int) -> int:
    return n


@app.workflow
async def one() -> int:
    return await noop(1)


@app.workflow
async def ten() -> int:
    return sum([await noop(n) for n in range(10)])


async def main(ones: int, tens: int, calls: int) -> None:
    async with app, app.worker(concurrency=CONCURRENCY, roles=("worker", "scheduler")):
        for workflow in (one, ten):
            await _all(workflow, 200)
        took = [await _alone() for _ in range(calls)]
        values = {"one_per_second": ones / await _all(one, ones), "ten_per_second": tens / await _all(ten, tens)}
    print(json.dumps({**values, "latency_ms": statistics.median(took) * 1000}))


async def _all(workflow: Any, count: int) -> float:
    began = time.perf_counter()
    for first in range(0, count, 1000):
        await app.start_many(workflow, [{}] * min(1000, count - first))
    while True:
        async with app.tx() as tx:
            if await tx.value(UNFINISHED) == 0:
                return time.perf_counter() - began
        await asyncio.sleep(0.02)


async def _alone() -> float:
    await asyncio.sleep(0.05)
    began = time.perf_counter()
    run = await app.start(one)
    await app.runs.result(run.id, timeout=60)
    return time.perf_counter() - began


if __name__ == "__main__":
    uvloop.run(main(*map(int, sys.argv[1:4])))
