"""An HTTP worker in tests: claims, and holds what it claimed."""

import dataclasses
from typing import Any

import httpx2
from calling import Caller

import hands
from weft.db.database import Database
from weft.settle import rescue


@dataclasses.dataclass
class Hand:
    """One claimed task, and every word that can be said about it."""

    api: Caller
    task: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.task["task_id"])

    @property
    def which(self) -> dict[str, Any]:
        return {name: self.task[name] for name in ("task_id", "attempt", "lease_token")}

    async def say(self, verb: str, **body: Any) -> httpx2.Response:
        """With the task's own token."""
        return await self.api.post(f"/v1/task/{verb}", body, key=self.task["token"])

    async def fetch(self) -> httpx2.Response:
        return await self.api.get("/v1/task/fetch", key=self.task["token"])


WORDS: dict[str, dict[str, Any]] = {
    "heartbeat": {"progress": 50},
    "complete": {"result": 1},
    "fail": {"error": {"message": "no"}},
    "log": {"lines": [{"message": "hello"}]},
}
"""Everything that changes something, and what to say with it."""


async def claim(api: Caller, *, role: str = "worker", **body: Any) -> list[dict[str, Any]]:
    answer = await api.post("/v1/task/claim", {"worker": "ada", "kinds": ["mail"], "limit": 100, **body}, role=role)
    assert answer.status_code == 200, answer.text
    tasks: list[dict[str, Any]] = answer.json()["tasks"]
    return tasks


async def hold(api: Caller, database: Database, **options: Any) -> Hand:
    """A new task in the hands of a worker."""
    async with database.tx() as tx:
        await hands.put(tx, **options)
    [task] = await claim(api)
    return Hand(api, task)


async def rescued(database: Database, hand: Hand) -> None:
    """Its lease has run out and the chore has taken it away."""
    await lapse(database, hand.id)
    async with database.tx() as tx:
        assert await rescue.leases(tx) == 1


async def lapse(database: Database, id: str) -> None:
    async with database.tx() as tx:
        await tx.run("update weft.tasks set lease_until = weft.now() - interval '1 second' where id = %(id)s", {"id": id})


async def row(database: Database, id: str) -> tuple[Any, ...]:
    """All of a task, wherever it is, and its log lines: to show that nothing was changed."""
    async with database.tx() as tx:
        task = await tx.row("select t.* from weft.tasks as t where t.id = %(id)s", {"id": id})
        ended = await tx.row("select h.* from weft.task_history as h where h.id = %(id)s", {"id": id})
        lines = await tx.value("select count(*) from weft.task_logs as l where l.task_id = %(id)s", {"id": id})
    return (task, ended, lines)
