"""Follows the change feed for everybody who watches something on this server.

It reads on from its position, so nothing is missed while the database is away. It does not wait for the leader's sequencer:
while somebody watches it gives committed changes their positions itself, which is safe for anybody to do.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence

from weft.base import errors
from weft.base.background import Background
from weft.db.database import Database
from weft.db.notify import Hub
from weft.journal import feed, sequence
from weft.journal.feed import Change

log = logging.getLogger("weft.live")

EVERY = 0.05
"""Seconds between two looks into the inbox; what is sequenced is notified, and that may wait for other commits."""
_AGAIN = 0.5
_PAGE = 1000
_END = 2**62

Told = Callable[[Sequence[Change] | None], None]
"""Called with what changed; None: anything may have."""


class Feed:
    """Runs while it is held."""

    def __init__(self, database: Database, *, hub: Hub | None, tell: Told) -> None:
        self.position = 0
        self._database = database
        self._hub = hub
        self._tell = tell
        self._held = 0
        self._starting = asyncio.Lock()
        self._running: Background | None = None
        self._news = asyncio.Event()
        self._looked = float("-inf")

    @contextlib.asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Follows as long as somebody is in here; the position is known from the beginning."""
        self._held += 1
        try:
            async with self._starting:
                if self._running is None or self._running.over:
                    async with self._database.once() as tx:
                        self.position = (await feed.read(tx, after=_END, take=1)).newest
                    self._running = Background(self._run(), name="weft live feed")
            yield
        finally:
            self._held -= 1
            if not self._held:
                await self.close()

    async def close(self) -> None:
        """Follows no more, whoever holds it."""
        if self._running is not None:
            await self._running.end()

    async def _run(self) -> None:
        remove = self._hub.add("weft_changes", lambda _: self._news.set()) if self._hub is not None else None
        try:
            while True:
                try:
                    await self._once()
                    pause = EVERY
                except errors.WeftError as error:
                    log.warning("the change feed cannot be read: %s", error)
                    pause = _AGAIN
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._news.wait()
                self._news.clear()
        finally:
            if remove is not None:
                remove()

    async def _sequence(self) -> None:
        async with self._database.once() as tx:
            waiting = await sequence.waiting(tx)
        if waiting:
            async with self._database.tx() as tx:
                await sequence.once(tx)

    async def _once(self) -> None:
        # not for every notification: our own comes back to us, and under load we would never rest
        if time.monotonic() - self._looked >= EVERY:
            self._looked = time.monotonic()
            await self._sequence()
        while True:
            async with self._database.once() as tx:
                page = await feed.read(tx, after=self.position, take=_PAGE)
            if page.gap and page.newest != self.position:
                # trimmed before we came to it, or the database was restored
                self.position = page.newest
                self._tell(None)
                return
            if page.changes:
                self.position = page.next
                self._tell(page.changes)
            if len(page.changes) < _PAGE:
                return
