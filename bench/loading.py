"""Many rows at once, put into Weft's tables by the owner: a million tasks in seconds, where enqueueing takes minutes."""

import datetime as dt
from collections.abc import Sequence
from uuid import UUID

import psycopg

QUEUED = """
insert into weft.tasks (org_id, kind, queue, lane, payload, state, run_at)
select (%(orgs)s::uuid[])[1 + n %% cardinality(%(orgs)s::uuid[])], %(kind)s, %(queue)s, %(queue)s, %(payload)s,
    %(state)s, weft.now() + %(delay)s
from generate_series(0, %(count)s - 1) as n
"""

# A task under an HTTP worker's own lease holds the key for a day, so that the key stays full.
BLOCKED = """
insert into weft.tasks (
    org_id, kind, payload, state, plain, concurrency_key, concurrency, claimed_at, lease_token, lease_until)
select %(org)s, 'noop', '{"n": 0}', case when n = 0 then 'running' else 'blocked' end, false, 'full', 1,
    case when n = 0 then weft.now() end, case when n = 0 then gen_random_uuid() end,
    case when n = 0 then weft.now() + interval '1 day' end
from generate_series(0, %(count)s) as n
"""

LIMIT_QUEUE = "insert into weft.queues (org_id, name, max_running) values (%s, %s, %s)"

HOLDER = """
insert into weft.tasks (
    org_id, kind, queue, lane, payload, state, limited, claimed_at, lease_token, lease_until)
values (%s, 'noop', %s, %s, '{"n": 0}', 'running', true, weft.now(), gen_random_uuid(), weft.now() + interval '1 day')
"""

FINISHED = """
insert into weft.task_history (
    id, org_id, kind, queue, lane, payload, state, urgency, attempt, uncounted, losses, created_at, run_at, claimed_at,
    started_at, finished_at, node_id, lease_token, result)
select weft.uuid7(), (%(orgs)s::uuid[])[1 + n %% cardinality(%(orgs)s::uuid[])], 'noop', 'default', 'default', '{"n": 0}',
    'completed', 50, 1, 0, 0, weft.now(), weft.now(), weft.now(), weft.now(), weft.now(), gen_random_uuid(),
    gen_random_uuid(), 'null'
from generate_series(0, %(count)s - 1) as n
"""

# As the leader would have done meanwhile; else the first worker that leads counts five million rows beside its work.
COUNTED = """
insert into weft.task_minutes (org_id, queue, minute, completed)
select h.org_id, q.name, date_trunc('minute', h.finished_at), count(*)
from weft.task_history as h
cross join (values ('default'), ('')) as q (name)
group by 1, 2, 3
"""
ALL_COUNTED = "update weft.task_minutes_until set until = date_trunc('minute', weft.now()) + interval '1 minute'"


def queued(
    connection: psycopg.Connection, orgs: Sequence[UUID], *, count: int, kind: str = "noop", queue: str = "default",
    payload: str = '{"n": 0}', delay: dt.timedelta | None = None,
) -> None:  # fmt: skip
    """Queue tasks, org after org; with a delay they are scheduled for later."""
    state = "scheduled" if delay else "ready"
    told = {"orgs": list(orgs), "kind": kind, "queue": queue, "payload": payload, "state": state}
    connection.execute(QUEUED, {**told, "delay": delay or dt.timedelta(), "count": count})


def blocked(connection: psycopg.Connection, org: UUID, *, count: int) -> None:
    """Put tasks behind a concurrency key that is full and stays so."""
    connection.execute(BLOCKED, {"org": org, "count": count})


def behind_queue(connection: psycopg.Connection, org: UUID, *, count: int) -> None:
    """Put tasks into a queue whose limit is reached and stays so."""
    connection.execute(LIMIT_QUEUE, (org, "full", 1))
    connection.execute(HOLDER, (org, "full", "full"))
    queued(connection, [org], count=count, queue="full")


def finished(connection: psycopg.Connection, orgs: Sequence[UUID], *, count: int) -> None:
    """Fill the history, in this month's partition as if a worker had run."""
    connection.execute("select weft.make_partitions()")
    connection.execute(FINISHED, {"orgs": list(orgs), "count": count})
    connection.execute(COUNTED)
    connection.execute(ALL_COUNTED)
