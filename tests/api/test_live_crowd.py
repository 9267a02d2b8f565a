"""Many clients with many subscriptions on one server: everybody is told, and what is the same is looked at once.

WEFT_LIVE_FULL=1 takes 500 clients with 10 subscriptions each, and a minute or two.
"""

import asyncio
import contextlib
import os
import resource
from typing import Any

from listening import Client, listening

import hands
from weft.base import config
from weft.db.database import Database

FULL = os.environ.get("WEFT_LIVE_FULL") == "1"
CLIENTS = 500 if FULL else 20
TASKS = 8
PATIENCE = 600 if FULL else 120
LARGEST = 600 * 1024
"""kB that 500 clients and the server may take together; they live in one process here."""


async def told(client: Client, wanted: dict[str, Any]) -> None:
    """Reads until every subscription has shown what is wanted of it."""
    left = dict(wanted)
    while left:
        message = await client.next()
        assert message["type"] == "data", message
        found = message["data"]
        if message["id"] in left and left[message["id"]](found):
            del left[message["id"]]


async def test_a_crowd_is_told_and_memory_stays_bounded(database_url: str) -> None:
    plenty = config.Settings(database_url=database_url, rate_per_key=100_000)
    database = Database(plenty)
    await database.open()
    try:
        async with asyncio.timeout(PATIENCE), listening(database) as here, contextlib.AsyncExitStack() as stack:
            async with database.tx() as tx:
                ids = await hands.put_many(tx, TASKS)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            crowd = []
            for _ in range(CLIENTS):
                crowd.append(await stack.enter_async_context(here.client()))

            async def subscribe(client: Client) -> None:
                for number, id in enumerate(ids):
                    await client.subscribe("task", {"id": id}, id=f"t{number}")
                await client.subscribe("counts", id="counts")
                await client.subscribe("tasks", {"limit": 10}, id="tasks")
                wanted: dict[str, Any] = {f"t{number}": lambda found: found["state"] == "ready" for number in range(TASKS)}
                await told(client, {**wanted, "counts": lambda found: True, "tasks": lambda found: True})

            await asyncio.gather(*map(subscribe, crowd))
            live = here.service.live
            assert len(live._watched) == TASKS + 2
            looks = live.looks
            async with database.tx() as tx:
                assert len(await hands.claim_plain(tx)) == TASKS
            running: dict[str, Any] = {f"t{number}": lambda found: found["state"] == "running" for number in range(TASKS)}
            running["counts"] = lambda found: found["running"]["count"] == TASKS
            await asyncio.gather(*(told(client, running) for client in crowd))
            # one look for all of them, not one for each
            assert live.looks - looks < CLIENTS * (TASKS + 2) / 2
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            assert grown < LARGEST
    finally:
        await database.close()
