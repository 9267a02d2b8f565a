"""The floor under the benchmark's protocol: plain psycopg, one connection, a batch claimed and a batch finished.

Nothing of a product is here: no retries, limits, orgs, heartbeats or notifications. What is left is what
PostgreSQL and the driver cost for the same rows, indexes and commits.
"""

import asyncio
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import uvloop
from psycopg.types.json import Jsonb

from bench.peers import protocol

BATCH = 500
IDLE = 0.05

NODE = UUID("00000000-0000-7000-8000-00000000f100")

ENQUEUE = "insert into floor.tasks (kind, payload) values ('noop', %s)"
ENQUEUE_MANY = "copy floor.tasks (kind, payload) from stdin"

CLAIM = """
with picked as materialized (
    select t.ctid as place
    from floor.tasks as t
    where t.state = 'ready'
        and t.plain
        and t.lane = 'default'
        and t.org_id = '00000000-0000-7000-8000-000000000001'
    order by t.urgency, t.run_at, t.id
    limit %(batch)s
    for update skip locked
)
update floor.tasks as t
set state = 'running',
    attempt = t.attempt + 1,
    claimed_at = statement_timestamp(),
    node_id = %(node)s,
    lease_token = %(token)s
where t.ctid = any(array(select p.place from picked as p))
returning t.id, t.kind, t.payload, t.attempt
"""

FINISH = """
with gone as (
    delete from floor.tasks as t
    using unnest(%(ids)s::uuid[]) as v (id)
    where t.id = v.id and t.lease_token = %(token)s
    returning t.*
)
insert into floor.task_history (
    id, org_id, kind, queue, lane, payload, state, urgency, attempt, uncounted, losses, max_attempts, created_at,
    run_at, claimed_at, started_at, finished_at, node_id, lease_token, error, result)
select
    g.id, g.org_id, g.kind, g.queue, g.lane, g.payload, 'completed', g.urgency, g.attempt, g.uncounted, g.losses,
    g.max_attempts, g.created_at, g.run_at, g.claimed_at, g.claimed_at, statement_timestamp(), g.node_id,
    g.lease_token, g.error, 'null'
from gone as g
"""


async def setup() -> None:
    """Create the floor's tables."""
    async with await connect() as connection:
        await connection.execute(Path(__file__).with_suffix(".sql").read_text(), prepare=False)


async def enqueue_one(count: int) -> None:
    """Insert one row per statement."""
    async with await connect() as connection:

        async def enqueue() -> None:
            for number in range(count):
                await connection.execute(ENQUEUE, (Jsonb({"n": number}),))

        await protocol.timed(enqueue())


async def enqueue_many(count: int) -> None:
    """Copy rows in, a batch per statement."""
    async with await connect() as connection, connection.cursor() as cursor:

        async def enqueue() -> None:
            for start in range(0, count, protocol.ENQUEUE_BATCH):
                async with cursor.copy(ENQUEUE_MANY) as copy:
                    for number in range(start, min(start + protocol.ENQUEUE_BATCH, count)):
                        await copy.write_row(("noop", f'{{"n": {number}}}'))

        await protocol.timed(enqueue())


async def work() -> None:
    """Claim, call the handler per task, finish; for ever."""
    async with await connect() as connection:
        while True:
            token = uuid4()
            claimed = await connection.execute(CLAIM, {"batch": BATCH, "node": NODE, "token": token})
            tasks = await claimed.fetchall()
            for _id, _kind, payload, _attempt in tasks:
                await noop(payload)
            if tasks:
                await connection.execute(FINISH, {"ids": [task[0] for task in tasks], "token": token})
            else:
                await asyncio.sleep(IDLE)


async def noop(payload: object) -> None:
    """Do nothing."""


async def connect() -> psycopg.AsyncConnection:
    """Open a connection whose statements are prepared and committed one by one."""
    return await psycopg.AsyncConnection.connect(protocol.database_url(), autocommit=True, prepare_threshold=0)


if __name__ == "__main__":
    protocol.main(
        {"setup": setup, "enqueue-one": enqueue_one, "enqueue-many": enqueue_many, "work": work},
        runner=uvloop.run,
    )
