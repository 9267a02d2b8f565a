-- What people do to runs of workflows. The run's task has its id; its row is locked first, as a worker's writes do.

-- name: lock_workflow
select r.state, r.name, r.version, r.error, r.config, t.state, w.queue
from weft.runs as r
left join weft.tasks as t
    on t.id = r.id
left join weft.workflows as w
    on w.name = r.name and w.version = r.version
where r.id = %(id)s::uuid and r.org_id = %(org_id)s::uuid and r.kind = 'workflow'
for update of r;

-- name: lock_wake_up
select t.state
from weft.tasks as t
where t.id = %(id)s::uuid and t.org_id = %(org_id)s::uuid
for update;

-- Stands still until it is let go. When it began is what its row says: a first wake-up would go by its task.
-- name: hold_wake_up
with changed as (
    update weft.tasks as t
    set state = 'blocked', attempt = greatest(t.attempt, 1), uncounted = t.uncounted + (t.attempt = 0)::integer
    where t.id = %(id)s::uuid and t.state <> 'running'
    returning t.id
)
-- use: tell_tasks

-- name: free_wake_up
with changed as (
    update weft.tasks as t
    set state = 'ready', run_at = weft.now()
    where t.id = %(id)s::uuid and t.state in ('blocked', 'scheduled')
    returning t.id, t.org_id, t.lane
),
feed as (
    -- use: tell_tasks
)
select weft.wake(c.org_id, c.lane)
from changed as c;

-- name: set_workflow_state
with changed as (
    update weft.runs as r
    set state = %(state)s, error = %(error)s::jsonb, finished_at = null, stalled_at = null
    where r.id = %(id)s::uuid
    returning r.id
)
insert into weft.change_inbox (table_name, op, ids)
select 'runs', 'UPDATE', array[c.id]
from changed as c;

-- A run that was over goes on: its task is there again, and knows that it has a history.
-- name: reopen_workflow
with past as (
    delete from weft.task_history as h
    where h.org_id = %(org_id)s::uuid and h.id = %(id)s::uuid
    returning h.id, h.queue, h.lane, h.urgency
),
task as (
    insert into weft.tasks (id, org_id, kind, queue, lane, payload, urgency, attempt, uncounted)
    select
        r.id, r.org_id, 'workflow:' || r.name || ':' || r.version, coalesce(p.queue, %(queue)s), coalesce(p.lane, %(queue)s),
        r.params, coalesce(p.urgency, 50), 1, 1
    from weft.runs as r
    left join past as p
        on p.id = r.id
    where r.id = %(id)s::uuid
    returning org_id, lane
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    values ('runs', 'UPDATE', array[%(id)s::uuid]), ('tasks', 'INSERT', array[%(id)s::uuid])
)
update weft.runs as r
set state = %(state)s, error = %(error)s::jsonb, output = null, finished_at = null, stalled_at = null, reruns = r.reruns + 1
from task as t
where r.id = %(id)s::uuid
returning weft.wake(t.org_id, t.lane);

-- name: drop_steps
with changed as (
    delete from weft.steps as s
    where s.run_id = %(id)s::uuid and s.node = any(%(nodes)s::text[]) and s.operation is not null
    returning s.id
)
-- use: tell_steps_gone

-- name: give_step
with changed as (
    update weft.steps as s
    set state = 'skipped',
        -- a signal is kept in a list
        output = case when s.operation = 'signal' then jsonb_build_array(%(output)s::jsonb) else %(output)s::jsonb end,
        error = null,
        finished_at = weft.now()
    where s.run_id = %(id)s::uuid and s.node = %(node)s and s.operation is not null and s.state = 'failed'
    returning s.id
)
-- use: tell_steps

-- name: fork_workflow
with forked as (
    insert into weft.runs (
        org_id, kind, name, version, state, params, trigger, actor, patches, correlation_id, config, created_at)
    select
        r.org_id, r.kind, r.name, r.version, 'running', coalesce(%(params)s::jsonb, r.params), 'run', %(actor)s, r.patches,
        r.correlation_id,
        jsonb_build_object('forked_from', r.id, 'dice', %(dice)s::jsonb, 'life', coalesce(r.config -> 'life', '0')),
        r.created_at
    from weft.runs as r
    where r.id = %(id)s::uuid and r.org_id = %(org_id)s::uuid
    returning id, org_id, name, version, params
),
copied as (
    insert into weft.steps (
        id, run_id, org_id, frame_id, node, operation, number, state, attempt, params, output, error, started_at,
        finished_at)
    select
        weft.uuid7(), f.id, f.org_id, f.id, s.node, s.operation, s.number,
        case when s.state = 'compensated' then 'completed' else s.state end, s.attempt, s.params,
        coalesce(e.output::jsonb, s.output), s.error, s.started_at, s.finished_at
    from forked as f
    join weft.steps as s
        on s.run_id = %(id)s::uuid
    left join unnest(%(nodes)s::text[], %(outputs)s::text[]) as e (node, output)
        on e.node = s.node
    where s.operation is not null
        and s.operation <> 'compensation'
        and s.number < %(before)s
        and s.state <> 'pending'
        and s.node <> all(%(without)s::text[])
    returning id
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select k.table_name, 'INSERT', array[f.id]
    from forked as f
    cross join (values ('runs'), ('tasks')) as k (table_name)
    union all
    select 'steps', 'INSERT', case when count(*) <= 100 then array_agg(c.id) end
    from copied as c
    having count(*) > 0
),
task as (
    insert into weft.tasks (id, org_id, kind, queue, lane, payload, attempt, uncounted)
    select f.id, f.org_id, 'workflow:' || f.name || ':' || f.version, %(queue)s, %(queue)s, f.params, 1, 1
    from forked as f
    returning org_id, lane
)
select f.id, (select weft.wake(t.org_id, t.lane) from task as t)
from forked as f;

-- Children that a run waits for, or has waited for.
-- name: awaited_children
select c.id::text
from weft.runs as c
where c.parent_run_id = %(id)s::uuid and c.org_id = %(org_id)s::uuid and c.config ? 'place';

-- What a run's history shows: one line for each checkpoint.
-- name: workflow_steps
select s.node, s.operation, s.number, s.state, s.attempt, s.output, s.error, s.params ->> 'compensate', s.finished_at
from weft.steps as s
where s.run_id = %(id)s::uuid and s.org_id = %(org_id)s::uuid and s.operation is not null
order by s.number
limit %(take)s;

-- name: published_state
select r.published, string_to_array(t.progress_message, ', ')
from weft.runs as r
left join weft.tasks as t
    on t.id = r.id
where r.id = %(id)s::uuid and r.org_id = %(org_id)s::uuid and r.kind = 'workflow';

-- Every run that has begun and is not over, for whoever asks whether code still fits.
-- name: unfinished_workflows
select r.id::text, r.name, r.version, r.org_id::text
from weft.runs as r
where r.kind = 'workflow'
    and r.finished_at is null
    and r.id > %(after)s::uuid
    and (%(org_id)s::uuid is null or r.org_id = %(org_id)s::uuid)
order by r.id
limit %(take)s;

-- name: list_workflows
select w.name, w.version, w.queue, w.priority, w.signals, w.declared_at, w.arguments
from weft.workflows as w
where (w.name, w.version) > (%(after_name)s, %(after_version)s)
order by w.name, w.version
limit %(take)s;
