"""A clock that stands still: what is due does not depend on when a test happens to run."""

import datetime as dt

from weft.db.database import Database


class Frozen:
    """The database's time. It passes only when it is told to."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.now = dt.datetime.now(dt.UTC).replace(second=30, microsecond=0)

    @property
    def minute(self) -> dt.datetime:
        """The whole minute that is not over."""
        return self.now.replace(second=0)

    async def set(self, at: dt.datetime) -> None:
        self.now = at
        async with await self._database.reserve(purpose="owner") as owner:
            await owner.execute("update weft.frozen set at = %s", (at,))

    async def advance(self, by: dt.timedelta) -> None:
        await self.set(self.now + by)

    async def install(self) -> None:
        async with await self._database.reserve(purpose="owner") as owner:
            await owner.execute("create table weft.frozen (at timestamptz not null)")
            await owner.execute("grant select on weft.frozen to weft_engine, weft_tenant")
            await owner.execute("insert into weft.frozen values (%s)", (self.now,))
            await owner.execute(
                "create or replace function weft.now() returns timestamptz language sql stable parallel safe "
                "return (select f.at from weft.frozen as f)"
            )
