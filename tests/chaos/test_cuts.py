"""The connection is cut at every statement that matters: before, in the middle of and after question and answer."""

import asyncio
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import cutting
import psycopg
import pytest
from crowd import say, value
from cutter import Cut, Cutter
from witness import Witness

from weft.base import errors
from weft.db import migrate

SHORT = cutting.POINTS[::2]
"""Of the six places those that differ for the server: it got nothing, all but the sync, or has answered. `make chaos`
cuts at all six."""


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="weft-cuts-") as made:
        yield Path(made)


async def test_a_connection_cut_anywhere_loses_nothing_and_ends_nobody(
    witness: Witness, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    began = time.monotonic()
    slowest = (0.0, "")
    async with cutting.scene(witness, folder) as scene:
        for point in SHORT:
            started = time.monotonic()
            await scene.suffer(point)
            slowest = max(slowest, (time.monotonic() - started, str(point)))
        await witness.all_ended()
    assert await witness.findings() == []
    say(capsys, f"{len(SHORT)} cuts in {time.monotonic() - began:.0f} s ({slowest[1]}: {slowest[0]:.1f} s), "
                f"{len(witness.asked)} enqueues, {sum(one.verdict == 'unknown' for one in witness.asked)} unknown, "
                f"0 lost, 0 double, 0 stale")  # fmt: skip


async def test_a_migration_cut_at_any_statement_converges(
    witness: Witness, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Everything of one migration is one transaction: what is cut is not there, and the next one is whole."""
    name = f"migrated_{uuid.uuid4().hex[:8]}"
    fresh = psycopg.conninfo.make_conninfo(witness.url, dbname=name)
    statements, cuts = 0, 0
    with psycopg.connect(witness.url, autocommit=True, connect_timeout=10) as owner:
        owner.execute(f"create database {name}".encode())
        try:
            async with Cutter(fresh, folder=folder) as cutter:
                for skip in range(0, 500, 12):
                    cut = cutter.arm(Cut(statement=r"create schema|create table", side="answer", skip=skip))
                    try:
                        async with (
                            asyncio.timeout(60),
                            await psycopg.AsyncConnection.connect(cutter.url, autocommit=True) as connection,
                        ):
                            await migrate.up(connection, migrate.ours())
                    except errors.WeftError:
                        assert cut.fired.is_set()
                        assert value(fresh, "select to_regclass('weft.tasks') is null")
                        cuts += 1
                        continue
                    statements = skip - cut.skip
                    break
            async with await psycopg.AsyncConnection.connect(fresh, autocommit=True, connect_timeout=10) as connection:
                assert {one.state for one in await migrate.status(connection, migrate.ours())} == {"applied"}
        finally:
            owner.execute(f"drop database if exists {name} with (force)".encode())
    assert cuts >= 5, "the migration was never cut"
    say(capsys, f"a migration was cut at {cuts} of its {statements} statements; then it went through")
