"""kill -9 of workers in the middle of workflows: all complete, and no transactional step has its effect twice.

`WEFT_WORKFLOW_KILLS=100 WEFT_WORKFLOW_RUNS=1000` is the full tier (`make chaos`), in portions of ten kills. Who is
killed is chosen at random: it may lead, too. How long it took until the runs of a killed worker went on elsewhere is
printed at the end, over all portions, from just before the kill to the run's next effect by another process. As in
`recovery.py` the next worker is ready before a kill, and the next kill waits until the runs of the last one have gone
on: else a run would be measured that lost its second worker too.
"""

import asyncio
import os
import random
import signal
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import workflow_worker
from crowd import seasoned

import nursery

PORTIONS = max(int(os.environ.get("WEFT_WORKFLOW_KILLS", "3")) // 10, 1)
KILLS = int(os.environ.get("WEFT_WORKFLOW_KILLS", "3")) // PORTIONS
RUNS = int(os.environ.get("WEFT_WORKFLOW_RUNS", "30")) // PORTIONS
PATIENCE = 200

HOLDERS = "select distinct n.pid from weft.tasks as t join weft.nodes as n on n.id = t.node_id where t.state = 'running'"
HELD = """
insert into lost (kill, run, pid, leads, at)
select %s, t.id::text, n.pid, l.node_id is not null, clock_timestamp()
from weft.tasks as t
join weft.nodes as n
    on n.id = t.node_id
left join weft.leaders as l
    on l.node_id = n.id
where n.pid = %s and t.state = 'running'
"""
GONE_ON = """
select l.leads, extract(epoch from min(e.at) - l.at)::double precision
from lost as l
left join effects as e
    on e.run = l.run and e.at > l.at and e.pid <> l.pid
where not exists (select from effects as d where d.run = l.run and d.pid = l.pid and d.n = %s)
group by l.kill, l.run, l.leads, l.at
"""


class Total:
    """Of all portions: how many runs and kills; for each run that went on, whether its worker led, and how long it took."""

    def __init__(self) -> None:
        self.runs = self.kills = 0
        self.gaps: list[tuple[bool, float]] = []

    def __str__(self) -> str:
        told = [
            f"{who}: {len(times)} went on elsewhere, p50 {statistics.median(times):.2f} s, max {times[-1]:.2f} s"
            for who, times in (
                ("all", sorted([gap for _, gap in self.gaps])),
                ("whose worker led", sorted([gap for led, gap in self.gaps if led])),
            )
            if times
        ]
        return f"{self.runs} workflows of {workflow_worker.STEPS} steps, {self.kills} kills; " + "; ".join(told)


@pytest.fixture(scope="module")
def total(request: pytest.FixtureRequest) -> Iterator[Total]:
    found = Total()
    yield found
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():  # type: ignore[union-attr]
        print(f"\n{found}")


class Crew:
    """Worker processes."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.here: list[nursery.Process] = []

    async def hire(self) -> None:
        program = Path(workflow_worker.__file__)
        process = await nursery.fork([self._url], program=program, env=os.environ, stderr=nursery.NOTHING)
        self.here.append(process)
        assert process.stdout is not None
        async with asyncio.timeout(60):
            await process.stdout.readline()

    async def kill(self, victim: nursery.Process) -> None:
        self.here.remove(victim)
        if victim.returncode is None:
            victim.send_signal(signal.SIGKILL)
        await victim.wait()


async def rows(connection: psycopg.AsyncConnection[Any], statement: str, *given: Any) -> list[Any]:
    return await (await connection.execute(statement.encode(), given or None)).fetchall()


@pytest.mark.chaos
@pytest.mark.parametrize("portion", range(PORTIONS))
async def test_killed_workers_lose_no_workflow_and_do_nothing_twice(
    database_url: str, total: Total, portion: int
) -> None:
    dice = random.Random(portion)
    await seasoned(database_url)
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
        await connection.execute("create table effects (run text, n integer, at timestamptz, pid integer)")
        await connection.execute("create index on effects (run)")
        await connection.execute("grant all on effects to weft_engine")
        await connection.execute("create table lost (kill integer, run text, pid integer, leads boolean, at timestamptz)")

        async with workflow_worker.made(database_url) as app:
            workflow = app.declared.latest("ten")
            assert workflow is not None
            crew = Crew(database_url)
            waiting, kills = RUNS, 0
            began = time.monotonic()
            try:
                await crew.hire()
                await crew.hire()
                while True:
                    if kills < KILLS and len(crew.here) < 3:
                        await crew.hire()
                    # in portions, so that there is something to kill until the last
                    [(left,)] = await rows(connection, "select count(*) from weft.tasks")
                    if waiting and left < 10:
                        some = waiting if kills == KILLS else min(waiting, max(RUNS // (KILLS + 1), 1))
                        await app.start_many(workflow, [{}] * some)
                        waiting -= some
                    elif not left:
                        break
                    assert time.monotonic() - began < PATIENCE, "not all of them have ended"
                    await asyncio.sleep(dice.random() * workflow_worker.PAUSE * workflow_worker.STEPS)
                    if kills < KILLS:
                        held = {row[0] for row in await rows(connection, HOLDERS)}
                        if victims := [one for one in crew.here if one.pid in held]:
                            kills += 1
                            victim = dice.choice(victims)
                            await connection.execute(HELD.encode(), (kills, victim.pid))
                            await crew.kill(victim)
                            while any(gap is None for _, gap in await rows(connection, GONE_ON, workflow_worker.STEPS - 1)):
                                assert time.monotonic() - began < PATIENCE, "not all of them have gone on"
                                await asyncio.sleep(0.05)
            finally:
                for worker in list(crew.here):
                    await crew.kill(worker)
        total.runs, total.kills = total.runs + RUNS, total.kills + kills
        total.gaps += await rows(connection, GONE_ON, workflow_worker.STEPS - 1)
        assert kills == KILLS
        states = await rows(connection, "select state, count(*) from weft.runs group by 1")
        assert states == [("completed", RUNS)]
        twice = "select count(*) from (select 1 from effects group by run, n having count(*) <> 1) as twice"
        assert await rows(connection, twice) == [(0,)]
        assert await rows(connection, "select count(*) from effects") == [(RUNS * workflow_worker.STEPS,)]
