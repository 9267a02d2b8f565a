"""A worker process with one workflow of ten transactional steps: `python workflow_worker.py URL`."""

import asyncio
import os
import sys
from typing import Any

from weft import App

STEPS = 10
PAUSE = 0.02
"""Seconds that a step takes, so that a kill finds most runs half-way."""


def made(url: str) -> App:
    app = App(database_url=url)

    @app.transaction
    async def write(conn: Any, run: str, n: int) -> int:
        await asyncio.sleep(PAUSE)
        await conn.execute("insert into effects values (%s, %s, clock_timestamp(), %s)", (run, n, os.getpid()))
        return n

    @app.workflow
    async def ten() -> int:
        return sum([await write(app.run_id(), n) for n in range(STEPS)])

    return app


async def main() -> None:
    async with made(sys.argv[1]) as app, app.worker(concurrency=20):
        print("working", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
