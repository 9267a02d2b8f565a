-- Looking at runs and steps.

-- piece: run
r.id, r.kind, r.name, r.definition_id, r.version, r.state, r.params, r.config, r.output, r.error, r.idempotency_key, r.trigger,
r.actor, r.parent_run_id, r.parent_step_id, r.logical_date, r.tags, r.correlation_id, r.nodes, r.nodes_ended,
r.nodes_failed, r.reruns, r.deadline_at, r.created_at, r.started_at, r.finished_at

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
select s.node, s.element, s.state, s.task_id, t.state
from weft.steps as s
left join weft.tasks as t
    on t.id = s.task_id
where s.run_id = %(run_id)s::uuid and s.state = 'running' and s.task_id is not null
order by s.id
limit %(take)s;

-- name: asker
select t.run_id, t.step_id, t.job_id, t.scheduled_for
from weft.tasks as t
where t.id = %(task_id)s::uuid;

-- Whether nothing can ever happen in a run any more: it runs, yet none of its tasks is open and nothing was told. In one
-- statement, so that an advance which commits meanwhile is seen wholly or not at all.
-- name: is_stuck
select
    r.state = 'running'
    and r.kind <> 'workflow'
    and not exists (select from weft.tasks as t where t.run_id = r.id)
    and not exists (select from weft.run_inbox as i where i.run_id = r.id)
from weft.runs as r
where r.id = %(id)s::uuid and r.org_id = %(org_id)s::uuid;

-- name: plan_hash_of
select r.plan_hash
from weft.runs as r
where r.id = %(id)s::uuid and r.org_id = %(org_id)s::uuid;
