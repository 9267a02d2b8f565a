"""The demo's AIOpsLab: a worker with the simulated executor, and problems for it, one every few seconds."""

import asyncio
import itertools
import logging
import random

from weft.base import errors
from weft.client.client import Client
from weft.contrib.aiopslab.application import PREFIX
from weft.contrib.aiopslab.executors.simulated import PROBLEMS
from weft.contrib.aiopslab.worker import Setup, Worker
from weft.net.guard import Unreachable

log = logging.getLogger("weft.cli")

WORKER = "worker-001-kind"
_EVERY = 8.0


async def run(url: str, *, key: str, worker_key: str) -> None:
    """Until cancelled."""
    async with Client(url + PREFIX, key) as client, Client(url + PREFIX, worker_key, tries=1) as lab:
        worker = Worker(lab, Setup(id=WORKER, backend_type="default", poll=1.0, grace=1.0))
        async with asyncio.TaskGroup() as group:
            group.create_task(worker.run(patience=0))
            group.create_task(_submit(client))


async def _submit(client: Client) -> None:
    for turn in itertools.count():
        problem = PROBLEMS[turn % len(PROBLEMS)]
        # now and then an agent has too few steps, and does not solve it
        body = {"problem_id": problem, "max_steps": 2 if turn % 7 == 6 else 10, "priority": random.randint(3, 7)}
        try:
            await client.post("/tasks", body, repeat=True)
        except (Unreachable, errors.WeftError) as error:
            log.warning("no problem was submitted: %s", error)
        await asyncio.sleep(_EVERY)
