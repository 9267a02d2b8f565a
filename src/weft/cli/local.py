"""The server's application in this process, over the database of the settings: nothing listens, nobody else gets in."""

import contextlib
import uuid
from collections.abc import AsyncIterator

from starlette.applications import Starlette

from weft.access import orgs
from weft.access.principal import Principal
from weft.api import server
from weft.app import App
from weft.base import errors, ids
from weft.contrib.aiopslab.application import APPLICATION
from weft.db.database import Database


@contextlib.asynccontextmanager
async def application(app: App | None = None, *, org: str | None, actor: str) -> AsyncIterator[Starlette]:
    """The application over an app's database, or that of the settings. Whoever has the database is its operator."""
    async with contextlib.AsyncExitStack() as stack:
        opened = await stack.enter_async_context(App()) if app is None else app
        database = await opened.open()
        principal = Principal(org=await _org(database, org), actor=actor, role="operator")
        built = server.build(database, local=principal, queries=opened.queries, applications=[APPLICATION])
        try:
            yield built
        finally:
            await built.state.service.ledger.close()


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
