"""`Caller`: asks the API in process as anybody: with the key of a role, with another org's, or with none."""

import dataclasses
import uuid
from typing import Any

import httpx2

import hands
from weft.access import keys
from weft.api import server
from weft.base import ids
from weft.db.database import Database

ROLES = ("reader", "writer", "admin", "worker", "operator")


@dataclasses.dataclass
class Caller:
    """`await api.get("/v1/tasks", role="reader")`; without a role an admin asks, with `role=None` nobody does."""

    client: httpx2.AsyncClient
    keys: dict[str, str]
    """Role → key of the default org; `other:role` → of another org."""
    other_org: uuid.UUID

    async def ask(
        self, method: str, path: str, *, role: str | None = "admin", key: str | None = None, **how: Any
    ) -> httpx2.Response:
        given = key if key is not None else None if role is None else self.keys[role]
        headers = {**({} if given is None else {"authorization": f"Bearer {given}"}), **how.pop("headers", {})}
        return await self.client.request(method, path, headers=headers, **how)

    async def get(self, path: str, **how: Any) -> httpx2.Response:
        return await self.ask("GET", path, **how)

    async def post(self, path: str, body: Any = None, **how: Any) -> httpx2.Response:
        return await self.ask("POST", path, **({} if body is None else {"json": body}), **how)

    async def put(self, path: str, body: Any = None, **how: Any) -> httpx2.Response:
        return await self.ask("PUT", path, **({} if body is None else {"json": body}), **how)

    async def patch(self, path: str, body: Any = None, **how: Any) -> httpx2.Response:
        return await self.ask("PATCH", path, **({} if body is None else {"json": body}), **how)

    async def delete(self, path: str, **how: Any) -> httpx2.Response:
        return await self.ask("DELETE", path, **how)


@dataclasses.dataclass(frozen=True)
class People:
    """Who there is in a database: a key of every role in two orgs."""

    keys: dict[str, str]
    other_org: uuid.UUID
    template: str = ""
    """The database that others can be copied from, with all of them."""

    def caller(self, database: Database, **built: Any) -> Caller:
        """Who calls an application on a database where they are."""
        return Caller(client(database, **built), self.keys, self.other_org)


async def settle(database: Database) -> People:
    """Makes them there."""
    made: dict[str, str] = {}
    async with database.tx() as tx:
        await hands.lead(tx)
        other = await hands.new_org(tx, "other")
        for org, prefix in ((ids.DEFAULT_ORG, ""), (other, "other:")):
            for role in ROLES:
                _, made[prefix + role] = await keys.create(tx, org=org, name=role, role=role, actor="test")  # type: ignore[arg-type]
    return People(made, other)


async def caller(database: Database, **built: Any) -> Caller:
    """A caller of an application on this database, with a key of every role in two orgs."""
    return (await settle(database)).caller(database, **built)


def client(database: Database, **built: Any) -> httpx2.AsyncClient:
    """A fresh application on this database."""
    transport = httpx2.ASGITransport(app=server.build(database, **built), raise_app_exceptions=False)
    return httpx2.AsyncClient(transport=transport, base_url="http://weft")


def code(answer: httpx2.Response) -> tuple[int, str]:
    """Status and code of a refusal, whose envelope is whole."""
    error = answer.json()["error"]
    assert error["request_id"] == answer.headers["x-request-id"] and error["message"]
    return answer.status_code, error["code"]
