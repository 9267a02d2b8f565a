"""A transactional step whose checkpoint meets the locks of others."""

import asyncio
from typing import Any

import psycopg

from weft import App
from weft.testing.inline import run_pending


async def test_a_checkpoint_that_is_in_a_deadlock_is_no_failure_of_its_step(database_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(database_url) as other, App(database_url=database_url) as app:
        await other.execute("create table things (id integer primary key, taken integer not null)")
        await other.execute("insert into things values (1, 0)")
        await other.execute("grant all on things to weft_engine")
        await other.commit()
        # so that it is the step's side that notices the circle, and has to give way
        await other.execute("set deadlock_timeout = '10min'")
        await other.commit()
        calls: list[asyncio.Task[None]] = []

        async def hold(run: str) -> None:
            await other.execute("update things set taken = taken where id = 1")
            await other.commit()

        @app.transaction
        async def take(conn: Any, run: str) -> int:
            await conn.execute("update things set taken = taken + 1 where id = 1")
            if not calls:
                await other.execute("select from weft.tasks where id = %s for update", (run,))
                calls.append(asyncio.create_task(hold(run)))
                while not await _waits(conn):
                    await asyncio.sleep(0)
            return 1

        @app.workflow
        async def taking() -> int:
            return await take(app.run_id())

        run = await app.start(taking)
        await run_pending(app)
        await calls[0]
        assert await app.runs.result(run.id, timeout=10) == 1
        found = await (await other.execute("select taken from things")).fetchone()
        assert found == (1,)


async def _waits(conn: Any) -> bool:
    """Whether somebody waits for a lock of ours."""
    rows = await conn.execute("select from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))")
    return await rows.fetchone() is not None
