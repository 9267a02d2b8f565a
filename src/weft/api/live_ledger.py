"""Writes down which sockets this server has and what they watch: all of them together, twice a second at most.

What is pushed does not depend on these rows, so nobody waits for them. A server that dies leaves orphans; a chore sweeps.
"""

import asyncio
import datetime as dt
import logging
import time
import uuid
from collections import Counter

from weft.base import errors
from weft.db.database import Database
from weft.live import sessions
from weft.live.sessions import New, Status, Subscribed

log = logging.getLogger("weft.live")

EVERY = 0.5
_MOST = 50_000
"""Lines that are kept while the database is away; beyond that they are lost, and swept later."""


class Ledger:
    """One per server."""

    def __init__(self, database: Database, *, node: uuid.UUID) -> None:
        self._database = database
        self._node = node
        self._spoke: dict[uuid.UUID, float] = {}
        self._sockets: Counter[uuid.UUID] = Counter()
        """Whoever comes back may do so before the connection that broke is noticed."""
        self._opened: dict[uuid.UUID, New] = {}
        self._ended: dict[uuid.UUID, Status] = {}
        self._subscribed: dict[uuid.UUID, Subscribed] = {}
        self._unsubscribed: set[uuid.UUID] = set()
        self._seen = time.monotonic()
        self._flushing = asyncio.Lock()
        self._writing: asyncio.Task[None] | None = None

    @property
    def open_now(self) -> int:
        """Sockets that are open."""
        return len(self._spoke)

    def open(self, session: New) -> None:
        self._sockets[session.id] += 1
        self._spoke[session.id] = time.monotonic()
        self._opened[session.id] = session
        self._ended.pop(session.id, None)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._run(), name="weft live ledger")

    def spoke(self, session: uuid.UUID) -> None:
        self._spoke[session] = time.monotonic()

    def subscribe(self, subscribed: Subscribed) -> None:
        self._subscribed[subscribed.id] = subscribed

    def unsubscribe(self, id: uuid.UUID) -> None:
        if self._subscribed.pop(id, None) is None:
            self._unsubscribed.add(id)

    def end(self, session: uuid.UUID, status: Status) -> None:
        self._sockets[session] -= 1
        if self._sockets[session] > 0:
            return
        del self._sockets[session]
        self._spoke.pop(session, None)
        self._ended[session] = status

    async def close(self) -> None:
        """Writes what is left; whoever is still here must look for another server."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)
            self._writing = None
        for session in list(self._spoke):
            self._sockets[session] = 1
            self.end(session, "reconnecting")
        try:
            await self.flush()
        except errors.WeftError as error:
            log.warning("sessions could not be written down: %s", error)

    async def flush(self) -> None:
        """Writes what is new, in one transaction; keeps it if that does not work."""
        async with self._flushing:
            await self._flush()

    async def _flush(self) -> None:
        opened, ended, subscribed, unsubscribed = self._opened, self._ended, self._subscribed, self._unsubscribed
        now = time.monotonic()
        due = bool(self._spoke) and now - self._seen >= sessions.SEEN.total_seconds()
        if not (opened or ended or subscribed or unsubscribed or due):
            return
        self._opened, self._ended, self._subscribed, self._unsubscribed = {}, {}, {}, set()
        try:
            async with self._database.tx() as tx:
                if opened:
                    await sessions.open(tx, list(opened.values()), node=self._node)
                if subscribed:
                    await sessions.subscribe(tx, list(subscribed.values()))
                if unsubscribed:
                    await sessions.unsubscribe(tx, list(unsubscribed))
                if ended:
                    await sessions.end(tx, ended, node=self._node)
                if due:
                    silent = {id: dt.timedelta(seconds=now - spoke) for id, spoke in self._spoke.items()}
                    await sessions.seen(tx, silent, node=self._node)
                    self._seen = now
        except errors.WeftError:
            if len(opened) + len(subscribed) + len(unsubscribed) + len(ended) < _MOST:
                self._opened = {**opened, **self._opened}
                self._ended = {**ended, **self._ended}
                self._subscribed = {**subscribed, **self._subscribed}
                self._unsubscribed |= unsubscribed
            raise

    async def _run(self) -> None:
        while self._spoke or self._opened or self._ended or self._subscribed or self._unsubscribed:
            await asyncio.sleep(EVERY)
            try:
                await self.flush()
            except errors.WeftError as error:
                log.warning("sessions could not be written down: %s", error)
