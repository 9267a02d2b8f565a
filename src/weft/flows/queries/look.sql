-- Looking at runs and steps.

-- piece: run
r.id, r.kind, r.name, r.definition_id, r.version, r.state, r.params, r.config, r.output, r.error, r.idempotency_key, r.trigger,
r.actor, r.parent_run_id, r.parent_step_id, r.logical_date, r.tags, r.correlation_id, r.nodes, r.nodes_ended,
r.nodes_failed, r.reruns, r.deadline_at,
-- the mark of one that has ended is nobody's news: a process of the version before may have left it
case when r.finished_at is null then r.stalled_at end, r.created_at, r.started_at, r.finished_at

-- name: get_run
select
    -- use: run
from weft.runs as r
where r.id = %(id)s::uuid and r.org_id = %(org_id)s::uuid;

-- name: runs_by_id
select
    -- use: run
from weft.runs as r
where r.id = any(%(ids)s::uuid[]) and r.org_id = %(org_id)s;

-- Those of one definition: its own index, in the order of what the runs were for.
-- name: list_runs_of
select
    -- use: run
from weft.runs as r
where r.definition_id = %(definition_id)s::uuid
    and r.org_id = %(org_id)s::uuid
    and (r.logical_date, r.id) < (%(before_date)s::timestamptz, %(before)s::uuid)
    and (%(states)s::text[] is null or r.state = any(%(states)s::text[]))
order by r.logical_date desc, r.id desc
limit %(take)s;

-- piece: step
s.id, s.run_id, s.frame_id, s.node, s.element, s.catching, s.depth, s.state,
-- what the queue knows of it, while it is there
t.state, t.run_at > weft.now(), s.task_id, greatest(coalesce(t.attempt - t.uncounted, 0), s.attempt), s.reruns, s.parts,
s.parts_ended, s.parts_failed, s.block, s.item, s.output, s.error, s.created_at,
coalesce(s.started_at, t.started_at, t.claimed_at), s.finished_at

-- The nodes of a block, in the order they were written.
-- name: list_nodes
select
    -- use: step
from weft.steps as s
left join weft.tasks as t
    on t.id = s.task_id and s.state = 'running'
where s.run_id = %(run_id)s::uuid
    and s.frame_id = %(frame_id)s::uuid
    and s.org_id = %(org_id)s::uuid
    and s.element = -1
    and not s.catching
    and s.id > %(after)s::uuid
order by s.id
limit %(take)s;

-- Every step of a run, elements and nested blocks too.
-- name: list_steps
select
    -- use: step
from weft.steps as s
left join weft.tasks as t
    on t.id = s.task_id and s.state = 'running'
where s.run_id = %(run_id)s::uuid
    and s.org_id = %(org_id)s::uuid
    and (s.frame_id, s.node, s.element, s.catching)
        > (%(after_frame)s::uuid, %(after_node)s::text, %(after_element)s::integer, %(after_catching)s::boolean)
order by s.frame_id, s.node, s.element, s.catching
limit %(take)s;

-- name: tree_steps
select
    -- use: step
from weft.steps as s
left join weft.tasks as t
    on t.id = s.task_id and s.state = 'running'
where s.run_id = %(run_id)s::uuid and s.org_id = %(org_id)s::uuid
order by s.depth, s.catching, s.id
limit %(take)s;

-- Tasks of a run's steps, and the one of a workflow's own, that were tried before: those attempts, and how it is now.
-- name: run_attempts
select
    case when w.task_id <> %(run_id)s::uuid then w.step_id end, w.task_id, coalesce(t.attempts, h.attempts),
    coalesce(t.attempt, h.attempt), coalesce(t.state, h.state), coalesce(t.node_id, h.node_id),
    coalesce(t.started_at, t.claimed_at, h.started_at, h.claimed_at), h.finished_at
from (
    (
        select s.id as step_id, s.task_id
        from weft.steps as s
        where s.run_id = %(run_id)s::uuid and s.org_id = %(org_id)s::uuid and s.task_id is not null
        limit %(look)s
    )
    union all
    select null, %(run_id)s::uuid
) as w
left join weft.tasks as t
    on t.id = w.task_id and t.org_id = %(org_id)s::uuid
left join weft.task_history as h
    on h.id = w.task_id and h.org_id = %(org_id)s::uuid
where coalesce(t.attempts, h.attempts) is not null
limit %(take)s;

-- Tasks of a run that have ended, in that order. Advances of one run come one after another, so what ended sooner was
-- committed sooner, and nothing is passed over.
-- name: ended_steps
select
    -- use: step
from weft.steps as s
left join weft.tasks as t
    on false
where s.run_id = %(run_id)s::uuid
    and s.org_id = %(org_id)s::uuid
    and s.task_id is not null
    and (s.finished_at, s.id) > (%(after_time)s::timestamptz, %(after)s::uuid)
order by s.finished_at, s.id
limit %(take)s;

-- name: count_nodes
select s.state, count(*)
from weft.steps as s
where s.run_id = %(run_id)s::uuid and s.frame_id = %(run_id)s::uuid and s.element = -1 and not s.catching
group by s.state;

-- name: explain_run
select
    r.state, r.kind, d.max_active_runs,
    (
        select count(*)
        from weft.runs as a
        where a.definition_id = r.definition_id and a.state in ('running', 'waiting', 'paused', 'compensating', 'blocked')
    ),
    (select count(*) from weft.run_inbox as i where i.run_id = r.id),
    exists (select from weft.nodes as n where n.status = 'active' and (n.roles = '{}' or 'scheduler' = any(n.roles)))
from weft.runs as r
left join weft.definitions as d
    on d.id = r.definition_id
where r.id = %(id)s::uuid and r.org_id = %(org_id)s::uuid;

-- The task of a workflow's run, which has the run's own id; a time that never comes is none.
-- name: wake_up_of
select t.state, case when t.run_at < timestamptz '9000-01-01 00:00:00+00' then t.run_at end
from weft.tasks as t
where t.id = %(id)s::uuid;

-- What stands open: tasks in the queue, the oldest first.
-- name: open_steps
select
    s.node, s.element, s.task_id,
    (select r.id from weft.runs as r where r.config ->> 'awaited_by' = t.id::text and r.config ? 'awaited_by' limit 1)
from weft.steps as s
join weft.tasks as t
    on t.id = s.task_id
where s.run_id = %(run_id)s::uuid and s.state = 'running' and s.task_id is not null
order by s.id
limit %(take)s;

-- name: asker
select t.run_id, t.step_id, t.scheduled_for
from weft.tasks as t
where t.id = %(task_id)s::uuid;

-- The run whose end a task waits for, since when in seconds, and how long the task may take.
-- name: awaited_run
select
    r.id, r.state, r.output, r.error, extract(epoch from weft.now() - r.created_at)::double precision,
    extract(epoch from t.timeout)::double precision
from weft.runs as r
left join weft.tasks as t
    on t.id = %(task_id)s::uuid
where r.config ->> 'awaited_by' = %(task_id)s::text and r.config ? 'awaited_by'
limit 1;

-- A run's end is waited for by a task, which is told of it.
-- name: await_run
update weft.runs as r
set config = r.config || jsonb_build_object('awaited_by', %(task_id)s::text)
where r.id = %(id)s::uuid;

-- A run that goes on although the task that waited for its end is there no more: cancelled, or it took too long.
-- name: forsaken_run
select r.id, r.org_id, r.kind
from weft.runs as r
where r.config ? 'awaited_by'
    and r.finished_at is null
    and not exists (select from weft.tasks as t where t.id = (r.config ->> 'awaited_by')::uuid)
order by r.id
limit 1;

-- Nobody waits for it from here on.
-- name: forsake_run
update weft.runs as r
set config = r.config - 'awaited_by'
where r.id = %(id)s::uuid;

-- name: plan_hash_of
select r.plan_hash
from weft.runs as r
where r.id = %(id)s::uuid and r.org_id = %(org_id)s::uuid;
