"""Nothing breaks, everything is scarce: connections, bandwidth, room for dead rows. Who is well keeps its tasks."""

import datetime as dt
import os
import tempfile
from pathlib import Path

import psycopg
import pytest
from crowd import Crowd, say, until, value
from cutter import Cutter
from witness import Witness

from weft import App, Context
from weft.base import config

MINE = 1
"""A process that was harmed, so that losing a task of any other is a finding."""


async def test_handlers_that_use_up_the_pool_lose_no_lease_and_delay_only_themselves(
    witness: Witness, capsys: pytest.CaptureFixture[str]
) -> None:
    """The pulse and the listener have connections of their own."""
    witness.harmed.add(MINE)
    app = App(settings=config.Settings(database_url=witness.url, pool_size=2))
    inside = 0
    waiting = 0

    @app.task
    async def checked(ctx: Context, k: str) -> dict[str, int]:
        nonlocal inside, waiting
        witness.note("start", ctx)
        waiting += 1
        async with app.tx() as tx:
            inside += 1
            await tx.value("select pg_sleep(1)")
            inside -= 1
        waiting -= 1
        witness.note("end", ctx)
        return {"attempt": ctx.attempt, "pid": os.getpid()}

    lease = dt.timedelta(seconds=2)
    async with app:
        await witness.enqueue(app, 6)
        async with app.worker(concurrency=8, lease=lease):
            await until(lambda: inside == 2 and waiting > 2)
            await witness.all_ended()
    assert value(witness.url, "select count(*) from weft.task_history where losses > 0") == 0
    assert await witness.findings() == []
    say(capsys, "handlers that hold every connection of the pool for longer than a lease: 6 tasks, none lost")


async def test_a_client_that_gets_no_connection_is_told_and_nothing_happened(
    witness: Witness, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = App(settings=config.Settings(database_url=witness.url, pool_size=1))
    async with app, app.tx() as tx:
        await tx.value("select 1")
        database = await app.open()
        assert database._pool is not None
        monkeypatch.setattr(database._pool, "timeout", 0.2)
        assert await witness.enqueue(app, 3) == []
    assert {one.verdict for one in witness.asked} <= {"unknown", "failed"}
    assert value(witness.url, "select count(*) from weft.tasks") == 0
    assert await witness.findings() == []


async def test_a_worker_behind_a_slow_line_keeps_its_tasks(witness: Witness, capsys: pytest.CaptureFixture[str]) -> None:
    witness.harmed.add(MINE)
    with tempfile.TemporaryDirectory(prefix="weft-slow-") as folder:
        async with Cutter(witness.url, folder=Path(folder)) as cutter:
            crowd = Crowd(cutter.url, witness.folder)
            try:
                await crowd.start("--concurrency", "4", "--lease", "5")
                cutter.bytes_per_second = 30_000
                async with App(database_url=witness.url) as app:
                    await witness.enqueue(app, 20)
                    await witness.enqueue(app, 2, seconds=0.5)
                    await witness.enqueue(app, 3, fail=1)
                await witness.all_ended()
                assert cutter.slept > 0 and crowd.alive() == 1
            finally:
                cutter.bytes_per_second = None
                await crowd.close()
            say(capsys, f"behind a line of 30 kB/s, held up for {cutter.slept:.1f} s: {len(witness.asked)} tasks, none lost")
    assert await witness.findings() == []


async def test_a_transaction_held_open_for_long_keeps_nothing_from_running(
    witness: Witness, watched_crowd: Crowd, capsys: pytest.CaptureFixture[str]
) -> None:
    """Dead rows cannot be taken away meanwhile. How much that costs is told by `make bench ARGS="--scenario xmin"`."""
    witness.harmed.add(MINE)
    await watched_crowd.start("--concurrency", "20")
    with psycopg.connect(witness.url, connect_timeout=10) as holder:
        holder.execute("set transaction isolation level repeatable read")
        holder.execute("select count(*) from weft.tasks")
        async with App(database_url=witness.url) as app:
            for _ in range(4):
                await witness.enqueue(app, 50)
                await witness.enqueue(app, 5, fail=1)
                await witness.all_ended()
        dead = value(witness.url, "select age(backend_xmin) from pg_stat_activity where pid = %s", holder.info.backend_pid)
        assert dead > 20, "nothing was held"
    assert await witness.findings() == []
    say(capsys, f"beside a transaction {dead} transactions old: {len(witness.asked)} tasks, none lost")


