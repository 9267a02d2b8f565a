"""A database that fits this code: our own is brought up to date, another one must already be."""

from weft.base import errors
from weft.db import migrate
from weft.db.database import Database

_LOGIN = """
do $$
begin
    if exists (select from pg_roles where rolname = 'weft_engine' and not rolcanlogin) then
        perform pg_advisory_xact_lock(hashtext('weft_engine login'));
        if exists (select from pg_roles where rolname = 'weft_engine' and not rolcanlogin) then
            alter role weft_engine login;
        end if;
    end if;
end;
$$
"""
"""Once, and by one of those who start at the same time: PostgreSQL lets only one change a role, and refuses the others."""


async def fit(database: Database) -> None:
    """MigrationError says what to do if it does not fit."""
    if database.settings.database_url is None:
        async with await database.reserve(purpose="owner") as connection:
            await migrate.up(connection, migrate.ours())
            await connection.execute(_LOGIN)
        return
    async with await database.reserve(purpose="owner") as connection:
        found = await migrate.status(connection, migrate.ours())
    migrate.refuse(found)
    if pending := [one.name for one in found if one.state == "pending"]:
        raise errors.MigrationError(f"the database lacks {', '.join(pending)}; run `weft migrate up`")
