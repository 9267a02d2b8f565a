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
from psycopg import sql
from psycopg.rows import TupleRow

from weft.base import config, crash, errors
from weft.db import connect, embedded, wire
from weft.db.lean import Lean
from weft.db.pool import Checkout, Once, Recent
from weft.db.tx import Tx, translate

request: contextvars.ContextVar[str] = contextvars.ContextVar("weft.db.request", default="")
"""The id of the request that is being served: the journal shows it with what is done in the org's transactions."""


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
            # one plain attempt: the pool would only say that it timed out
            first = await connect.connect(url, purpose="work", pooled=self.pooled)
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
            await pool.begin(first)
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
    async def tx(
        self, *, org: uuid.UUID | None = None, engine: bool = False, labelled: bool = False, waits: bool = True,
        knowing: Lean | None = None,
    ) -> AsyncIterator[Tx]:  # fmt: skip
        """A transaction: commits at the end of the block, rolls back if it raises.

        `labelled`: what the engine journals in it names the request, as what is done inside an org always does. Not `waits`:
        that it has begun is not waited for, but sent with the first statement. `knowing`: rather on a connection that has
        this prepared.
        """
        async with Checkout(self._opened, knowing=knowing) as connection:
            reached_end = False
            try:
                settings = self._local(org=org, engine=engine, labelled=labelled)
                async with _transaction(connection, settings, waits=waits or self.pooled) as tx:
                    crash.point("transaction: begun")
                    yield tx
                    reached_end = True
            except psycopg.Error as error:
                if reached_end and connection.broken:
                    raise errors.OutcomeUnknown() from error
                raise translate(error) from error

    def once(
        self, *, org: uuid.UUID | None = None, knowing: Lean | None = None
    ) -> contextlib.AbstractAsyncContextManager[Tx]:
        """For exactly one statement. It commits by itself, in one round trip where that is possible."""
        return self.tx(org=org) if self.pooled or org is not None else Once(self._opened, knowing=knowing)

    async def _opened(self) -> Recent:
        if self._pool is None:
            await self.open()
        # kept by who asks: whoever closes the database meanwhile forgets it, and the connection must be given back to it
        assert self._pool is not None
        return self._pool

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
    connection: "psycopg.AsyncConnection[TupleRow]", settings: Mapping[str, str], *, waits: bool
) -> AsyncIterator[Tx]:  # fmt: skip
    """A transaction that begins with its settings, in one message. Behind a pooler a bare `begin` has no time limit: a
    process that stopped after it, or while it was in line for it, kept one of the pooler's connections for good."""
    if not settings and waits:
        async with connection.transaction():
            yield Tx(connection)
        return
    try:
        if settings:
            await connection.execute(_beginning(settings), prepare=False)
        yield Tx(connection, begins=not settings)
    except BaseException:
        # one that is broken is found out by the pool
        with contextlib.suppress(psycopg.Error):
            await wire.rollback(connection)
        raise
    await connection.commit()


def _beginning(settings: Mapping[str, str]) -> sql.Composed:
    each = sql.SQL("set_config({}, {}, true)")
    local = [each.format(sql.Literal(name), sql.Literal(value)) for name, value in settings.items()]
    return sql.SQL("begin; select {}").format(sql.SQL(", ").join(local))
