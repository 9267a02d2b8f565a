"""The server's application in this process, over the database of the settings: nothing listens, nobody else gets in.

It is put together when it is asked for something, of that area's part of the API alone (`api/routes.py`): to import all of
it, and all of an `App`, takes longer than what most commands ask for.
"""

import contextlib
import importlib
import uuid
from collections.abc import AsyncIterator, Callable

from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from weft.access import orgs
from weft.access.principal import Principal
from weft.api import routes, server
from weft.api.dialect import Application
from weft.base import config, errors, ids
from weft.db.database import Database
from weft.parts.connected import Connected
from weft.sdk.query import Queries

_BESIDE = {"aiopslab": "weft.contrib.aiopslab.application"}
"""What is served beside the API, by the first word of its paths."""


class InParts:
    """An application, put together area by area."""

    def __init__(self, build: Callable[[str], Starlette]) -> None:
        self._build = build
        self._parts: dict[str, Starlette] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        area = routes.area(path)
        if area not in self._parts:
            self._parts[area] = self._build(path)
        await self._parts[area](scope, receive, send)

    async def close(self) -> None:
        for part in self._parts.values():
            await part.state.service.ledger.close()


@contextlib.asynccontextmanager
async def application(
    app: Connected | None = None, *, queries: Queries | None = None, org: str | None, actor: str
) -> AsyncIterator[InParts]:
    """The application over an app's database, or that of the settings. Whoever has the database is its operator."""
    async with contextlib.AsyncExitStack() as stack:
        opened = await stack.enter_async_context(Connected(config.load())) if app is None else app
        database = await opened.open()
        principal = Principal(org=await _org(database, org), actor=actor, role="operator")

        def build(path: str) -> Starlette:
            return server.build(
                database, local=principal, queries=queries, operations=routes.operations(routes.near(path)),
                applications=_beside(path),
            )  # fmt: skip

        whole = InParts(build)
        try:
            yield whole
        finally:
            await whole.close()


def _beside(path: str) -> list[Application]:
    module = _BESIDE.get(path.split("/")[1])
    return [] if module is None else [importlib.import_module(module).APPLICATION]


async def _org(database: Database, slug: str | None) -> uuid.UUID:
    if slug is None or slug == "default":
        return ids.DEFAULT_ORG
    if slug == "*":
        # what belongs to none: denials of strangers
        return ids.EVERY_ORG
    async with database.once() as tx:
        try:
            return await orgs.find(tx, slug)
        except errors.NotFound as error:
            raise errors.ConfigError(f"{error.message}; `weft org list` shows those there are") from None
