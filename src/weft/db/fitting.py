"""A database that fits this code: our own is brought up to date, another one must already be."""

from weft.base import errors
from weft.db import migrate
from weft.db.database import Database


async def fit(database: Database) -> None:
    """MigrationError says what to do if it does not fit."""
    if database.settings.database_url is None:
        async with await database.reserve(purpose="owner") as connection:
            await migrate.up(connection, migrate.ours())
            await connection.execute("alter role weft_engine login")
        return
    async with await database.reserve(purpose="owner") as connection:
        found = await migrate.status(connection, migrate.ours())
    migrate.refuse(found)
    if pending := [one.name for one in found if one.state == "pending"]:
        raise errors.MigrationError(f"the database lacks {', '.join(pending)}; run `weft migrate up`")
