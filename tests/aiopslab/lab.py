"""`Lab`: the AIOpsLab API of a fresh database, asked in this process, with a clock in the test's hands."""

import dataclasses
import datetime as dt
import uuid
from typing import Any

import httpx2

import hands
from weft.access import keys
from weft.api import server
from weft.base import ids
from weft.contrib.aiopslab import chores
from weft.contrib.aiopslab.application import APPLICATION, OPERATIONS
from weft.contrib.aiopslab.speech import AIOPSLAB
from weft.db.database import Database
from weft.settle import rescue
from weft.testing.clock import Clock

NOWHERE = "01890f3e-7b2c-7cc0-98c4-dc0c0c07398f"
PROBLEM = "k8s_target_port-misconfig-detection-1"
ROLES = ("reader", "writer", "admin", "worker", "operator")


class Opened:
    """A database as the clock wants it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self) -> Database:
        return self._database


class Frozen(Clock):
    """A clock that stands still between two moves: a test on a slow machine sees the same as on a fast one."""

    @classmethod
    async def stand(cls, database: Database) -> "Frozen":
        clock = await cls.install(Opened(database))
        await clock._say("""
            alter table weft.test_clock add column at timestamptz not null default statement_timestamp();
            create or replace function weft.now() returns timestamptz
            language sql stable parallel safe
            return (select c.at + c.shift from weft.test_clock as c);
        """)
        return clock


@dataclasses.dataclass
class Lab:
    """`await lab.post("/tasks", {...})`. With keys made, `role=` says whose is used; without, the door is open."""

    database: Database
    client: httpx2.AsyncClient
    keys: dict[str, str] = dataclasses.field(default_factory=dict)
    clock: Clock | None = None

    async def ask(self, method: str, path: str, body: Any = None, *, role: str | None = None, **how: Any) -> httpx2.Response:
        headers = how.pop("headers", {})
        if role is not None:
            headers = {"authorization": f"Bearer {self.keys[role]}", **headers}
        given = {} if body is None else {"json": body}
        return await self.client.request(method, path, headers=headers, **given, **how)

    async def get(self, path: str, **how: Any) -> httpx2.Response:
        return await self.ask("GET", path, **how)

    async def post(self, path: str, body: Any = None, **how: Any) -> httpx2.Response:
        return await self.ask("POST", path, body, **how)

    async def delete(self, path: str, **how: Any) -> httpx2.Response:
        return await self.ask("DELETE", path, **how)

    # what most tests begin with

    async def submit(self, problem: str = PROBLEM, **more: Any) -> str:
        answer = await self.post("/tasks", {"problem_id": problem, **more})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    async def register(self, number: int = 1, *, backend: str = "default", places: int = 1, **can: Any) -> str:
        id = f"worker-{number:03}-kind"
        body = {"id": id, "backend_type": backend, "capabilities": {"max_parallel_tasks": places, **can}}
        answer = await self.post("/workers/register", body)
        assert answer.status_code == 201, answer.text
        return id

    async def claim(self, worker: str) -> str | None:
        answer = await self.post(f"/workers/{worker}/claim")
        assert answer.status_code in (200, 204), answer.text
        return answer.json()["id"] if answer.status_code == 200 else None

    async def beat(self, worker: str, status: str = "busy") -> Any:
        answer = await self.post("/workers/heartbeat", {"worker_id": worker, "status": status})
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def task(self, id: str | None, **query: Any) -> Any:
        answer = await self.get(f"/tasks/{id}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def worker(self, id: str) -> Any:
        answer = await self.get(f"/workers/{id}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def advance(self, **by: float) -> None:
        """Moves the clock, then does what the chores would have done meanwhile."""
        assert self.clock is not None
        await self.clock.advance(dt.timedelta(**by))
        await self.chores()

    async def chores(self) -> None:
        async with self.database.tx() as tx:
            await rescue.leases(tx)
        for chore in chores.CHORES:
            async with self.database.tx() as tx:
                await chore.once(tx)

    async def count(self, table: str) -> int:
        async with self.database.once() as tx:
            return int(await tx.value(f"select count(*) from weft.{table}"))


def client(database: Database, *, mounted: bool = False) -> httpx2.AsyncClient:
    """Alone at the root, or below /aiopslab beside Weft's own operations."""
    if mounted:
        app, base = server.build(database, applications=[APPLICATION]), "http://weft/aiopslab"
    else:
        app, base = server.build(database, operations=OPERATIONS, dialect=AIOPSLAB), "http://weft"
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app, raise_app_exceptions=False), base_url=base)


async def with_keys(lab: Lab) -> uuid.UUID:
    """Locks the door: keys of every role in the default org, and (`other:`) in another one, whose id is answered."""
    async with lab.database.tx() as tx:
        other = await hands.new_org(tx, "other")
        for org, prefix in ((ids.DEFAULT_ORG, ""), (other, "other:")):
            for role in ROLES:
                _, lab.keys[prefix + role] = await keys.create(tx, org=org, name=role, role=role, actor="test")  # type: ignore[arg-type]
    return other


def refused(answer: httpx2.Response) -> tuple[int, str]:
    """Status and code of a refusal, whose shape is the seed's."""
    told = answer.json()
    assert set(told) == {"error", "code", "details"}, told
    assert isinstance(told["error"], str) and told["error"] and isinstance(told["details"], dict)
    return answer.status_code, told["code"]
