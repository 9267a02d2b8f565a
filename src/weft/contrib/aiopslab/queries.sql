-- Problems and workers: what is not the kernel's. Every statement names the org.

-- name: add_problem
insert into weft.aiopslab_problems (id, org_id, problem_id, backend_type)
values (%(id)s, %(org)s, %(problem_id)s, %(backend_type)s);

-- name: get_problem
select
    t.id, t.problem_id, t.status, t.payload, t.worker_id, t.result, t.error_details, t.created_at, t.updated_at,
    t.started_at, t.completed_at
from weft.aiopslab_tasks as t
where t.org_id = %(org)s and t.id = %(id)s;

-- After the first `offset` that match, or after the place (two sort keys and an id) where the page before ended.
-- name: list_problems
with wanted as (
    select
        t.id, t.problem_id, t.status, t.payload, t.worker_id, t.result, t.error_details, t.created_at, t.updated_at,
        t.started_at, t.completed_at,
        case %(first)s::text
            when 'created_at' then extract(epoch from t.created_at)
            when '-created_at' then -extract(epoch from t.created_at)
            when 'priority' then t.priority
            when '-priority' then -t.priority
        end as first,
        case %(second)s::text
            when 'created_at' then extract(epoch from t.created_at)
            when '-created_at' then -extract(epoch from t.created_at)
            when 'priority' then t.priority
            when '-priority' then -t.priority
            else 0
        end as second
    from weft.aiopslab_tasks as t
    where t.org_id = %(org)s
        and (%(status)s::text is null or t.status = %(status)s)
        and (%(problem_id)s::text is null or t.problem_id = %(problem_id)s)
        and (%(worker_id)s::text is null or t.worker_id = %(worker_id)s)
)
select
    w.id, w.problem_id, w.status, w.payload, w.worker_id, w.result, w.error_details, w.created_at, w.updated_at,
    w.started_at, w.completed_at, w.first::text, w.second::text
from wanted as w
where %(after)s::uuid is null
    or (w.first, w.second) > (%(after_first)s::numeric, %(after_second)s::numeric)
    or (w.first, w.second) = (%(after_first)s::numeric, %(after_second)s::numeric)
        and (case when %(newest_first)s::boolean then w.id < %(after)s::uuid else w.id > %(after)s::uuid end)
order by
    w.first,
    w.second,
    -- made in the same moment: as their ids say
    case when not %(newest_first)s::boolean then w.id end,
    w.id desc
limit %(limit)s
offset %(offset)s;

-- name: count_problems
select count(*)
from weft.aiopslab_tasks as t
where t.org_id = %(org)s
    and (%(status)s::text is null or t.status = %(status)s)
    and (%(problem_id)s::text is null or t.problem_id = %(problem_id)s)
    and (%(worker_id)s::text is null or t.worker_id = %(worker_id)s);

-- The bound on the id names the months, generously (ids have their own clock); the time says the rest.
-- name: statistics
select
    count(*),
    count(*) filter (where t.status = 'pending'),
    count(*) filter (where t.status = 'running'),
    count(*) filter (where t.status = 'completed'),
    count(*) filter (where t.status = 'failed'),
    count(*) filter (where t.status = 'timeout'),
    (avg(extract(epoch from t.completed_at - t.started_at)))::double precision
from weft.aiopslab_tasks as t
where t.org_id = %(org)s
    and t.id >= weft.uuid7_floor(weft.now() - %(window)s::interval - interval '31 days')
    and t.created_at > weft.now() - %(window)s::interval;

-- name: list_logs
select l.id, l.task_id, l.timestamp, l.level, l.message, l.context
from weft.aiopslab_logs as l
where l.org_id = %(org)s
    and l.task_id = %(task_id)s
    and (%(level)s::text is null or l.level = %(level)s)
    and (%(since)s::timestamptz is null or l.timestamp > %(since)s)
order by l.timestamp, l.number
limit %(take)s;

-- name: list_messages
select m.at, m.role, m.content
from weft.aiopslab_messages as m
where m.org_id = %(org)s and m.task_id = %(task_id)s
order by m.id;

-- name: add_messages
insert into weft.aiopslab_messages (task_id, org_id, role, content)
select %(task_id)s, %(org)s, m.role, m.content::jsonb
from unnest(%(roles)s::text[], %(contents)s::text[]) with ordinality as m (role, content, line)
order by m.line;

-- A name that is known is taken, unless its worker was given up long ago.
-- name: register_worker
insert into weft.aiopslab_workers as w (org_id, id, node_id, backend_type, capabilities, metadata)
values (%(org)s, %(id)s, %(node_id)s, %(backend_type)s, %(capabilities)s::jsonb, %(metadata)s::jsonb)
on conflict (org_id, id) do update
set backend_type = excluded.backend_type,
    capabilities = excluded.capabilities,
    metadata = excluded.metadata,
    registered_at = weft.now(),
    deleted_at = null
where w.deleted_at is not null
returning w.id;

-- Held from here on: two claims of one worker must not both find its last free place.
-- name: hold_worker
select w.node_id::text, w.backend_type, w.capabilities
from weft.aiopslab_workers as w
where w.org_id = %(org)s and w.id = %(id)s and w.deleted_at is null
for update;

-- name: list_workers
select
    w.id, w.backend_type, w.status, w.last_heartbeat, w.current_task_id, w.capabilities, w.metadata, w.registered_at,
    w.tasks_completed, w.tasks_failed, w.running_task_ids
from weft.aiopslab_fleet as w
where w.org_id = %(org)s
    and (%(id)s::text is null or w.id = %(id)s)
    and (%(status)s::text is null or w.status = %(status)s)
    and (%(backend_type)s::text is null or w.backend_type = %(backend_type)s)
order by w.id;

-- One beat keeps everything the worker runs.
-- name: keep_leases
update weft.tasks as t
set lease_until = weft.now() + %(lease)s::interval
where t.state = 'running' and t.lease_until is not null and t.node_id = %(node_id)s::uuid and t.org_id = %(org)s;

-- name: problems_wait
select exists (
    select
    from weft.tasks as t
    where t.state = 'ready' and t.plain and t.lane = %(queue)s and t.org_id = %(org)s
);

-- What comes next for a worker: the most urgent, then the oldest, of what its backend and its list of problems allow.
-- name: pick
select t.id::text
from weft.tasks as t
join weft.aiopslab_problems as p
    on p.org_id = t.org_id and p.id = t.id
where t.state = 'ready'
    and t.plain
    and t.lane = %(queue)s
    and t.org_id = %(org)s
    and t.kind = %(kind)s
    and (p.backend_type is null or p.backend_type = %(backend_type)s)
    and (cardinality(%(patterns)s::text[]) = 0 or p.problem_id like any(%(patterns)s::text[]))
order by t.urgency, t.run_at, t.id
limit %(take)s
for update of t skip locked;

-- name: assign
update weft.aiopslab_problems as p
set worker_id = %(worker_id)s
where p.org_id = %(org)s and p.id = any(%(ids)s::uuid[]);

-- What a worker may speak of: a task that runs, on it. Held, so that nobody ends it meanwhile.
-- name: hold_task
select t.lease_token::text, t.claimed_at, weft.now(), coalesce(t.claimed_at + t.timeout < weft.now(), false)
from weft.tasks as t
join weft.aiopslab_workers as w
    on w.node_id = t.node_id and w.org_id = t.org_id
where t.id = %(id)s and t.org_id = %(org)s and w.id = %(worker_id)s and t.state = 'running'
for update of t;

-- What upkeep's one look asks of the problems (`upkeep/sight.py`); each that runs has a lease of its own.
-- name: stirs
select 'aiopslab timeouts', 0::double precision
where exists (
    select
    from weft.tasks as t
    where t.lease_until is not null and t.kind = %(kind)s::text and t.claimed_at + t.timeout < weft.now()
);

-- name: overdue
select t.id::text
from weft.tasks as t
where t.state = 'running' and t.kind = %(kind)s and t.claimed_at + t.timeout < weft.now()
order by t.claimed_at
limit %(take)s
for update skip locked;

-- name: forget_workers
update weft.aiopslab_workers as w
set deleted_at = weft.now()
where w.deleted_at is null
    and w.registered_at < weft.now() - %(older)s::interval
    and not exists (
        select
        from weft.nodes as n
        where n.id = w.node_id and n.beat_at > weft.now() - %(older)s::interval
    );

-- name: fleet_counts
select w.status, count(*)
from weft.aiopslab_fleet as w
where w.org_id = %(org)s
group by w.status;
