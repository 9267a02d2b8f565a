"""`app.live`: watching from the process that has the database, with everything that `/v1/live` can watch.

    async for orders in app.live("query:open_orders", customer="ada"):
        print(orders)
"""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from weft.access.principal import Principal
from weft.api.live_watch import Live
from weft.base import errors, ids, json
from weft.db.database import Database
from weft.db.notify import Hub
from weft.sdk.query import Queries


class _Newest:
    """Holds what was shown last, until it is taken; of a log every line."""

    def __init__(self) -> None:
        self.told = asyncio.Event()
        self.shown: list[bytes] = []
        self.failed: errors.WeftError | None = None

    def show(self, data: bytes, *, cursor: int, gap: bool, replaces: bool) -> None:
        if replaces:
            self.shown.clear()
        self.shown.append(data)
        self.told.set()

    def fail(self, error: errors.WeftError) -> None:
        self.failed = error
        self.told.set()


class InProcess:
    """Call it with a subject and its arguments; iterate over what it is, again whenever that changed."""

    def __init__(
        self, database: Callable[[], Awaitable[Database]], hub: Callable[[], Awaitable[Hub]], queries: Queries
    ) -> None:
        self._database = database
        self._hub = hub
        self._queries = queries
        self._live: Live | None = None
        self._of: Database | None = None

    async def __call__(self, subject: str, /, *, org: uuid.UUID = ids.DEFAULT_ORG, **args: Any) -> AsyncGenerator[Any, None]:
        """A subject such as `task` (with `id=`), or `query:NAME`. Ends with an error if it cannot be watched."""
        live = await self._ready()
        watcher = _Newest()
        who = Principal(org=org, actor="app", role="admin")
        found = live.subject(subject)
        async with live.feed.held(), live.watching(watcher, who=who, subject=found, args=json.loads(json.dumps(args))):
            while True:
                await watcher.told.wait()
                watcher.told.clear()
                shown, watcher.shown = watcher.shown, []
                for data in shown:
                    yield json.loads(data)
                if watcher.failed is not None:
                    raise watcher.failed

    async def close(self) -> None:
        """Ends whatever is still watched: Python may close an iterator that was left long after."""
        if self._live is not None:
            live, self._live = self._live, None
            await live.close()

    async def _ready(self) -> Live:
        database = await self._database()
        if self._live is None or self._of is not database:
            self._live, self._of = Live(database, hub=await self._hub(), queries=self._queries), database
        return self._live
