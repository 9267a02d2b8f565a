"""The same shapes in Prefect's best local mode: its own temporary server, threads: `prefect_dags.py SHAPE SIZE`."""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from prefect import flow, task
from prefect.task_runners import ThreadPoolTaskRunner

# Its local server answers 503 to more flows than this at once.
AT_ONCE = 20


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


def many(count: int) -> None:
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for running in [threads.submit(ten) for _ in range(count)]:
            running.result()


SHAPES = {"fan": (fan, 2, 1), "chain": (chain, 0, 1), "many": (many, 0, 10)}
"""What runs it, and how many tasks it has: those it always has, and those for each of its size."""


def main(shape: str, size: int) -> None:
    ten()
    run, more, each = SHAPES[shape]
    began = time.perf_counter()
    run(size)
    print(json.dumps({"ms": (time.perf_counter() - began) / (more + each * size) * 1000}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
