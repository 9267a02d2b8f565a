"""kill -9 of workers in the middle of workflows: all complete, and no transactional step has its effect twice.

`WEFT_WORKFLOW_KILLS=100 WEFT_WORKFLOW_RUNS=1000 make chaos` is the full tier. How long it took until the runs of a killed
worker went on elsewhere is printed: from just before the kill to the run's next effect.
"""

import asyncio
import os
import random
import signal
import statistics
import sys
import time
from pathlib import Path

import psycopg
import pytest
import workflow_worker

KILLS = int(os.environ.get("WEFT_WORKFLOW_KILLS", "4"))
RUNS = int(os.environ.get("WEFT_WORKFLOW_RUNS", "100"))
PATIENCE = 120 + 10 * KILLS

HELD = """
insert into lost (kill, run, at)
select %s, t.id::text, clock_timestamp()
from weft.tasks as t
join weft.nodes as n
    on n.id = t.node_id
where n.pid = %s and t.state = 'running'
"""
RECOVERED = """
select extract(epoch from min(e.at) - l.at)::double precision
from lost as l
join effects as e
    on e.run = l.run and e.at > l.at
group by l.kill, l.run, l.at
"""


async def started(url: str) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(Path(__file__).with_name("workflow_worker.py")), url,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdout is not None
    async with asyncio.timeout(60):
        await process.stdout.readline()
    return process


@pytest.mark.chaos
async def test_killed_workers_lose_no_workflow_and_do_nothing_twice(
    database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    dice = random.Random(7)
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
        await connection.execute("create table effects (run text, n integer, at timestamptz)")
        await connection.execute("grant all on effects to weft_engine")
        await connection.execute("create table lost (kill integer, run text, at timestamptz)")

        async def count(statement: bytes) -> int:
            row = await (await connection.execute(statement)).fetchone()
            assert row is not None
            return int(row[0])

        async with workflow_worker.made(database_url) as app:
            workflow = app.declared.latest("ten")
            assert workflow is not None
            waiting, workers, kills = RUNS, [await started(database_url) for _ in range(2)], 0
            began = time.monotonic()
            try:
                while True:
                    # in portions, so that there is something to kill until the last
                    if waiting and await count(b"select count(*) from weft.tasks") < 40:
                        portion = min(waiting, max(RUNS // (KILLS + 1), 1))
                        await app.start_many(workflow, [{}] * portion)
                        waiting -= portion
                    if not waiting and not await count(b"select count(*) from weft.tasks"):
                        break
                    assert time.monotonic() - began < PATIENCE, "not all of them have ended"
                    await asyncio.sleep(dice.random() * 0.2)
                    if kills < KILLS and await count(b"select count(*) from weft.tasks where state = 'running'"):
                        kills += 1
                        victim = workers.pop(0)
                        await connection.execute(HELD, (kills, victim.pid))
                        victim.send_signal(signal.SIGKILL)
                        await victim.wait()
                        workers.append(await started(database_url))
            finally:
                for worker in workers:
                    if worker.returncode is None:
                        worker.send_signal(signal.SIGKILL)
                    await worker.wait()
        took = time.monotonic() - began
        gaps = sorted(row[0] for row in await (await connection.execute(RECOVERED)).fetchall())
        with capsys.disabled():
            print(f"\n{RUNS} workflows of {workflow_worker.STEPS} steps, {kills} kills: {took:.1f} s")
            if gaps:
                print(f"{len(gaps)} runs went on elsewhere: p50 {statistics.median(gaps):.2f} s, max {gaps[-1]:.2f} s")
        assert kills == KILLS
        states = await (await connection.execute("select state, count(*) from weft.runs group by 1")).fetchall()
        assert states == [("completed", RUNS)]
        twice = b"select count(*) from (select 1 from effects group by run, n having count(*) <> 1) as twice"
        assert await count(twice) == 0
        assert await count(b"select count(*) from effects") == RUNS * workflow_worker.STEPS
