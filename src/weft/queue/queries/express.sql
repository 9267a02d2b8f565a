-- The short ways, for what somebody waits for, on our own connection: what try_enqueue and claim_plain do, with less.

-- Unlimited work of one lane, a little of it: what a wake-up told of. As claim_plain, which see.
-- name: claim_named
with picked as materialized (
    -- use: of_one_lane
        and not exists (
            select
            from weft.orgs as o
            where o.id = %(org)s::uuid and (o.max_concurrent is not null or o.suspended_at is not null)
        )
        and not exists (
            select
            from weft.queues as q
            where q.name = split_part(%(lane)s::text, '+', 1)
                and q.org_id in (%(org)s::uuid, '00000000-0000-0000-0000-000000000000')
                and (q.paused or q.max_running is not null or q.rate_limit is not null)
        )
    order by t.urgency, t.run_at, t.id
    limit %(take)s::integer
    for update skip locked
),
-- use: taken

-- For the many tasks without a key: what try_enqueue does for them, without it.
-- A tenant's org needs no check of ours: row-level security refuses any other.

-- What most of them say, and nothing else: each further value costs every enqueue, though it is null.
-- name: enqueue_simple
with task as (
    insert into weft.tasks (org_id, kind, queue, lane, payload, urgency)
    values (
        coalesce(%(org)s::uuid, weft.current_org(), '00000000-0000-7000-8000-000000000001'), %(kind)s::text,
        %(queue)s::text, %(lane)s::text, %(payload)s::jsonb, 100 - %(priority)s::integer)
    returning id, org_id
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select 'tasks', 'INSERT', array[t.id]
    from task as t
)
select
    t.id,
    case
        when exists (
            select
            from weft.nodes as n
            where n.asleep and n.status = 'active' and (n.queues = '{}' or %(queue)s::text = any(n.queues))
        )
        then pg_notify('weft_wake', t.org_id || ' ' || %(lane)s::text)
    end
from task as t;

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
    returning id, org_id, state, run_at
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select 'tasks', 'INSERT', array[t.id]
    from task as t
)
select
    t.id,
    case
        when t.state = 'ready' and sleeper.found then pg_notify('weft_wake', t.org_id || ' ' || %(lane)s::text)
        -- whoever leads may look no sooner
        when t.state = 'scheduled' and t.run_at < weft.now() + interval '2 seconds' then pg_notify('weft_jobs', '')
    end
from task as t
cross join (
    select exists (
        select
        from weft.nodes as n
        where n.asleep and n.status = 'active' and (n.queues = '{}' or %(queue)s::text = any(n.queues))
    ) as found
) as sleeper;

-- Their ids are a run: who has the first and the number of them has all, so nothing of what was stored comes back.
-- name: enqueue_many_plain
with run as materialized (
    select
        i.prefix,
        -- from twelve digits on, so that none has to be filled up
        i.low | x'100000000000'::bigint as low,
        jsonb_array_length(%(payloads)s::jsonb) as count,
        due.at,
        case when due.at > weft.now() then 'scheduled' else 'ready' end as state,
        coalesce(%(org)s::uuid, weft.current_org(), '00000000-0000-7000-8000-000000000001') as org_id
    from weft.uuid7_run() as i
    cross join (
        select coalesce(%(run_at)s::timestamptz, weft.now() + coalesce(%(delay)s::interval, interval '0')) as at
    ) as due
),
task as (
    insert into weft.tasks (
        id, org_id, kind, queue, lane, payload, state, urgency, max_attempts, run_at, tags, retry, timeout, parent_id,
        correlation_id, trace_parent)
    select
        (r.prefix || to_hex(r.low + p.n))::uuid, r.org_id, %(kind)s::text, %(queue)s::text, %(lane)s::text, p.value,
        r.state, 100 - %(priority)s::integer, %(max_attempts)s::integer, r.at, %(tags)s::text[], %(retry)s::jsonb,
        %(timeout)s::interval, %(parent_id)s::uuid, %(correlation_id)s::text, %(trace_parent)s::text
    from run as r
    cross join jsonb_array_elements(%(payloads)s::jsonb) with ordinality as p (value, n)
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select
        'tasks',
        'INSERT',
        case
            when r.count <= 100 then array(
                select (r.prefix || to_hex(r.low + n.n))::uuid
                from generate_series(1, r.count) as n (n))
        end
    from run as r
)
select
    (r.prefix || to_hex(r.low + 1))::uuid,
    case
        when r.state = 'ready' and sleeper.found then pg_notify('weft_wake', r.org_id || ' ' || %(lane)s::text)
        when r.state = 'scheduled' and r.at < weft.now() + interval '2 seconds' then pg_notify('weft_jobs', '')
    end
from run as r
cross join (
    select exists (
        select
        from weft.nodes as n
        where n.asleep and n.status = 'active' and (n.queues = '{}' or %(queue)s::text = any(n.queues))
    ) as found
) as sleeper;
