-- The short way for the many tasks without a key, on our own connection: what try_enqueue does for them, without it.
-- A tenant's org needs no check of ours: row-level security refuses any other.

-- name: enqueue_plain
with task as (
    insert into weft.tasks (
        org_id, kind, queue, lane, payload, state, urgency, max_attempts, run_at, tags, retry, timeout,
        heartbeat_timeout, job_id, run_id, step_id, parent_id, scheduled_for, correlation_id, trace_parent)
    select
        coalesce(%(org)s::uuid, weft.current_org(), '00000000-0000-7000-8000-000000000001'), %(kind)s::text,
        %(queue)s::text, %(lane)s::text, %(payload)s::jsonb,
        case when due.at > weft.now() then 'scheduled' else 'ready' end, 100 - %(priority)s::integer,
        %(max_attempts)s::integer, due.at, %(tags)s::text[], %(retry)s::jsonb, %(timeout)s::interval,
        %(heartbeat_timeout)s::interval, %(job_id)s::uuid, %(run_id)s::uuid, %(step_id)s::uuid, %(parent_id)s::uuid,
        %(scheduled_for)s::timestamptz, %(correlation_id)s::text, %(trace_parent)s::text
    from (
        select coalesce(%(run_at)s::timestamptz, weft.now() + coalesce(%(delay)s::interval, interval '0')) as at
    ) as due
    returning id, org_id, state
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select 'tasks', 'INSERT', array[t.id]
    from task as t
)
select t.id, case when t.state = 'ready' and sleeper.found then pg_notify('weft_wake', t.org_id || ' ' || %(lane)s::text) end
from task as t
cross join (
    select exists (
        select
        from weft.nodes as n
        where n.asleep and n.status = 'active' and (n.queues = '{}' or %(queue)s::text = any(n.queues))
    ) as found
) as sleeper;

-- name: enqueue_many_plain
with task as (
    insert into weft.tasks (
        id, org_id, kind, queue, lane, payload, state, urgency, max_attempts, run_at, tags, retry, timeout, parent_id,
        correlation_id, trace_parent)
    select
        (run.prefix || lpad(to_hex(run.low + p.n), 12, '0'))::uuid,
        coalesce(%(org)s::uuid, weft.current_org(), '00000000-0000-7000-8000-000000000001'), %(kind)s::text,
        %(queue)s::text, %(lane)s::text, p.value, case when due.at > weft.now() then 'scheduled' else 'ready' end,
        100 - %(priority)s::integer, %(max_attempts)s::integer, due.at, %(tags)s::text[], %(retry)s::jsonb,
        %(timeout)s::interval, %(parent_id)s::uuid, %(correlation_id)s::text, %(trace_parent)s::text
    from (
        select coalesce(%(run_at)s::timestamptz, weft.now() + coalesce(%(delay)s::interval, interval '0')) as at
    ) as due
    cross join weft.uuid7_run() as run
    cross join jsonb_array_elements(%(payloads)s::jsonb) with ordinality as p (value, n)
    returning id, org_id
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select 'tasks', 'INSERT', case when count(*) <= 100 then array_agg(t.id) end
    from task as t
    having count(*) > 0
),
sleeper as (
    select pg_notify('weft_wake', t.org_id || ' ' || %(lane)s::text)
    from (select o.org_id from task as o limit 1) as t
    where exists (
        select
        from weft.nodes as n
        where n.asleep and n.status = 'active' and (n.queues = '{}' or %(queue)s::text = any(n.queues))
    )
)
select t.id
from task as t
left join sleeper on true;
