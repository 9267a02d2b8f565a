"""The same shapes in Prefect's best local mode: its own temporary server, a pool of threads: `prefect_dags.py SIZES`."""

import asyncio
import json
import sys
import time

from prefect import flow, task
from prefect.task_runners import ThreadPoolTaskRunner


@task
def noop(*_: object) -> None:
    pass


@flow(task_runner=ThreadPoolTaskRunner(max_workers=50))
def fan(width: int) -> None:
    first = noop.submit()
    noop.submit([noop.submit(first) for _ in range(width)]).wait()


@flow(task_runner=ThreadPoolTaskRunner(max_workers=50))
def chain(length: int) -> None:
    last = noop.submit()
    for _ in range(length - 1):
        last = noop.submit(last)
    last.wait()


@flow(task_runner=ThreadPoolTaskRunner(max_workers=50))
def ten() -> None:
    first = noop.submit()
    noop.submit([noop.submit(first) for _ in range(8)]).wait()


async def _many(count: int) -> None:
    await asyncio.gather(*(asyncio.to_thread(ten) for _ in range(count)))


def main(width: int, length: int, count: int) -> None:
    ten()
    took = {}
    began = time.perf_counter()
    fan(width)
    took["fan"] = (time.perf_counter() - began) / (width + 2)
    began = time.perf_counter()
    chain(length)
    took["chain"] = (time.perf_counter() - began) / length
    began = time.perf_counter()
    asyncio.run(_many(count))
    took["many"] = (time.perf_counter() - began) / (10 * count)
    print(json.dumps({f"{name}_ms": seconds * 1000 for name, seconds in took.items()}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
