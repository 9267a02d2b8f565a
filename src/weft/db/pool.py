"""The pool of a process's connections, and how one is borrowed: in the way of every statement, so with little Python."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from types import TracebackType

import psycopg
import psycopg_pool
from psycopg import pq
from psycopg.rows import TupleRow

from weft.base import errors
from weft.db import lean, wire
from weft.db.lean import Lean
from weft.db.tx import Tx


def _news(record: logging.LogRecord) -> bool:
    """Not that a connection was found closed when it came back: whoever used it says so, and what to do."""
    return not str(record.msg).startswith("discarding closed connection")


logging.getLogger("psycopg.pool").addFilter(_news)


class Recent(psycopg_pool.AsyncConnectionPool[wire.Watched]):
    """A pool that hands out the connection which came back last. The pool's own way is the one that rested longest: all of
    them then take turns, each with plans of its own to make and the server's memory to map.

    Most of the time one is free when it is asked for, and nobody waits when it comes back: `take` and `give` do that alone,
    and leave everything else to the pool."""

    async def begin(self, first: wire.Watched) -> None:
        """Opens, with a connection that was made before."""
        await self.open()
        self._set_connection_expiry_date(first)
        self._nconns += 1
        self._pool.append(first)

    async def _get_ready_connection(self, timeout: float | None) -> wire.Watched | None:
        self._pool.rotate(1)
        return await super()._get_ready_connection(timeout)

    def take(self, *, knowing: Lean | None = None) -> wire.Watched | None:
        """As `getconn`, if one is free; of these rather one that has a statement prepared which takes long to plan."""
        if not self._pool or self._closed or self._check is not None or self._lock.locked():
            return None
        connection = self._pool[-1]
        if knowing is not None and not lean.knows(connection, knowing):
            connection = next((one for one in reversed(self._pool) if lean.knows(one, knowing)), connection)
            self._pool.remove(connection)
        else:
            self._pool.pop()
        self._nconns_min = min(self._nconns_min, len(self._pool))
        connection._pool = self
        return connection

    def give(self, connection: wire.Watched) -> bool:
        """As `putconn`, if there is nothing to see to; answers whether that was so."""
        if (
            self._waiting
            or self._closed
            or self._lock.locked()
            or connection.pgconn.transaction_status != pq.TransactionStatus.IDLE
            or connection._expire_at <= time.monotonic()
        ):
            return False
        connection._pool = None
        self._pool.append(connection)
        return True


class _Borrowed:
    """A connection that goes back at the end of the block."""

    __slots__ = ("_asked_before", "_connection", "_knowing", "_opened", "_pool", "_task")

    def __init__(self, opened: Callable[[], Awaitable[Recent]], *, knowing: Lean | None = None) -> None:
        self._opened = opened
        self._knowing = knowing

    async def _taken(self) -> wire.Watched:
        self._pool = pool = await self._opened()
        self._task = task = asyncio.current_task()
        self._asked_before = task.cancelling() if task is not None else 0
        connection = pool.take(knowing=self._knowing)
        if connection is None:
            try:
                connection = await pool.getconn()
            except psycopg_pool.PoolTimeout as error:
                raise errors.Unavailable("no database connection became free within 30 s") from error
            # the pool waits with wait_for, which on Python 3.11 loses a cancellation that comes with the connection
            if self._told_to_end:
                await pool.putconn(connection)
                raise asyncio.CancelledError
        self._connection = connection
        return connection

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._pool.give(self._connection):
            await self._pool.putconn(self._connection)
        # the driver cancels the query first; if the connection breaks in that, it raises this instead, and loops that
        # try again after an error would never learn that they were told to end
        if isinstance(error, errors.WeftError | psycopg.Error) and self._told_to_end:
            raise asyncio.CancelledError from error

    @property
    def _told_to_end(self) -> bool:
        return self._task is not None and self._task.cancelling() > self._asked_before


class Checkout(_Borrowed):
    """A connection, for a block."""

    __slots__ = ()

    async def __aenter__(self) -> "psycopg.AsyncConnection[TupleRow]":
        return await self._taken()


class Once(_Borrowed):
    """A connection, for a statement that is its own transaction."""

    __slots__ = ()

    async def __aenter__(self) -> Tx:
        return Tx(await self._taken())
