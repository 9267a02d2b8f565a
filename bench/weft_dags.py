"""Runs DAGs of no-op tasks on one worker process and prints how long each shape took: `python -m bench.weft_dags SIZES`.

From the call that starts a run until the caller has its result, as users wait for it.
"""

import asyncio
import json
import random
import sys
import time
import uuid
from typing import Any

import uvloop

from bench.peers import protocol
from weft import App
from weft.api.dag_runs import FIRST
from weft.base import ids
from weft.flows import look
from weft.flows.model import OVER

app = App(database_url=protocol.database_url())


@app.task
async def noop() -> None: ...


def task(name: str, *after: str) -> dict[str, Any]:
    return {"name": name, "payload": {"task": "noop"}, "dependencies": list(after), "max_retries": 0}


async def main(fan: int, chain: int, many: int, large: int) -> None:
    ends = [f"t{number}" for number in range(fan)]
    wide = [task("first"), *(task(one, "first") for one in ends), task("last", *ends)]
    await app.dags.create({"name": "fan", "tasks": wide})
    links = [task(f"t{number}", *([f"t{number - 1}"] if number else [])) for number in range(chain)]
    await app.dags.create({"name": "chain", "tasks": links})
    ten = [task("t0"), *(task(f"t{number}", "t0") for number in range(1, 9)), task("t9", *(f"t{n}" for n in range(1, 9)))]
    await app.dags.create({"name": "ten", "max_active_runs": 10_000, "tasks": ten})
    async with app.worker(concurrency=50, roles=("worker", "scheduler")):
        await app.runs.result((await app.dags.trigger("ten")).id, timeout=60)
        took = {
            "fan": await _timed(["fan"]) / (fan + 2),
            "chain": await _timed(["chain"]) / chain,
            "many": await _timed(["ten"] * many) / (10 * many),
            **await _large(large),
        }
    print(json.dumps({f"{name}_ms": seconds * 1000 for name, seconds in took.items()}))


async def _large(size: int) -> dict[str, float]:
    """A DAG of so many tasks and five times as many edges, in levels of a hundred; looked at while it runs."""
    dice = random.Random(7)
    edges, later, tasks = 5 * size, max(size - 100, 1), []
    for number in range(size):
        level = number // 100 * 100
        share = range(edges * (number - 100) // later, edges * (number - 99) // later)
        before = dice.sample(range(level - 100, level), len(share)) if level else []
        tasks.append(task(f"t{number}", *(f"t{one}" for one in before)))
    began = time.perf_counter()
    await app.dags.create({"name": "large", "tasks": tasks})
    run = (await app.dags.trigger("large")).id
    started = time.perf_counter()
    looks = []
    while True:
        looked = time.perf_counter()
        state = await _status(run)
        looks.append(time.perf_counter() - looked)
        if state in OVER:
            break
        await asyncio.sleep(0.1)
    assert state == "completed", state
    return {"accepted": started - began, "large": (time.perf_counter() - started) / size, "status": max(looks)}


async def _status(run: uuid.UUID) -> str:
    """What the API's page of a run reads: the run, how many tasks are in which state, and the first of them."""
    async with (await app.open()).tx(org=ids.DEFAULT_ORG) as tx:
        found = await look.run(tx, run, org=ids.DEFAULT_ORG, kind="dag")
        await look.counts(tx, run)
        await look.nodes(tx, run, org=ids.DEFAULT_ORG, take=FIRST + 1)
    return found.state


async def _timed(names: list[str]) -> float:
    began = time.perf_counter()
    runs = await asyncio.gather(*(app.dags.trigger(name) for name in names))
    await asyncio.gather(*(app.runs.result(run.id, timeout=300) for run in runs))
    return time.perf_counter() - began


if __name__ == "__main__":
    uvloop.run(main(*map(int, sys.argv[1:5])))
