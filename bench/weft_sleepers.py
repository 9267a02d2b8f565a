"""Puts runs to sleep and wakes some of them at once: `python -m bench.weft_sleepers SLEEPERS DUE` prints what that took.

Those that sleep for long stay asleep meanwhile; the others are due at one moment, when all of them have fallen asleep.
"""

import asyncio
import json
import sys
import time

import psutil
import uvloop

from bench.peers import protocol
from weft import App

CONCURRENCY = 500
PORTION = 1000
ASLEEP = "select count(*) from weft.runs where name = 'sleeper' and state = 'waiting'"
ENDED = "select count(*) from weft.runs where name = 'sleeper' and finished_at > %(since)s::timestamptz"
BACKENDS = "select pid from pg_stat_activity where datname = current_database()"
SLEEP = 3.0
LONG = 30 * 86400.0

app = App(database_url=protocol.database_url())


@app.step
async def noop() -> int:
    return 1


@app.workflow
async def sleeper(seconds: float) -> int:
    await app.sleep(seconds)
    return await noop()


async def main(sleepers: int, due: int) -> None:
    async with app, app.worker(concurrency=CONCURRENCY, roles=("worker", "scheduler")):
        await _sleep(min(1000, sleepers), seconds=LONG)
        worker, server = _memory(), await _backends()
        await _sleep(sleepers, seconds=LONG)
        grown, served = _memory() - worker, await _backends() - server
        per_second = await _woken(due)
    print(json.dumps({
        "worker_grew_mib": grown / 2**20, "server_grew_mib": served / 2**20, "server_before_mib": server / 2**20,
        "woken_per_second": per_second,
    }))  # fmt: skip


async def _sleep(count: int, *, seconds: float) -> None:
    before = await _value(ASLEEP)
    for first in range(0, count, PORTION):
        await app.start_many(sleeper, [{"seconds": seconds}] * min(PORTION, count - first))
    while await _value(ASLEEP) < before + count:
        await asyncio.sleep(0.05)


async def _woken(due: int) -> float:
    """Runs that fall due in the same instant, among all those that sleep on; from that instant to the last one's end."""
    at = await _value("select weft.now()")
    asleep = await _value(ASLEEP)
    # long enough for all of them to have fallen asleep
    seconds = max(SLEEP, due / 500)
    begins = time.time() + seconds
    for first in range(0, due, PORTION):
        left = begins - time.time()
        await app.start_many(sleeper, [{"seconds": max(left, 0.001)}] * min(PORTION, due - first))
    while await _value(ASLEEP) < asleep + due and time.time() < begins:
        await asyncio.sleep(0.02)
    await asyncio.sleep(max(0.0, begins - time.time()))
    while await _value(ENDED, since=at) < due:
        await asyncio.sleep(0.02)
    return due / (time.time() - begins)


async def _value(statement: str, **params: object) -> object:
    async with app.tx() as tx:
        return await tx.value(statement, params)


def _memory() -> int:
    return psutil.Process().memory_info().rss


async def _backends() -> int:
    """Memory of our connections' processes that they do not share; 0 if the server is elsewhere."""
    async with app.tx() as tx:
        pids = [row[0] for row in await tx.rows(BACKENDS)]
    total = 0
    for pid in pids:
        try:
            found = psutil.Process(pid).memory_full_info()
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        total += found.uss
    return total


if __name__ == "__main__":
    uvloop.run(main(*map(int, sys.argv[1:3])))
