"""A real server on a real port, and clients of its WebSocket."""

import asyncio
import contextlib
import dataclasses
import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import websockets
from calling import ROLES
from websockets.asyncio.client import ClientConnection

import hands
from weft.access import keys
from weft.api import server, serving
from weft.api.endpoint import Service
from weft.base import ids
from weft.db.database import Database

PATIENCE = 60
"""Seconds after which a test gives up; on a busy machine anything may take ten."""


@dataclasses.dataclass
class Listening:
    """A server, and the keys to it: role → key of the default org; `other:role` → of another org."""

    url: str
    service: Service
    keys: dict[str, str]
    other_org: uuid.UUID

    @contextlib.asynccontextmanager
    async def client(self, role: str | None = "reader", *, query: str = "", **how: Any) -> AsyncIterator["Client"]:
        headers = {**({} if role is None else {"authorization": f"Bearer {self.keys[role]}"}), **how.pop("headers", {})}
        async with websockets.connect(
            f"{self.url.replace('http', 'ws', 1)}/v1/live{query}", additional_headers=headers, proxy=None,
            open_timeout=PATIENCE, close_timeout=5, ping_interval=None, **how,
        ) as socket:  # fmt: skip
            made = Client(socket)
            made.hello = await made.next()
            assert made.hello["type"] == "hello"
            yield made


@dataclasses.dataclass
class Client:
    socket: ClientConnection
    hello: dict[str, Any] = dataclasses.field(default_factory=dict)
    shown: dict[str, Any] = dataclasses.field(default_factory=dict)
    """The newest data of each subscription."""

    async def say(self, **message: Any) -> None:
        await self.socket.send(json.dumps(message))

    async def subscribe(self, subject: str, args: dict[str, Any] | None = None, *, id: str = "s", **more: Any) -> None:
        await self.say(type="subscribe", id=id, subject=subject, args=args or {}, **more)

    async def next(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE):
            message: dict[str, Any] = json.loads(await self.socket.recv())
        if message["type"] == "data":
            self.shown[message["id"]] = message["data"]
        return message

    async def until(self, wanted: Any) -> dict[str, Any]:
        """The first message from now on for which `wanted(message)` holds."""
        async with asyncio.timeout(PATIENCE):
            while not wanted(message := await self.next()):
                pass
        return message

    async def shows(self, id: str, wanted: Any) -> Any:
        """The newest data of a subscription once `wanted(data)` holds: they may have come while others were waited for."""
        async with asyncio.timeout(PATIENCE):
            while id not in self.shown or not wanted(self.shown[id]):
                await self.next()
        return self.shown[id]

    async def quiet(self) -> list[dict[str, Any]]:
        """What came before the answer to a ping: everything that was on its way."""
        await self.say(type="ping")
        found = []
        while (message := await self.next())["type"] != "pong":
            found.append(message)
        return found

    async def closed(self) -> int:
        """Reads until the server closes; answers its code."""
        with contextlib.suppress(websockets.ConnectionClosed):
            async with asyncio.timeout(PATIENCE):
                while True:
                    await self.socket.recv()
        assert self.socket.close_code is not None
        return self.socket.close_code


@contextlib.asynccontextmanager
async def listening(database: Database, **built: Any) -> AsyncIterator[Listening]:
    made: dict[str, str] = {}
    async with database.tx() as tx:
        other = await hands.new_org(tx, "other")
        for org, prefix in ((ids.DEFAULT_ORG, ""), (other, "other:")):
            for role in ROLES:
                _, made[prefix + role] = await keys.create(tx, org=org, name=role, role=role, actor="test")  # type: ignore[arg-type]
    app = server.build(database, **built)
    listener = serving.listen("127.0.0.1", 0)
    async with serving.serving(app, listener=listener):
        yield Listening(serving.address(listener), app.state.service, made, other)
