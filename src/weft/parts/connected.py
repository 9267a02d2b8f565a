"""What every part of an app stands on: its settings, one database per event loop, and what hears its notifications."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator
from typing import Any, Self

from weft.base import config
from weft.db import fitting
from weft.db.database import Database
from weft.db.notify import Hub


class Connected:
    """Connects on first use."""

    def __init__(self, settings: config.Settings) -> None:
        self.settings = settings
        self._database: Database | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._hub: Hub | None = None
        self._hub_task: asyncio.Task[None] | None = None
        self._opening = asyncio.Lock()

    async def open(self) -> Database:
        """Connects, once per event loop. The embedded database is migrated by itself; another must fit."""
        if self._database is not None and self._loop is asyncio.get_running_loop():
            return self._database
        async with self._opening:
            if self._database is None or self._loop is not asyncio.get_running_loop():
                database = Database(self.settings)
                try:
                    await fitting.fit(database)
                    await database.open()
                except BaseException:
                    await database.close()
                    raise
                self._database, self._loop = database, asyncio.get_running_loop()
        return self._database

    async def close(self) -> None:
        if self._hub_task is not None:
            self._hub_task.cancel()
            await asyncio.gather(self._hub_task, return_exceptions=True)
            self._hub = self._hub_task = None
        if self._database is not None:
            await self._database.close()
            self._database = None

    async def _listening(self) -> Hub:
        database = await self.open()
        if self._hub is None:
            self._hub = Hub(database)
            self._hub_task = asyncio.create_task(self._hub.run())
        return self._hub

    @contextlib.asynccontextmanager
    async def tx(self, *, org: uuid.UUID | None = None) -> AsyncIterator[Any]:
        """A transaction for the functions of `weft.queue`, `weft.cluster` and the like."""
        async with (await self.open()).tx(org=org) as tx:
            yield tx

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()
