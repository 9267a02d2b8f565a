"""Migrations: `db/migrations/NNNN_name.sql`, or a folder of that name with several files, applied in order.

Each is one transaction under an advisory lock, so a migration that is killed half-way leaves nothing and two
processes cannot apply the same one. The text's checksum is kept: a file changed after it was applied is refused.
A database newer than the code is refused. `-- @down` separates the way back; without one there is none.
Users' own migrations live in the same runner: `up(connection, [*ours(), *read(folder, owner="shop")])`.
"""

import dataclasses
import hashlib
import importlib.resources
import re
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

import psycopg
from psycopg.rows import TupleRow

from weft.base import crash, errors
from weft.db.tx import translate

_LOCK_WAIT = "60s"
_LOCK_KEY = 0x77656674  # 'weft'
_FILE = re.compile(r"^\d{4}_[a-z0-9_]+(\.sql)?$")


@dataclasses.dataclass(frozen=True)
class Migration:
    """One step of the schema, forth and (perhaps) back."""

    name: str
    up: str
    down: str | None

    @property
    def checksum(self) -> str:
        return hashlib.sha256(f"{self.up}\0{self.down or ''}".encode()).hexdigest()


@dataclasses.dataclass(frozen=True)
class Status:
    """A migration and whether this database has it."""

    name: str
    state: Literal["applied", "pending", "changed", "unknown"]
    applied_at: str | None = None


def ours() -> list[Migration]:
    """The migrations this version of Weft brings."""
    return read(importlib.resources.files("weft.db") / "migrations")


def read(folder: Traversable | Path, *, owner: str = "") -> list[Migration]:
    """Every migration of a folder, in order. Users say whose they are: `shop` makes them `shop/0001_orders`."""
    prefix = f"{owner}/" if owner else ""
    found = []
    for item in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if _FILE.match(item.name):
            files = sorted(item.iterdir(), key=lambda entry: entry.name) if item.is_dir() else [item]
            text = "\n".join(file.read_text() for file in files if file.name.endswith(".sql"))
            found.append(parse(prefix + item.name.removesuffix(".sql"), text))
    return found


def parse(name: str, text: str) -> Migration:
    """`-- @up` is optional, `-- @down` starts the way back."""
    up, marker, down = text.partition("-- @down")
    return Migration(name=name, up=up.replace("-- @up", "", 1).strip(), down=down.strip() if marker else None)


async def status(connection: "psycopg.AsyncConnection[TupleRow]", migrations: list[Migration]) -> list[Status]:
    """What is applied, what is pending, what does not fit."""
    applied = await _applied(connection)
    known = {migration.name for migration in migrations}
    found = []
    for migration in migrations:
        if migration.name not in applied:
            found.append(Status(migration.name, "pending"))
        else:
            checksum, at = applied[migration.name]
            fits = checksum == migration.checksum
            found.append(Status(migration.name, "applied" if fits else "changed", at))
    # those of other owners are not ours to judge
    owners = {_owner(name) for name in known}
    found += [
        Status(name, "unknown", at) for name, (_, at) in applied.items() if name not in known and _owner(name) in owners
    ]
    return found


async def up(connection: "psycopg.AsyncConnection[TupleRow]", migrations: list[Migration]) -> list[str]:
    """Applies what is pending; answers the names."""
    done: list[str] = []
    await _lock(connection)
    try:
        found = await status(connection, migrations)
        refuse(found)
        pending = {one.name for one in found if one.state == "pending"}
        for migration in migrations:
            if migration.name in pending:
                async with connection.transaction():
                    await connection.execute(migration.up.encode())
                    crash.point("migrate: before commit")
                    await connection.execute(
                        "insert into weft.migrations (name, checksum, down_sql) values (%s, %s, %s)",
                        (migration.name, migration.checksum, migration.down),
                    )
                crash.point("migrate: committed")
                done.append(migration.name)
    except psycopg.Error as error:
        raise errors.MigrationError(f"a migration failed and was rolled back: {translate(error)}") from error
    finally:
        await _unlock(connection)
    return done


async def down(connection: "psycopg.AsyncConnection[TupleRow]", *, steps: int = 1) -> list[str]:
    """Takes back the newest migrations with the down SQL kept in the database; answers the names."""
    done: list[str] = []
    await _lock(connection)
    try:
        for _ in range(steps):
            if not await _installed(connection):
                break
            cursor = await connection.execute("select name, down_sql from weft.migrations order by id desc limit 1")
            newest = await cursor.fetchone()
            if newest is None:
                break
            name, text = newest
            if text is None:
                raise errors.MigrationError(f"{name} has no way back (no -- @down section)")
            async with connection.transaction():
                await connection.execute(text.encode())
                if await _installed(connection):
                    await connection.execute("delete from weft.migrations where name = %s", (name,))
            done.append(name)
    except psycopg.Error as error:
        raise errors.MigrationError(f"taking back a migration failed: {translate(error)}") from error
    finally:
        await _unlock(connection)
    return done


def refuse(found: list[Status]) -> None:
    """Raises if the database must not be written by this code."""
    for one in found:
        if one.state == "changed":
            raise errors.MigrationError(
                f"{one.name} was changed after it was applied (checksum differs): restore the file and "
                f"write a new migration instead"
            )
        if one.state == "unknown":
            raise errors.MigrationError(
                f"the database has {one.name}, which this version of Weft does not know: upgrade Weft"
            )


def _owner(name: str) -> str:
    return name.rpartition("/")[0]


async def _applied(connection: "psycopg.AsyncConnection[TupleRow]") -> dict[str, tuple[str, str]]:
    if not await _installed(connection):
        return {}
    cursor = await connection.execute("select name, checksum, applied_at::text from weft.migrations order by id")
    return {name: (checksum, at) for name, checksum, at in await cursor.fetchall()}


async def _installed(connection: "psycopg.AsyncConnection[TupleRow]") -> bool:
    cursor = await connection.execute("select to_regclass('weft.migrations') is not null")
    found = await cursor.fetchone()
    return bool(found and found[0])


async def _lock(connection: "psycopg.AsyncConnection[TupleRow]") -> None:
    await connection.execute("select set_config('lock_timeout', %s, false)", (_LOCK_WAIT,))
    try:
        await connection.execute("select pg_advisory_lock(%s)", (_LOCK_KEY,))
    except psycopg.errors.LockNotAvailable:
        raise errors.MigrationError(f"another migration has been running for {_LOCK_WAIT}; try again later") from None


async def _unlock(connection: "psycopg.AsyncConnection[TupleRow]") -> None:
    if not connection.broken:
        await connection.execute("select pg_advisory_unlock(%s)", (_LOCK_KEY,))
