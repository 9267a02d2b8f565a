"""A migration is cut off at each of its statements in turn. What is there afterwards is nothing or all of it, and the
next one completes it."""

import asyncio
from pathlib import Path

import psycopg
from crowd import value
from cutter import Cut, Cutter

import fresh_database
from weft.base import errors
from weft.db import migrate

BODY = r"create schema|create table"
ENDLESS = 10_000


async def cut_everywhere(url: str, folder: Path, *, at_most: int = ENDLESS) -> tuple[int, int]:
    """Cuts until it comes through; answers how many cuts that were, and how many statements the migration has."""
    cuts = 0
    with fresh_database.made(url) as fresh:
        # the statements around it: lock, look, begin
        async with Cutter(fresh, folder=folder) as cutter:
            statements = await _statements(fresh, cutter)
            step = max(1, -(-statements // at_most))
            for skip in range(0, statements, step):
                assert await _cut(cutter, Cut(statement=BODY, side="answer", skip=skip)), f"not cut at statement {skip}"
                assert value(fresh, "select to_regclass('weft.tasks') is null"), f"half of it is there after {skip}"
                cuts += 1
            # what stands around it, up to the commit whose answer is lost
            for nth in range(1, 100):
                if not await _cut(cutter, Cut(statement="", side="answer", nth=nth)):
                    break
                cuts += 1
        async with await psycopg.AsyncConnection.connect(fresh, autocommit=True, connect_timeout=10) as connection:
            assert {one.state for one in await migrate.status(connection, migrate.ours())} == {"applied"}
    return cuts, statements


async def _statements(fresh: str, cutter: Cutter) -> int:
    """How many the migration has: it is let through, and taken back."""
    counting = cutter.arm(Cut(statement=BODY, side="answer", skip=ENDLESS))
    async with await psycopg.AsyncConnection.connect(cutter.url, autocommit=True, connect_timeout=10) as connection:
        await migrate.up(connection, migrate.ours())
        await migrate.down(connection, steps=len(migrate.ours()))
    cutter.cuts.remove(counting)
    assert value(fresh, "select to_regclass('weft.tasks') is null")
    return ENDLESS - counting.skip


async def _cut(cutter: Cutter, cut: Cut) -> bool:
    """One try to migrate, cut off; whether it was."""
    cutter.arm(cut)
    try:
        async with (
            asyncio.timeout(60),
            await psycopg.AsyncConnection.connect(cutter.url, autocommit=True, connect_timeout=10) as connection,
        ):
            await migrate.up(connection, migrate.ours())
    except (errors.WeftError, psycopg.OperationalError):
        assert cut.fired.is_set()
    finally:
        cutter.cuts.remove(cut)
    return cut.fired.is_set()
