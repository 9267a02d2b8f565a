"""One deed of a client, in a process of its own that may be told to die in it: `python deed.py enqueue KEY`."""

import asyncio
import os
import sys
import uuid

import psycopg

from weft import App
from weft.base import ids
from weft.db import migrate
from weft.queue import tasks

URL = os.environ["CREW_URL"]


async def enqueue(app: App, key: str) -> None:
    await app.enqueue("checked", {"k": key}, check=False)


async def enqueue_many(app: App, key: str) -> None:
    """More than one statement's worth, so that it is a transaction."""
    await app.enqueue_many("checked", [{"k": key, "seconds": 0}] * 5001, check=False, queue="bulk")


async def cancel(app: App, key: str) -> None:
    await app.cancel(key)


async def redrive(app: App, key: str) -> None:
    async with app.tx() as tx:
        await tasks.redrive(tx, org=ids.DEFAULT_ORG, ids=[uuid.UUID(key)], actor="chaos")


async def trigger(app: App, key: str) -> None:
    await app.jobs.trigger(key)


async def up(app: App, key: str) -> None:
    async with await psycopg.AsyncConnection.connect(URL, autocommit=True, connect_timeout=10) as owner:
        await migrate.up(owner, migrate.ours())


async def main() -> None:
    deeds = {one.__name__: one for one in (enqueue, enqueue_many, cancel, redrive, up, trigger)}
    app = App(database_url=URL)
    await deeds[sys.argv[1]](app, sys.argv[2])
    await app.close()
    print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
