"""A database as it is after months: many tasks wait, many more have ended, in every state, over several months.

One org has three fifths of everything, the other orgs share the rest. What a task is like depends on a hash of its
number, so that nothing lies in order but the ids.
"""

from uuid import UUID

import psycopg

MONTHS = 5
"""How many months the finished tasks are spread over, this one included."""

# `mixed` scatters n; each property takes other bits of it.
TRAITS = """
cross join lateral (
    select hashint8(n + %(seed)s)::bigint & 2147483647 as mixed, hashint8(n * 31 + 7)::bigint & 2147483647 as other
) as m
cross join lateral (
    select
        (%(orgs)s::uuid[])[
            case when m.mixed %% 10 < 6 then 1 else 1 + (m.mixed / 10) %% cardinality(%(orgs)s::uuid[]) end
        ] as org_id,
        'kind-' || case when m.other %% 100 < 80 then m.other %% 5 else m.other %% 40 end as kind,
        'queue-' || case when (m.other / 100) %% 10 < 7 then 0 else (m.other / 100) %% 8 end as queue,
        case when (m.other / 1000) %% 10 = 3 then array['tag-' || m.mixed %% 7, 'all'] end as tags,
        case when (m.other / 1000) %% 5 = 0 then 'request-' || n / 10 end as correlation_id,
        case when (m.other / 1000) %% 20 = 1 then md5((n / 100)::text)::uuid end as run_id,
        case when (m.other / 1000) %% 30 = 2 then md5((n / 50)::text)::uuid end as parent_id,
        m.mixed / 1000 %% 1000 as dice
) as x
"""

ID = """
(lpad(to_hex((extract(epoch from a.at) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(n %% 4096), 3, '0')
    || '8' || substr(md5((n + %(seed)s)::text), 1, 15))::uuid
"""

FINISHED = f"""
insert into weft.task_history (
    id, org_id, kind, queue, lane, payload, tags, correlation_id, run_id, parent_id, state, reason, urgency, attempt,
    uncounted, losses, created_at, run_at, claimed_at, started_at, finished_at, node_id, lease_token, error, result)
select {ID}, x.org_id, x.kind, x.queue, x.queue, '{{"n": 0}}', x.tags, x.correlation_id, x.run_id, x.parent_id,
    case
        when x.dice < 15 then 'failed' when x.dice < 20 then 'timed_out' when x.dice < 30 then 'cancelled'
        else 'completed'
    end,
    case
        when x.dice < 10 then 'dead' when x.dice < 15 then 'refused' when x.dice < 20 then 'dead'
        when x.dice < 30 then 'requested'
    end,
    50, 1, 0, 0, a.at, a.at, a.at, a.at, a.at + interval '1 second', gen_random_uuid(), gen_random_uuid(),
    case
        when x.dice < 20
        then jsonb_build_object('type', 'Error' || x.dice %% 3, 'message', 'no', 'traceback', repeat('x', 500))
    end,
    'null'
from generate_series(1, %(count)s) as n
cross join lateral (
    select weft.now() - interval '1 hour' - (%(count)s - n) * (%(span)s::interval / %(count)s) as at
) as a
{TRAITS}
"""

WAITING = f"""
insert into weft.tasks (
    id, org_id, kind, queue, lane, payload, tags, correlation_id, run_id, parent_id, state, plain, created_at, run_at,
    concurrency_key, concurrency, claimed_at, lease_token, lease_until)
select {ID}, x.org_id, x.kind, x.queue, x.queue, '{{"n": 0}}', x.tags, x.correlation_id, x.run_id, x.parent_id, s.state,
    s.state <> 'blocked', a.at, a.at, case when s.state = 'blocked' then 'full' end,
    case when s.state = 'blocked' then 1 end, case when s.state = 'running' then weft.now() end,
    case when s.state = 'running' then gen_random_uuid() end,
    case when s.state = 'running' then weft.now() + interval '1 day' end
from generate_series(1, %(count)s) as n
cross join lateral (select weft.now() - (%(count)s - n) * (interval '1 day' / %(count)s) as at) as a
{TRAITS}
cross join lateral (
    select case
        when x.dice < 2 then 'running' when x.dice < 200 then 'scheduled' when x.dice < 250 then 'blocked' else 'ready'
    end as state
) as s
"""

# Months of the past, as they were made when they were the present.
MONTH = """
do $$
declare
    first timestamptz;
    parent text;
begin
    set local timezone = 'UTC';
    for back in 1 .. {months} loop
        first := date_trunc('month', weft.now(), 'UTC') - back * interval '1 month';
        foreach parent in array array['task_history', 'task_logs'] loop
            execute format(
                'create table weft.%I partition of weft.%I for values from (%L) to (%L)',
                parent || to_char(first, '"_"YYYY"_"MM'), parent, weft.uuid7_floor(first),
                weft.uuid7_floor(first + interval '1 month'));
        end loop;
    end loop;
end;
$$
"""


def fill(url: str, orgs: list[UUID], *, queued: int, finished: int) -> None:
    """Put the tasks there, as the owner; the first org gets most of them."""
    with psycopg.connect(url, autocommit=True, options="-c synchronous_commit=off") as connection:
        connection.execute(MONTH.format(months=MONTHS - 1).encode())
        span = f"{30 * (MONTHS - 1)} days"
        connection.execute(FINISHED, {"orgs": orgs, "count": finished, "span": span, "seed": 1})
        connection.execute(WAITING, {"orgs": orgs, "count": queued, "seed": finished + 1})
        connection.execute("vacuum (analyze)")
