"""The notify hub: one LISTEN connection per process, many listeners. Notifications are hints.

The connection is re-made when it drops; every listener is then woken once, because what was said meanwhile is
lost. `healthy` is False while nothing can be heard, so that pollers poll faster.
"""

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import Callable

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from weft.base import errors
from weft.db.database import Database

log = logging.getLogger("weft.db.notify")

Listener = Callable[[str | None], None]
"""Called with the payload, or None when something may have been missed."""

CHANNELS = ("weft_wake", "weft_changes", "weft_jobs", "weft_leader")
"""Ready work in a queue; positions of the change feed; a job that is due soon; a leader that has resigned."""

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0


class Hub:
    """Runs until cancelled; listeners come and go."""

    def __init__(self, database: Database) -> None:
        self.healthy = False
        self._database = database
        self._listeners: dict[str, list[Listener]] = defaultdict(list)

    def add(self, channel: str, listener: Listener) -> Callable[[], None]:
        """Calls `listener` for each notification on a channel; answers how to stop that."""
        if channel not in CHANNELS:
            raise errors.InvalidInput(f"nobody speaks on {channel!r}; channels: {', '.join(CHANNELS)}")
        self._listeners[channel].append(listener)

        def remove() -> None:
            with contextlib.suppress(ValueError):
                self._listeners[channel].remove(listener)

        return remove

    async def run(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            try:
                async with await self._database.reserve() as connection:
                    await self._listen(connection)
            except (psycopg.Error, errors.DatabaseError) as error:
                # see Database._checkout: told to end while the connection broke
                if (task := asyncio.current_task()) is not None and task.cancelling():
                    raise asyncio.CancelledError from error
                log.warning("LISTEN connection lost, polling until it is back: %s", str(error).partition("\n")[0])
                if self.healthy:
                    pause = _FIRST_PAUSE
            finally:
                self.healthy = False
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _listen(self, connection: "psycopg.AsyncConnection[TupleRow]") -> None:
        for channel in CHANNELS:
            await connection.execute(sql.SQL("listen {}").format(sql.Identifier(channel)))
        self.healthy = True
        for channel in CHANNELS:
            self._tell(channel, None)
        loop, socket = asyncio.get_running_loop(), connection.pgconn.socket
        lost: asyncio.Future[None] = loop.create_future()
        # not the driver's own way, which takes its time to hand one over, nor a task that waits: each turn of the loop until
        # somebody is told is one in which work does not begin
        loop.add_reader(socket, self._heard, connection, lost)
        try:
            self._heard(connection, lost)
            await lost
        finally:
            loop.remove_reader(socket)

    def _heard(self, connection: "psycopg.AsyncConnection[TupleRow]", lost: "asyncio.Future[None]") -> None:
        if lost.done():
            return
        pgconn, encoding = connection.pgconn, connection.info.encoding
        try:
            pgconn.consume_input()
            while (note := pgconn.notifies()) is not None:
                self._tell(note.relname.decode(encoding), note.extra.decode(encoding))
        except psycopg.Error as error:
            lost.set_exception(error)

    def _tell(self, channel: str, payload: str | None) -> None:
        for listener in list(self._listeners[channel]):
            listener(payload)
