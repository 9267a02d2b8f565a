"""`weft migrate`: the schema forth and back, what state it is in, and its SQL for those who apply it by hand."""

import contextlib
import dataclasses
from collections.abc import AsyncIterator
from typing import Any

import click

from weft.base import config, errors
from weft.cli import loop, output
from weft.db import migrate as migrations
from weft.db.database import Database
from weft.db.migrate import Migration, Status


@click.group()
def migrate() -> None:
    """Bring the database's schema up to date, or back.

    The database is DATABASE_URL, or else the embedded PostgreSQL in WEFT_FOLDER, which is also brought up to date by
    itself. The user must own the schema `weft` or be allowed to create it.
    """


@migrate.command(epilog="Example: DATABASE_URL=postgresql://owner@db/shop weft migrate up")
@output.as_json
def up(*, as_json: bool) -> None:
    """Apply every migration that is pending."""
    done = loop.run(_up())
    if as_json:
        output.write_json({"applied": done})
    elif done:
        click.echo("\n".join(f"applied {name}" for name in done))
    else:
        click.echo("nothing to do: the database is up to date")


@migrate.command(epilog="Example: weft migrate down --steps 1 --yes")
@click.option("--steps", type=click.IntRange(min=1), default=1, show_default=True, help="How many to take back.")
@click.option("--yes", is_flag=True, help="Do not ask. Taking back a migration deletes what its tables hold.")
@output.as_json
def down(*, steps: int, yes: bool, as_json: bool) -> None:
    """Take the newest migrations back."""
    if not yes:
        click.confirm("This deletes what the tables of those migrations hold. Go on?", abort=True, err=True)
    done = loop.run(_down(steps))
    if as_json:
        output.write_json({"taken_back": done})
    elif done:
        click.echo("\n".join(f"took back {name}" for name in done))
    else:
        click.echo("nothing to do: no migration is applied")


@migrate.command(epilog="Example: weft migrate status --check || weft migrate up")
@click.option("--check", is_flag=True, help="Exit with 1 unless everything is applied.")
@output.as_json
@click.pass_context
def status(ctx: click.Context, *, check: bool, as_json: bool) -> None:
    """Show which migrations the database has."""
    found = loop.run(_status())
    if as_json:
        output.write_json([dataclasses.asdict(one) for one in found])
    else:
        for one in found:
            click.echo(f"{one.state:<8} {one.name}{f'  {one.applied_at}' if one.applied_at else ''}")
    if check and any(one.state != "applied" for one in found):
        ctx.exit(1)


@migrate.command(epilog='Example: weft migrate sql | psql "$DATABASE_URL"')
@click.option("--all", "every", is_flag=True, help="All migrations, without asking a database what it has.")
@output.as_json
def sql(*, every: bool, as_json: bool) -> None:
    """Print the SQL of the pending migrations, ready for psql.

    It records itself, so that `weft migrate status` knows what was applied by hand.
    """
    wanted = migrations.ours() if every else loop.run(_pending())
    if as_json:
        output.write_json([{"name": one.name, "checksum": one.checksum, "sql": script(one)} for one in wanted])
    elif wanted:
        click.echo("\n".join(script(one) for one in wanted))
    else:
        click.echo("-- nothing to do: the database is up to date")


def script(migration: Migration) -> str:
    """A migration as psql takes it: one transaction that also records it, as `migrate up` does."""
    down = "null" if migration.down is None else f"$weft_down$\n{migration.down}\n$weft_down$"
    record = f"values ('{migration.name}', '{migration.checksum}', {down});"
    return (
        f"-- {migration.name}\nbegin;\n\n{migration.up}\n\n"
        f"insert into weft.migrations (name, checksum, down_sql)\n{record}\n\ncommit;\n"
    )


async def _up() -> list[str]:
    """One after the other, so that one sees how far it is; each call refuses what does not fit."""
    ours = migrations.ours()
    async with _owner() as connection:
        found = await migrations.status(connection, ours)
        migrations.refuse(found)
        missing = {one.name for one in found if one.state == "pending"}
        pending = [number for number, one in enumerate(ours) if one.name in missing]
        done: list[str] = []
        with output.steps(len(pending)) as begin:
            for number in pending:
                begin(f"applying {ours[number].name}")
                done += await migrations.up(connection, ours[: number + 1])
        return done


async def _down(steps: int) -> list[str]:
    async with _owner() as connection:
        return await migrations.down(connection, steps=steps)


async def _status() -> list[Status]:
    async with _owner() as connection:
        return await migrations.status(connection, migrations.ours())


async def _pending() -> list[Migration]:
    found = await _status()
    migrations.refuse(found)
    pending = {one.name for one in found if one.state == "pending"}
    return [one for one in migrations.ours() if one.name in pending]


@contextlib.asynccontextmanager
async def _owner() -> AsyncIterator[Any]:
    """The owner's connection, to the database of the settings."""
    database = Database(config.load())
    try:
        async with await database.reserve(purpose="owner") as connection:
            yield connection
    except errors.Unavailable as error:
        raise errors.Unavailable(f"the database cannot be reached: {error}; see DATABASE_URL") from error
    finally:
        await database.close()
