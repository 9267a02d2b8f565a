"""Runs an AFL flow of no-op facets and as many plain tasks on one worker: `python -m bench.weft_afl FACETS ELEMENTS`.

From before the call that starts the run, or enqueues the tasks, until the last of it was written to have ended, by the
database's clock: looking for the end from outside, every so often, was a quarter of what it takes. They take turns, and so
does a flow that another process starts, which cannot give its first tasks to the worker without a claim. A foreach over many
elements comes last; how far the memory of this process and of its database's backends grew is told too.
"""

import asyncio
import contextlib
import datetime as dt
import json
import resource
import statistics
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import uvloop

from bench.peers import protocol
from weft import App

app = App(database_url=protocol.database_url())

ROUNDS = 15
HIGHEST = [0.0]
LOOP = """namespace bench { event facet Noop(v: String) => (n: Int)
    workflow Each(all: String) => (last: Int = 0) andThen foreach v in $.all { w = Noop(v = v) yield Each(last = w.n) } }"""


@app.task(name="bench.Noop")
async def facet(v: str) -> dict[str, int]:
    return {"n": 1}


def flow(facets: int) -> str:
    steps = "\n".join(f's{number} = Noop(v = "{number}")' for number in range(facets))
    wide = f"workflow Wide() => (n: Int) andThen {{ {steps} yield Wide(n = s{facets - 1}.n) }}"
    return f"namespace bench {{ event facet Noop(v: String) => (n: Int) {wide} }}"


async def main(facets: int, elements: int) -> None:
    await app.flows.save(source=flow(facets), name="wide")
    await app.flows.save(source=LOOP, name="loop")
    async with app.worker(concurrency=50, roles=("worker", "scheduler")):
        elsewhere = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bench.weft_afl", stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(2):
            await _flow("wide", {}), await _tasks(facets), await _flow_of(elsewhere)
        flows, tasks, others = [], [], []
        for _ in range(ROUNDS):
            flows.append(await _flow("wide", {}))
            tasks.append(await _tasks(facets))
            others.append(await _flow_of(elsewhere))
        await elsewhere.communicate(b"")  # no more lines
        await _flow("loop", {"all": "x" * min(elements, 2000)})
        before, backends = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, await _backends()
        watching = asyncio.create_task(_highest())
        took = await _flow("loop", {"all": "x" * elements})
        grew = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        watching.cancel()
        highest = max(HIGHEST)
    own, kernel, other = (facets / statistics.median(found) for found in (flows, tasks, others))
    print(json.dumps({
        "per_second": own, "kernel_per_second": kernel, "ratio": own / kernel, "other_per_second": other,
        "other_ratio": other / kernel, "elements_per_second": elements / took,
        "grew_mib": grew, "backends_grew_mib": max(highest - backends, 0.0),
    }))  # fmt: skip


async def _flow(name: str, params: dict[str, str]) -> float:
    began = await _value("select clock_timestamp()")
    run = await app.flows.start(name, None, params)
    return await _until_ended(run.id, began)


async def _flow_of(starter: asyncio.subprocess.Process) -> float:
    """The same, started by another process."""
    assert starter.stdin is not None and starter.stdout is not None
    starter.stdin.write(b"wide\n")
    began, run = (await starter.stdout.readline()).decode().split()
    return await _until_ended(uuid.UUID(run), dt.datetime.fromisoformat(began))


async def start_what_is_named() -> None:
    """What that process does: starts a flow for each line, and says when that began and which run it is."""
    while name := (await asyncio.to_thread(sys.stdin.readline)).strip():
        began = await _value("select clock_timestamp()")
        run = await app.flows.start(name)
        print(began.isoformat(), run.id, flush=True)


async def _until_ended(run: uuid.UUID, began: dt.datetime) -> float:
    while (ended := await _value("select finished_at from weft.runs where id = %(id)s", id=run)) is None:
        await asyncio.sleep(0.02)
    return float((ended - began).total_seconds())


async def _tasks(count: int) -> float:
    began = await _value("select clock_timestamp()")
    made = await app.enqueue_many(facet, [{"v": str(number)} for number in range(count)])
    ids = [one.id for one in made]
    # of the first and the last: who asks for all of them slows them down
    while await _value("select count(*) from weft.tasks where id in (%(first)s, %(last)s)", first=ids[0], last=ids[-1]):
        await asyncio.sleep(0.02)
    while await _value("select count(*) from weft.tasks where id = any(%(ids)s)", ids=ids):
        await asyncio.sleep(0.02)
    ended = await _value("select max(finished_at) from weft.task_history where id = any(%(ids)s)", ids=ids)
    return float((ended - began).total_seconds())


async def _value(asked: str, **arguments: object) -> Any:
    async with app.tx() as tx:
        return await tx.value(asked, arguments)


async def _highest() -> None:
    """Notes now and then how much the backends have."""
    while True:
        HIGHEST.append(await _backends())
        await asyncio.sleep(1)


async def _backends() -> float:
    """What the largest backend has to itself, in MiB; 0 where the database is not on this machine."""
    async with app.tx() as tx:
        pids = await tx.rows("select pid from pg_stat_activity where datname = current_database()")
    return max([_own_memory(pid) for (pid,) in pids], default=0.0)


def _own_memory(pid: int) -> float:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return float(line.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    uvloop.run(main(*map(int, sys.argv[1:3])) if sys.argv[1:] else start_what_is_named())
