"""The same no-op workflows in DBOS, one process, asyncio: `dbos_workflows.py ONE TEN CALLS`."""

import asyncio
import json
import os
import statistics
import sys
import time
from typing import Any

from dbos import DBOS, DBOSConfig

AT_ONCE = 50
"""Workflows under way at a time: as many as the pool has connections."""


@DBOS.step()
async def noop(n: int) -> int:
    return n


@DBOS.workflow()
async def one() -> int:
    return await noop(1)


@DBOS.workflow()
async def ten() -> int:
    return sum([await noop(n) for n in range(10)])


async def main(ones: int, tens: int, calls: int) -> None:
    config: DBOSConfig = {
        "name": "bench", "system_database_url": os.environ["DATABASE_URL"], "sys_db_pool_size": 50,
        "log_level": "CRITICAL", "run_admin_server": False,
    }  # fmt: skip
    DBOS(config=config)
    DBOS.launch()
    await _all(one, 20)
    took = []
    for _ in range(calls):
        await asyncio.sleep(0.05)
        began = time.perf_counter()
        await one()
        took.append(time.perf_counter() - began)
    values = {"one_per_second": ones / await _all(one, ones), "ten_per_second": tens / await _all(ten, tens)}
    print(json.dumps({**values, "latency_ms": statistics.median(took) * 1000}), flush=True)
    DBOS.destroy()


async def _all(workflow: Any, count: int) -> float:
    places = asyncio.Semaphore(AT_ONCE)

    async def run() -> None:
        async with places:
            await workflow()

    began = time.perf_counter()
    await asyncio.gather(*(run() for _ in range(count)))
    return time.perf_counter() - began


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:4])))
