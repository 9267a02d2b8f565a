"""Weft under the benchmark's protocol. Workers are not here: they are `weft worker`, the command users run.

BENCH_WEFT_ORGS says among how many orgs the tasks are spread. With more than one, the last org's tasks go to a
queue with a limit, so that what limits cost is in the number.
"""

import asyncio
import itertools
import os
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import uvloop

from bench.peers import protocol
from bench.weft_app import app, noop, occupy, stamp, wait

ORGS = int(os.environ.get("BENCH_WEFT_ORGS", "1"))
DEFAULT_ORG = uuid.UUID("00000000-0000-7000-8000-000000000001")
LIMITED_QUEUE = "limited"
LIMIT = 100

FEEDS = 20
"""Batches a second."""

QUEUED = """
select n_tup_ins - n_tup_del from pg_stat_user_tables where schemaname = 'weft' and relname = 'tasks'
"""
ADD_ORG = "insert into weft.orgs (id, name, slug) values (%s, %s, %s)"
ADD_LIMIT = "insert into weft.queues (org_id, name, max_running) values (%s, %s, %s)"


@dataclass(frozen=True)
class Target:
    """Where tasks are sent."""

    org: uuid.UUID
    queue: str = "default"


def targets() -> list[Target]:
    """Return one target per org; the ids are fixed, so every phase knows them."""
    if ORGS == 1:
        return [Target(DEFAULT_ORG)]
    orgs = [uuid.UUID(int=DEFAULT_ORG.int + number) for number in range(1, ORGS + 1)]
    return [*(Target(org) for org in orgs[:-1]), Target(orgs[-1], queue=LIMITED_QUEUE)]


async def setup() -> None:
    """Migrate, then add the orgs and the limit."""
    migration = await asyncio.create_subprocess_exec(os.environ["BENCH_WEFT_COMMAND"], "migrate", "up")
    if await migration.wait():
        sys.exit("`weft migrate up` failed")
    async with await psycopg.AsyncConnection.connect(protocol.database_url()) as connection:
        for number, target in enumerate(targets(), start=1):
            if target.org == DEFAULT_ORG:
                continue
            await connection.execute(ADD_ORG, (target.org, f"Bench {number}", f"bench-{number}"))
            if target.queue == LIMITED_QUEUE:
                await connection.execute(ADD_LIMIT, (target.org, LIMITED_QUEUE, LIMIT))


async def enqueue_one(count: int) -> None:
    """Enqueue one task per call, org after org."""
    async with app:

        async def enqueue() -> None:
            for number, target in zip(range(count), itertools.cycle(targets()), strict=False):
                await app.enqueue(noop, {"n": number}, org=target.org, queue=target.queue)

        await protocol.timed(enqueue())


async def enqueue_many(count: int) -> None:
    """Enqueue in bulk, a batch per call, org after org."""
    async with app:

        async def enqueue() -> None:
            for numbers, target in zip(batches(count), itertools.cycle(targets()), strict=False):
                payloads = [{"n": number} for number in numbers]
                await app.enqueue_many(noop, payloads, org=target.org, queue=target.queue)

        await protocol.timed(enqueue())


async def produce(count: int, rate: int) -> None:
    """Enqueue stamped tasks at a rate, org after org."""
    receivers = itertools.cycle(targets())

    async def send(sent: str) -> None:
        target = next(receivers)
        await app.enqueue(stamp, {"sent": sent}, org=target.org, queue=target.queue)

    async with app:
        await protocol.paced(count, rate, send)


async def waits(count: int, rate: int) -> None:
    """Enqueue tasks that record their wait at a rate, all in the second org."""
    light = targets()[1].org

    async def send(sent: str) -> None:
        await app.enqueue(wait, {"sent": sent}, org=light)
        protocol.record(f"enqueued {sent} {time.monotonic_ns()}")

    async with app:
        await protocol.paced(count, rate, send)


async def feed(rate: int) -> None:
    """Enqueue no-ops at a rate for ever, org after org, but never have more than a little queued."""
    receivers = itertools.cycle(targets()[:-1] or targets())
    batch = max(1, rate // FEEDS)
    async with app, await psycopg.AsyncConnection.connect(protocol.database_url(), autocommit=True) as observer:
        began, sent = time.monotonic(), 0
        while True:
            await asyncio.sleep(max(0.0, began + sent / rate - time.monotonic()))
            await app.enqueue_many(noop, [{"n": sent + n} for n in range(batch)], org=next(receivers).org)
            sent += batch
            if time.monotonic() - began > sent / rate + 1:
                # behind: what was missed is not made up for
                began = time.monotonic() - sent / rate
            while await queued(observer) > rate:
                await asyncio.sleep(0.1)


async def queued(observer: "psycopg.AsyncConnection[tuple[float]]") -> float:
    """About how many: what was put in less what was taken out, by the statistics."""
    row = await (await observer.execute(QUEUED)).fetchone()
    return row[0] if row else 0


async def keyed(count: int, concurrency: int, milliseconds: int) -> None:
    """Enqueue tasks under one concurrency key, all at once for who looks from outside."""
    async with app, app.tx() as tx:
        for _ in range(count):
            await app.enqueue(
                occupy, {"milliseconds": milliseconds}, concurrency_key="ten", concurrency=concurrency, tx=tx.connection
            )


def batches(count: int) -> Iterator[range]:
    """Split the numbers below `count` so that every org gets its share even in a small run."""
    size = min(protocol.ENQUEUE_BATCH, max(1, count // ORGS))
    for start in range(0, count, size):
        yield range(start, min(start + size, count))


if __name__ == "__main__":
    protocol.main(
        {
            "setup": setup,
            "enqueue-one": enqueue_one,
            "enqueue-many": enqueue_many,
            "produce": produce,
            "waits": waits,
            "keyed": keyed,
            "feed": feed,
        },
        runner=uvloop.run,
    )
