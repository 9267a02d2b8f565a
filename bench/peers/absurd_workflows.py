"""The same no-op workflows in Absurd, one process, clients with a connection each: `absurd_workflows.py ONE TEN CALLS`."""

import asyncio
import json
import os
import statistics
import sys
import time

import absurdctl
import psycopg
from absurd_sdk import AsyncAbsurd, AsyncTaskContext

CLIENTS = 8
AT_ONCE = 10
"""Tasks that each client claims and works on at a time."""
UNFINISHED = "select count(*) from absurd.t_bench where state not in ('completed', 'failed', 'cancelled')"


def client() -> AsyncAbsurd:
    made = AsyncAbsurd(os.environ["DATABASE_URL"], queue_name="bench")

    async def noop() -> int:
        return 1

    @made.register_task(name="one")
    async def one(params: object, ctx: AsyncTaskContext) -> int:
        return await ctx.step("noop", noop)

    @made.register_task(name="ten")
    async def ten(params: object, ctx: AsyncTaskContext) -> int:
        return sum([await ctx.step(f"noop {n}", noop) for n in range(10)])

    return made


async def main(ones: int, tens: int, calls: int) -> None:
    async with await psycopg.AsyncConnection.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        await connection.execute("drop schema if exists absurd cascade")
        await connection.execute(absurdctl.BUNDLED_SCHEMA_SQL)
        starters = [client() for _ in range(CLIENTS)]
        await starters[0].create_queue("bench")
        workers = [client() for _ in range(CLIENTS)]
        working = [asyncio.create_task(one.start_worker(concurrency=AT_ONCE, poll_interval=0.01)) for one in workers]
        await _all(connection, starters, "one", 40)
        took = [await _alone(starters[0]) for _ in range(calls)]
        values = {
            "one_per_second": ones / await _all(connection, starters, "one", ones),
            "ten_per_second": tens / await _all(connection, starters, "ten", tens),
        }
        for one in workers:
            one.stop_worker()
        await asyncio.gather(*working)
        for one in (*starters, *workers):
            await one.close()
    print(json.dumps({**values, "latency_ms": statistics.median(took) * 1000}))


async def _all(
    connection: "psycopg.AsyncConnection[tuple[int]]", starters: list[AsyncAbsurd], name: str, count: int
) -> float:
    async def start(starter: AsyncAbsurd, portion: int) -> None:
        for _ in range(portion):
            await starter.spawn(name, {})

    began = time.perf_counter()
    await asyncio.gather(*(start(one, count // CLIENTS) for one in starters))
    while True:
        row = await (await connection.execute(UNFINISHED)).fetchone()
        if row is not None and row[0] == 0:
            return time.perf_counter() - began
        await asyncio.sleep(0.02)


async def _alone(starter: AsyncAbsurd) -> float:
    await asyncio.sleep(0.05)
    began = time.perf_counter()
    spawned = await starter.spawn("one", {})
    await starter.await_task_result(spawned["task_id"])
    return time.perf_counter() - began


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:4])))
