"""AIOpsLab on this machine: a server, a worker with the simulated executor, and a problem that is solved."""

import asyncio
import logging

from weft import App
from weft.access import keys
from weft.api import server, serving
from weft.base import ids
from weft.client.client import Client
from weft.contrib.aiopslab.application import APPLICATION
from weft.contrib.aiopslab.worker import Setup, Worker


async def main() -> None:
    logging.disable(logging.WARNING)
    async with App() as app:
        database = await app.open()
        async with database.tx() as tx:
            _, key = await keys.create(tx, org=ids.DEFAULT_ORG, name="submitter", role="writer", actor="example")
            _, worker_key = await keys.create(tx, org=ids.DEFAULT_ORG, name="lab", role="worker", actor="example")
        listener = serving.listen("127.0.0.1", 0)
        url = serving.address(listener) + APPLICATION.prefix
        async with (
            serving.serving(server.build(database, applications=[APPLICATION]), listener=listener),
            Client(url, key) as client,
            Client(url, worker_key) as lab,
        ):
            worker = Worker(lab, Setup(id="worker-001-kind", backend_type="default", poll=0.1))
            working = asyncio.create_task(worker.run())
            made = await client.post("/tasks", {"problem_id": "pod-crash-localization-1", "agent_config": {"pace": 0}})
            while (task := await client.get(f"/tasks/{made['id']}"))["status"] in ("pending", "running"):
                await asyncio.sleep(0.1)
            print(task["status"], task["result"]["output"]["results"])
            for line in (await client.get(f"/tasks/{made['id']}/logs"))["logs"]:
                print(" ", line["message"])
            worker.stop()
            await working


if __name__ == "__main__":
    asyncio.run(main())
