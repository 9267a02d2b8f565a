"""procrastinate under the benchmark's protocol."""

import logging

import procrastinate
import protocol
import uvloop

CONCURRENCY = 50
POOL = 20


def application(pool: int) -> procrastinate.App:
    """Declare the app and its two tasks."""
    connector = procrastinate.PsycopgConnector(conninfo=protocol.database_url(), min_size=pool, max_size=pool)
    app = procrastinate.App(connector=connector)

    @app.task(name="noop")
    async def noop(n: int) -> None:
        pass

    @app.task(name="stamp")
    async def stamp(sent: str) -> None:
        protocol.stamp(sent)

    return app


async def setup() -> None:
    """Install procrastinate's schema."""
    async with application(1).open_async() as app:
        await app.schema_manager.apply_schema_async()


async def enqueue_one(count: int) -> None:
    """Defer one job per call."""
    async with application(1).open_async() as app:
        task = app.tasks["noop"]

        async def enqueue() -> None:
            for number in range(count):
                await task.defer_async(n=number)

        await protocol.timed(enqueue())


async def enqueue_many(count: int) -> None:
    """Defer by procrastinate's batch form."""
    async with application(1).open_async() as app:
        task = app.tasks["noop"]

        async def enqueue() -> None:
            for start in range(0, count, protocol.ENQUEUE_BATCH):
                numbers = range(start, min(start + protocol.ENQUEUE_BATCH, count))
                await task.batch_defer_async(*({"n": number} for number in numbers))

        await protocol.timed(enqueue())


async def produce(count: int, rate: int) -> None:
    """Defer stamped jobs at a rate."""
    async with application(1).open_async() as app:
        task = app.tasks["stamp"]
        await protocol.paced(count, rate, lambda sent: task.defer_async(sent=sent))


async def work() -> None:
    """Run jobs until SIGTERM."""
    async with application(POOL).open_async() as app:
        await app.run_worker_async(concurrency=CONCURRENCY)


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
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
