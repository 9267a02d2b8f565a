"""Waiting for the server: answers to what was sent without the driver, and what comes unasked.

A connection of the pool is watched from one statement to the next: to begin and to end that each time costs a tenth of what
a small statement costs its caller. Whoever else waits on its socket, the driver first of all, says `unwatch` before it does.
"""

import asyncio
from typing import Any

import psycopg
from psycopg import pq
from psycopg.rows import TupleRow

_FINE = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK)
_LOST = "the connection was lost while it was waited for an answer"


class Watch:
    """Hears when a socket can be read from. If it can while nobody waits, the server has ended the connection: it stops,
    and who asks next will be told."""

    __slots__ = ("_loop", "_socket", "_waiter", "stopped")

    def __init__(self, socket: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._socket = socket
        self._waiter: asyncio.Future[None] | None = None
        self.stopped = False
        self._loop.add_reader(socket, self._heard)

    async def heard(self) -> None:
        self._waiter = self._loop.create_future()
        await self._waiter

    def stop(self) -> None:
        if not self.stopped:
            self.stopped = True
            self._loop.remove_reader(self._socket)

    def _heard(self) -> None:
        if self._waiter is None or self._waiter.done():
            self.stop()
        else:
            self._waiter.set_result(None)


class Watched(psycopg.AsyncConnection[TupleRow]):
    """A connection that can be watched all the time, because it says `unwatch` where the driver waits or closes."""

    async def wait(self, *args: Any, **given: Any) -> Any:
        unwatch(self)
        return await super().wait(*args, **given)

    async def close(self) -> None:
        unwatch(self)
        await super().close()


def unwatch(connection: "psycopg.AsyncConnection[TupleRow]") -> None:
    """Before anybody else waits on its socket, or closes it."""
    if (watch := connection.__dict__.get("weft_watch")) is not None:
        del connection.__dict__["weft_watch"]
        watch.stop()


async def readable(connection: "psycopg.AsyncConnection[TupleRow]") -> None:
    """Until something has come."""
    watch: Watch | None = connection.__dict__.get("weft_watch")
    if watch is None or watch.stopped:
        watch = Watch(connection.pgconn.socket)
        if not isinstance(connection, Watched):
            try:
                return await watch.heard()
            finally:
                watch.stop()
        connection.__dict__["weft_watch"] = watch
    await watch.heard()


async def answer(connection: "psycopg.AsyncConnection[TupleRow]") -> pq.abc.PGresult:
    """Waits for the answer to what was sent; raises the server's error. Whoever is cancelled then loses the connection."""
    found = await answers(connection, pipelined=False)
    if not found:
        raise psycopg.OperationalError(_LOST)
    return fine(found[0])


async def answers(
    connection: "psycopg.AsyncConnection[TupleRow]", *, pipelined: bool = True
) -> list[pq.abc.PGresult]:  # fmt: skip
    """The same for statements that were sent together, but for the errors."""
    found: list[pq.abc.PGresult] = []
    pgconn = connection.pgconn
    try:
        if pgconn.flush():
            await _flushed(connection)
        while True:
            # the end is waited for as well: it may arrive later than the result, and libpq would wait for it without the
            # loop, with everybody else
            while pgconn.is_busy():
                await readable(connection)
                pgconn.consume_input()
            result = pgconn.get_result()
            if result is None:
                # the end of one statement's, or of everything
                if not pipelined:
                    return found
                if pgconn.status != pq.ConnStatus.OK:
                    raise psycopg.OperationalError(_LOST)
            elif result.status == pq.ExecStatus.PIPELINE_SYNC:
                return found
            else:
                found.append(result)
    except asyncio.CancelledError:
        unwatch(connection)
        pgconn.finish()
        raise
    finally:
        if pgconn.status != pq.ConnStatus.OK:
            unwatch(connection)


async def rollback(connection: "psycopg.AsyncConnection[TupleRow]") -> None:
    """Without the driver, who then forgets all that is prepared, in case an object that the transaction made was used: every
    statement after a refusal would be planned again. For transactions that make none."""
    if connection.pgconn.transaction_status not in (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR):
        await connection.rollback()
        return
    connection.pgconn.send_query(b"rollback")
    await answer(connection)


def fine(result: pq.abc.PGresult) -> pq.abc.PGresult:
    if result.status not in _FINE:
        raise psycopg.errors.error_from_result(result)
    return result


async def _flushed(connection: "psycopg.AsyncConnection[TupleRow]") -> None:
    """A long statement goes out as fast as it is taken."""
    loop = asyncio.get_running_loop()
    unwatch(connection)
    while connection.pgconn.flush():
        ready: asyncio.Future[None] = loop.create_future()
        loop.add_writer(connection.pgconn.socket, _wake, ready)
        try:
            await ready
        finally:
            loop.remove_writer(connection.pgconn.socket)


def _wake(ready: "asyncio.Future[None]") -> None:
    if not ready.done():
        ready.set_result(None)
