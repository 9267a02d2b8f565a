"""pgqueuer under the benchmark's protocol."""

import asyncio
import signal

import asyncpg
import protocol
import uvloop
from pgqueuer.applications import PgQueuer
from pgqueuer.models import Job
from pgqueuer.queries import Queries

BATCH = 500
# A pool lets the next claim overlap the completions; one connection makes them take turns.
POOL = 4


async def setup() -> None:
    """Install pgqueuer's tables."""
    await (await queries()).install()


async def enqueue_one(count: int) -> None:
    """Enqueue one job per call."""
    queue = await queries()

    async def enqueue() -> None:
        for number in range(count):
            await queue.enqueue("noop", b'{"n": %d}' % number)

    await protocol.timed(enqueue())


async def enqueue_many(count: int) -> None:
    """Enqueue by pgqueuer's list form."""
    queue = await queries()

    async def enqueue() -> None:
        for start in range(0, count, protocol.ENQUEUE_BATCH):
            numbers = range(start, min(start + protocol.ENQUEUE_BATCH, count))
            payloads = [b'{"n": %d}' % number for number in numbers]
            await queue.enqueue(["noop"] * len(payloads), payloads, [0] * len(payloads))

    await protocol.timed(enqueue())


async def produce(count: int, rate: int) -> None:
    """Enqueue stamped jobs at a rate."""
    queue = await queries()
    await protocol.paced(count, rate, lambda sent: queue.enqueue("stamp", sent.encode()))


async def work() -> None:
    """Run jobs until SIGTERM."""
    pool = await asyncpg.create_pool(protocol.database_url(), min_size=POOL, max_size=POOL)
    queuer = PgQueuer.from_asyncpg_pool(pool)

    @queuer.entrypoint("noop")
    async def noop(job: Job) -> None:
        pass

    @queuer.entrypoint("stamp")
    async def stamp(job: Job) -> None:
        protocol.stamp(job.payload.decode())

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, queuer.shutdown.set)
    await queuer.qm.run(batch_size=BATCH)


async def queries() -> Queries:
    """Open a connection for installing and enqueueing."""
    return Queries.from_asyncpg_connection(await asyncpg.connect(protocol.database_url()))


if __name__ == "__main__":
    protocol.main(
        {
            "setup": setup,
            "enqueue-one": enqueue_one,
            "enqueue-many": enqueue_many,
            "produce": produce,
            "work": work,
        },
        runner=uvloop.run,
    )
