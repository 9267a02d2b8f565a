"""A clock that tests set. Everything in Weft asks `weft.now()` what time it is; this replaces it in one database.

The time is a shift against the server's clock, so it still passes. It belongs to the database: everybody who uses it
sees the same time. Move it between runs, not beside a running worker, which would be taken for dead.
"""

import datetime as dt
from typing import Any, Protocol, Self

from weft.db.database import Database
from weft.db.tx import Tx

_INSTALL = """
create table if not exists weft.test_clock (
    single boolean primary key default true check (single),
    shift interval not null default '0'
);
insert into weft.test_clock default values on conflict do nothing;
grant select on weft.test_clock to weft_engine, weft_tenant;

-- as stable as the one it replaces
create or replace function weft.now() returns timestamptz
language sql stable parallel safe
return statement_timestamp() + (select c.shift from weft.test_clock as c);
"""

_REMOVE = """
create or replace function weft.now() returns timestamptz
language sql stable parallel safe
return statement_timestamp();

drop table if exists weft.test_clock;
"""

_SHIFT = "update weft.test_clock set shift = shift + %(by)s"
_SET = "update weft.test_clock set shift = %(at)s - statement_timestamp()"
_NOW = "select weft.now()"


class Opens(Protocol):
    """An App, or whatever else has a database. Its user must own the schema, as the one who migrates does."""

    async def open(self) -> Database: ...


class Clock:
    """The time of one database, in your hands."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    async def install(cls, app: Opens) -> Self:
        """Puts the settable clock in; it shows the real time until you move it. Doing it twice does nothing."""
        clock = cls(await app.open())
        await clock._say(_INSTALL)
        return clock

    async def advance(self, by: dt.timedelta) -> None:
        """Moves the time on (or back, if negative)."""
        await self._say(_SHIFT, {"by": by})

    async def set(self, at: dt.datetime) -> None:
        """Makes it this time now."""
        await self._say(_SET, {"at": at})

    async def now(self) -> dt.datetime:
        async with self._database.once() as tx:
            found: dt.datetime = await tx.value(_NOW)
            return found

    async def remove(self) -> None:
        """Gives the database its own clock back."""
        await self._say(_REMOVE)

    async def _say(self, statement: str, params: dict[str, Any] | None = None) -> None:
        async with await self._database.reserve(purpose="owner") as connection:
            await Tx(connection).run(statement, params)
