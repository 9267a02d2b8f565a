"""From end to end: `weft worker`, enqueues from other processes and from plain SQL, SIGTERM."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest
from waiting import LONG, ended, until

from weft import App

HERE = Path(__file__).parent
WEFT = Path(sys.executable).with_name("weft")

MODULE = '''
import asyncio, os
from weft import App, Context
app = App()

@app.task
async def shout(text: str, ctx: Context) -> dict:
    return {"text": text.upper(), "pid": os.getpid(), "org": ctx.org}

@app.task
async def hold(ctx: Context) -> None:
    ctx.progress(1, "holding")
    await asyncio.Event().wait()
'''

ENQUEUE = '''
import asyncio, sys, shop
async def main():
    async with shop.app as app:
        print((await app.enqueue(shop.shout, {"text": "from another process"})).id)
asyncio.run(main())
'''


@pytest.fixture
async def worker(database_url: str, tmp_path: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """`weft worker shop:app`, ready."""
    (tmp_path / "shop.py").write_text(MODULE)
    process = await asyncio.create_subprocess_exec(
        str(WEFT), "worker", "shop:app", "--grace", "0.5", "-c", "5", cwd=tmp_path, stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "DATABASE_URL": database_url},
    )  # fmt: skip
    try:
        assert process.stderr is not None
        async with asyncio.timeout(LONG):
            while b"ready" not in (line := await process.stderr.readline()):
                assert line, "it ended before it was ready"
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        async with asyncio.timeout(LONG):
            await process.communicate()


async def test_a_worker_process_runs_what_another_process_enqueued(
    worker: asyncio.subprocess.Process, app: App, database_url: str, tmp_path: Path
) -> None:
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", ENQUEUE, cwd=tmp_path, stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "DATABASE_URL": database_url},
    )  # fmt: skip
    said, _ = await asyncio.wait_for(other.communicate(), LONG)
    result = await app.result(said.decode().strip(), timeout=LONG)
    assert result["text"] == "FROM ANOTHER PROCESS" and result["pid"] == worker.pid


async def test_a_worker_process_runs_what_plain_sql_enqueued_and_a_rollback_enqueues_nothing(
    worker: asyncio.subprocess.Process, app: App, database_url: str
) -> None:
    statement = "select weft.enqueue('shout', jsonb_build_object('text', %s::text))"
    with psycopg.connect(database_url) as connection:
        connection.execute(statement, ["never"])
        connection.rollback()
        kept = connection.execute(statement, ["kept"]).fetchone()
        connection.commit()
    assert kept is not None
    assert (await app.result(kept[0], timeout=LONG))["text"] == "KEPT"
    async with app.tx() as tx:
        assert await tx.value("select count(*) from weft.task_history") == 1
        assert await tx.value("select count(*) from weft.tasks") == 0


@pytest.mark.skipif(shutil.which("psql") is None, reason="there is no psql here")
async def test_a_worker_process_runs_what_psql_enqueued(
    worker: asyncio.subprocess.Process, app: App, database_url: str
) -> None:
    psql = await asyncio.create_subprocess_exec(
        "psql", database_url, "-qAtc", "select weft.enqueue('shout', '{\"text\": \"psql\"}')",
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    said, _ = await asyncio.wait_for(psql.communicate(), LONG)
    assert (await app.result(said.decode().strip(), timeout=LONG))["text"] == "PSQL"


async def test_sigterm_gives_back_what_does_not_finish_and_the_process_ends_well(
    worker: asyncio.subprocess.Process, app: App
) -> None:
    task = await app.enqueue("hold")

    async def holding() -> bool:
        return (await app.get(task.id)).progress == 1

    await until(holding)
    worker.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(worker.wait(), LONG) == 0
    view = await app.get(task.id)
    assert (view.state, view.attempt - view.uncounted, view.losses) == ("ready", 0, 0)


async def test_a_kind_only_a_live_worker_knows_can_be_enqueued_by_name(
    worker: asyncio.subprocess.Process, app: App
) -> None:
    view = await ended(app, await app.enqueue("shout", {"text": "by name"}))
    assert json.dumps(view.result["text"]) == '"BY NAME"'
