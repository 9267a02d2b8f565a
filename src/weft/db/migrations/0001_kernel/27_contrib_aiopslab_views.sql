-- Seed 001 (AIOpsLab): its tables as views, columns in its order. What they stand on names the org too, for our own queries.

create view weft.aiopslab_tasks with (security_invoker = true) as
select
    p.org_id, p.id, p.problem_id, weft.aiopslab_status(t.state) as status, t.payload,
    case when t.state = 'running' then p.worker_id end as worker_id,
    null::jsonb as result, null::text as error_details, (100 - t.urgency) / 10 as priority,
    t.created_at, coalesce(t.claimed_at, t.created_at) as updated_at, t.claimed_at as started_at,
    null::timestamptz as completed_at
from weft.aiopslab_problems as p
join weft.tasks as t
    on t.id = p.id and t.org_id = p.org_id
union all
select
    p.org_id, p.id, p.problem_id, weft.aiopslab_status(h.state), h.payload,
    case when h.node_id is not null then p.worker_id end,
    h.result, weft.aiopslab_error(h.state, h.reason, h.error), (100 - h.urgency) / 10,
    h.created_at, h.finished_at, h.claimed_at, h.finished_at
from weft.aiopslab_problems as p
join weft.task_history as h
    on h.org_id = p.org_id and h.id = p.id;

create view weft.aiopslab_fleet with (security_invoker = true) as
select
    w.org_id, w.id, w.backend_type,
    case
        when n.beat_at is null or n.beat_at < weft.now() - interval '60 seconds' then 'offline'
        when coalesce(r.running, 0) >= (w.capabilities ->> 'max_parallel_tasks')::integer then 'busy'
        else 'idle'
    end as status,
    coalesce(n.beat_at, w.registered_at) as last_heartbeat,
    -- set exactly when it is busy
    case
        when n.beat_at >= weft.now() - interval '60 seconds'
            and r.running >= (w.capabilities ->> 'max_parallel_tasks')::integer
        then r.task_ids[1]
    end as current_task_id,
    w.capabilities, w.metadata, w.registered_at,
    coalesce(c.completed, 0)::integer as tasks_completed, coalesce(c.failed, 0)::integer as tasks_failed,
    coalesce(r.task_ids, '{}') as running_task_ids
from weft.aiopslab_workers as w
left join weft.nodes as n
    on n.id = w.node_id
left join weft.aiopslab_tallies as c
    on c.org_id = w.org_id and c.worker_id = w.id
left join (
    -- what runs is few: one look at it for all workers
    select t.org_id, t.node_id, count(*) as running, array_agg(t.id order by t.claimed_at, t.id) as task_ids
    from weft.tasks as t
    where t.state = 'running' and t.kind = 'aiopslab.problem'
    group by t.org_id, t.node_id
) as r
    on r.org_id = w.org_id and r.node_id = w.node_id
where w.deleted_at is null;

create view weft.aiopslab_logs with (security_invoker = true) as
select
    l.org_id,
    -- the kernel numbers the lines of a task; this document gives each a UUID
    md5(l.task_id::text || ' ' || l.id::text)::uuid as id,
    l.task_id, l.at as timestamp, l.level, l.message, coalesce(l.fields, '{}') as context, l.id as number
from weft.task_logs as l
join weft.aiopslab_problems as p
    on p.org_id = l.org_id and p.id = l.task_id;

create schema if not exists aiopslab;
grant usage on schema aiopslab to weft_engine, weft_tenant;

create view aiopslab.tasks with (security_invoker = true) as
select
    t.id, t.problem_id, t.status, t.payload - 'problem_id' as parameters, t.worker_id,
    case
        when t.result is not null then t.result || jsonb_build_object('logs', coalesce((
            select jsonb_agg(
                jsonb_build_object('timestamp', l.timestamp, 'level', l.level, 'message', l.message, 'context', l.context)
                order by l.number)
            from weft.aiopslab_logs as l
            where l.org_id = t.org_id and l.task_id = t.id), '[]'))
    end as result,
    t.error_details, t.created_at, t.updated_at, t.started_at, t.completed_at
from weft.aiopslab_tasks as t;

create view aiopslab.workers with (security_invoker = true) as
select
    w.id, w.backend_type, w.status, w.last_heartbeat, w.current_task_id, w.capabilities, w.metadata, w.registered_at,
    w.tasks_completed, w.tasks_failed
from weft.aiopslab_fleet as w;

create view aiopslab.task_logs with (security_invoker = true) as
select l.id, l.task_id, l.timestamp, l.level, l.message, l.context
from weft.aiopslab_logs as l;

grant select on weft.aiopslab_tasks, weft.aiopslab_fleet, weft.aiopslab_logs, aiopslab.tasks, aiopslab.workers,
    aiopslab.task_logs to weft_engine, weft_tenant;
