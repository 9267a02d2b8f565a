"""`Database`: the connections of one process, and the two ways to use them.

    async with database.tx() as tx: ...          several statements, one transaction
    async with database.once() as tx: ...        one statement that is its own transaction (one round trip)

Both take `org=`: then the work runs as `weft_tenant`, inside that org, whatever the statements say. With `engine=True` as
well it keeps the engine's rights, to write what tenants may not, and is confined to the org in the tables of `access/`.
"""

import asyncio
import contextlib
import contextvars
import dataclasses
import uuid
from collections.abc import AsyncIterator, Mapping

import psycopg
import psycopg_pool
from psycopg import sql
from psycopg.rows import TupleRow

from weft.base import config, crash, errors
from weft.db import connect, embedded
from weft.db.tx import Tx, translate

request: contextvars.ContextVar[str] = contextvars.ContextVar("weft.db.request", default="")
"""The id of the request that is being served: the journal shows it with what is done in the org's transactions."""


class Recent(psycopg_pool.AsyncConnectionPool[connect.Patient]):
    """A pool that hands out the connection which came back last. The pool's own way is the one that rested longest: all of
    them then take turns, each with plans of its own to make and the server's memory to map."""

    async def _get_ready_connection(self, timeout: float | None) -> connect.Patient | None:
        self._pool.rotate(1)
        return await super()._get_ready_connection(timeout)


class Database:
    """Opens lazily, closes once, hands out transactions."""

    def __init__(self, settings: config.Settings) -> None:
        self.settings = settings
        self._embedded: embedded.EmbeddedServer | None = None
        self._pool: Recent | None = None
        self._opening = asyncio.Lock()

    @property
    def pooled(self) -> bool:
        return self.settings.pooled and self.settings.database_url is not None

    async def url(self, *, direct: bool = False, owner: bool = False) -> str:
        """The connection string; starts the embedded server if there is no other."""
        if self.settings.database_url is not None:
            return (self.settings.direct_url if direct else None) or self.settings.database_url
        if self._embedded is None:
            self._embedded = await asyncio.to_thread(embedded.start, self.settings.folder)
        return self._embedded.url(user="postgres" if owner else "weft_engine")

    async def open(self) -> None:
        """Connects. Says Unavailable, with the reason, if that does not work."""
        async with self._opening:
            if self._pool is not None:
                return
            url = await self.url()
            parameters = connect.parameters(url, purpose="work", pooled=self.pooled)
            # one plain attempt first: the pool would only say that it timed out
            await (await connect.connect(url, purpose="work", pooled=self.pooled)).close()
            pool = Recent(
                connection_class=connect.Patient,
                kwargs={**parameters, "autocommit": True, "prepare_threshold": None if self.pooled else 0},
                min_size=0,
                max_size=self.settings.pool_size,
                configure=connect.prepare,
                # a connection the server has dropped is found before it is used, not by the work
                check=Recent.check_connection if self.pooled else None,
                open=False,
                timeout=30,
                max_idle=60,
                reconnect_timeout=30,
            )
            await pool.open()
            self._pool = pool

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.close()
            self._pool = None
        if self._embedded is not None:
            release, self._embedded = self._embedded.release, None
            try:
                await asyncio.to_thread(release)
            except RuntimeError:
                # the interpreter is ending and takes no new threads
                release()

    async def reserve(self, *, purpose: connect.Purpose = "reserved") -> "psycopg.AsyncConnection[TupleRow]":
        """A connection of its own that the pool never sees; the caller closes it."""
        url = await self.url(direct=True, owner=purpose == "owner")
        return await connect.connect(url, purpose=purpose)

    async def apart(self) -> "Database":
        """The same database by a connection that nobody else uses, around a pooler: for what must go on when all others are
        taken, or held by somebody who has stopped. The caller closes it."""
        url = await self.url(direct=True)
        return Database(dataclasses.replace(self.settings, database_url=url, direct_url=None, pooled=False, pool_size=1))

    @contextlib.asynccontextmanager
    async def tx(self, *, org: uuid.UUID | None = None, engine: bool = False, labelled: bool = False) -> AsyncIterator[Tx]:
        """A transaction: commits at the end of the block, rolls back if it raises.

        `labelled`: what the engine journals in it names the request, as what is done inside an org always does.
        """
        async with self._checkout() as connection:
            reached_end = False
            try:
                async with _transaction(connection, self._local(org=org, engine=engine, labelled=labelled)):
                    crash.point("transaction: begun")
                    yield Tx(connection)
                    reached_end = True
            except psycopg.Error as error:
                if reached_end and connection.broken:
                    raise errors.OutcomeUnknown() from error
                raise translate(error) from error

    @contextlib.asynccontextmanager
    async def once(self, *, org: uuid.UUID | None = None) -> AsyncIterator[Tx]:
        """For exactly one statement. It commits by itself, in one round trip where that is possible."""
        if self.pooled or org is not None:
            async with self.tx(org=org) as tx:
                yield tx
        else:
            async with self._checkout() as connection:
                yield Tx(connection)

    @contextlib.asynccontextmanager
    async def _checkout(self) -> "AsyncIterator[psycopg.AsyncConnection[TupleRow]]":
        if self._pool is None:
            await self.open()
        # kept here: whoever closes the database meanwhile forgets it, and the connection must be given back all the same
        pool = self._pool
        assert pool is not None
        task = asyncio.current_task()
        asked_before = task.cancelling() if task is not None else 0
        try:
            connection = await pool.getconn()
        except psycopg_pool.PoolTimeout as error:
            raise errors.Unavailable("no database connection became free within 30 s") from error
        try:
            # the pool waits with wait_for, which on Python 3.11 loses a cancellation that comes with the connection
            if task is not None and task.cancelling() > asked_before:
                raise asyncio.CancelledError
            yield connection
        except (errors.WeftError, psycopg.Error) as error:
            # the driver cancels the query first; if the connection breaks in that, it raises this instead, and loops that
            # try again after an error would never learn that they were told to end
            if task is not None and task.cancelling() > asked_before:
                raise asyncio.CancelledError from error
            raise
        finally:
            await pool.putconn(connection)

    def _local(self, *, org: uuid.UUID | None, engine: bool, labelled: bool) -> dict[str, str]:
        """The settings of one transaction."""
        settings = connect.pooled_settings() if self.pooled else {}
        if org is not None:
            settings |= {"weft.org": str(org)} if engine else {"role": "weft_tenant", "weft.org": str(org)}
        if (org is not None or labelled) and (id := request.get()):
            settings["weft.request_id"] = id
        return settings


@contextlib.asynccontextmanager
async def _transaction(
    connection: "psycopg.AsyncConnection[TupleRow]", settings: Mapping[str, str]
) -> AsyncIterator[None]:  # fmt: skip
    """A transaction that begins with its settings, in one message. Behind a pooler a bare `begin` has no time limit: a
    process that stopped after it, or while it was in line for it, kept one of the pooler's connections for good."""
    if not settings:
        async with connection.transaction():
            yield
        return
    try:
        await connection.execute(_beginning(settings), prepare=False)
        yield
    except BaseException:
        # one that is broken is found out by the pool
        with contextlib.suppress(psycopg.Error):
            await connection.rollback()
        raise
    await connection.commit()


def _beginning(settings: Mapping[str, str]) -> sql.Composed:
    each = sql.SQL("set_config({}, {}, true)")
    local = [each.format(sql.Literal(name), sql.Literal(value)) for name, value in settings.items()]
    return sql.SQL("begin; select {}").format(sql.SQL(", ").join(local))
