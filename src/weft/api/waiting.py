"""Requests that wait for a task to end: any number of them, one statement for all, no connection while they wait.

    wait(org, id) ──▶ waited ◀── look, when something changed or a moment has passed: which of them have ended?

The look runs only while somebody waits. It is prompted by the change feed's notifications, which are hints, and polls
beneath them.
"""

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Iterator

from weft.base import errors
from weft.db.database import Database
from weft.db.notify import Hub
from weft.queue import endings

log = logging.getLogger("weft.api")

_SHORTEST = 0.02
_LONGEST = 0.5


class Waiting:
    """Who waits in this server."""

    def __init__(self, database: Database, *, hub: Hub | None) -> None:
        self._database = database
        self._hub = hub
        self._waited: dict[tuple[uuid.UUID, uuid.UUID], list[asyncio.Event]] = {}
        self._changed = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self._pause = _SHORTEST
        self.closed = asyncio.Event()
        """The server is stopping: whoever waits is answered as if the time were up."""

    async def ended(self, org: uuid.UUID, id: uuid.UUID, *, seconds: float) -> None:
        """Returns when the task has ended, or after so long, or when the server stops."""
        happened = asyncio.Event()
        self._waited.setdefault((org, id), []).append(happened)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look(), name="weft waiting")
        self._pause = _SHORTEST
        self._changed.set()
        try:
            await first(happened, self.closed, seconds=seconds)
        finally:
            waiters = self._waited[org, id]
            waiters.remove(happened)
            if not waiters:
                del self._waited[org, id]

    async def _look(self) -> None:
        remove = self._hub.add("weft_changes", lambda _: self._changed.set()) if self._hub is not None else None
        try:
            while self._waited:
                self._changed.clear()
                found = await self._ended()
                for (_, id), waiters in self._waited.items():
                    if id in found:
                        for one in waiters:
                            one.set()
                # not faster than this, however much changes
                await asyncio.sleep(_SHORTEST)
                if not await first(self._changed, seconds=self._pause):
                    self._pause = min(self._pause * 1.5, _LONGEST)
        finally:
            if remove is not None:
                remove()

    async def _ended(self) -> set[uuid.UUID]:
        try:
            # the engine, because those who wait are of many orgs; each pair names its own
            async with self._database.once() as tx:
                return set(await endings.ended(tx, list(self._waited)))
        except errors.DatabaseError as error:
            log.warning("cannot look who has ended: %s", error)
            return set()


class Streams:
    """How many answers this server is still sending piece by piece."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.open = 0

    def must_have_room(self) -> None:
        """RateLimited if there are as many as this server can feed."""
        if self.open >= self.most:
            raise errors.RateLimited(
                f"this server sends {self.most} streams already; try again later", retry_after=5
            )  # fmt: skip

    @contextlib.contextmanager
    def one(self) -> Iterator[None]:
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1


async def first(*events: asyncio.Event, seconds: float) -> bool:
    """Waits for any of the events, for so long at most; answers whether one came."""
    waiting = [asyncio.create_task(event.wait()) for event in events]
    try:
        done, _ = await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)
    finally:
        for one in waiting:
            one.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*waiting, return_exceptions=True)
