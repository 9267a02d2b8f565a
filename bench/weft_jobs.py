"""A scheduler and the floor under it: `python -m bench.weft_jobs DUE` prints what was measured in one round."""

import asyncio
import json
import sys
import time

import psycopg
import uvloop

from bench.peers import protocol
from weft.app import App
from weft.jobs import scheduler

AHEAD = 4.0
"""Seconds from making jobs due to the instant they are."""

DUE = """
update weft.jobs as j
set next_run_time = i.at, due_at = i.at
from (select clock_timestamp() + %s * interval '1 second' as at) as i
where j.id = any(array(select p.id from weft.jobs as p where p.due_at is not null order by p.due_at desc limit %s))
returning extract(epoch from i.at)::float8
"""
MADE = """
select count(*), extract(epoch from clock_timestamp())::float8
from weft.executions
where scheduled_time = to_timestamp(%s)
"""

FLOOR = """
insert into bench_floor (id, org_id, kind, queue, lane, payload, urgency, max_attempts, retry, job_id, scheduled_for)
select (run.prefix || lpad(to_hex(run.low + n), 12, '0'))::uuid, '00000000-0000-7000-8000-000000000001', 'noop', 'default',
    'default', '{"n": 1}', 45, 3, '{"backoff": "exponential", "base": 60}', gen_random_uuid(), now()
from weft.uuid7_run() as run, generate_series(1, %s) as n
"""
PEEK = "select extract(epoch from due_at - weft.now()) from weft.jobs where due_at is not null order by due_at, id limit 1"


async def main(due: int) -> None:
    url = protocol.database_url()
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        floor = await _floor(connection, due)
        rows = await (await connection.execute(DUE, (AHEAD, due))).fetchall()
        assert len(rows) == due, f"{len(rows)} jobs, not {due}"
        at = rows[0][0]
        began = time.perf_counter()
        await connection.execute(PEEK)
        peek = time.perf_counter() - began
        async with App(database_url=url) as app, app.node(roles=("scheduler",)):
            first, last = await _dispatched(connection, at, due)
    spent = last - at
    print(json.dumps({
        "per_second": due / spent, "floor_per_second": floor, "share": due / spent / floor, "first_ms": (first - at) * 1000,
        "all_ms": spent * 1000, "peek_ms": peek * 1000,
    }))  # fmt: skip


async def _floor(connection: "psycopg.AsyncConnection[tuple[object, ...]]", count: int) -> float:
    """Rows a second by multi-row inserts, committed batch by batch."""
    await connection.execute("drop table if exists bench_floor")
    await connection.execute("create table bench_floor (like weft.tasks including all)")
    began = time.perf_counter()
    for _ in range(0, count, scheduler.BATCH):
        await connection.execute(FLOOR, (scheduler.BATCH,))
    return count / (time.perf_counter() - began)


async def _dispatched(connection: "psycopg.AsyncConnection[tuple[float, ...]]", at: float, due: int) -> tuple[float, float]:
    """When the first execution was there, and when all were, by the database's clock."""
    first = 0.0
    async with asyncio.timeout(300):
        while True:
            found = await (await connection.execute(MADE, (at,))).fetchone()
            assert found is not None
            made, now = found
            first = first or (now if made else 0.0)
            if made >= due:
                return first, now
            await asyncio.sleep(0.02)


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1])))
