-- What the DAOs read: seed 000's collections, by ids that indexes know.

-- piece: flow
f.uuid, f.name, f.namespaces, f.facets, f.workflows, f.mixins, f.blocks, f.statements, f.arguments, f."references",
f.script_code, f.file_artifacts, f.jar_artifacts, f.resources, f.text_sources, f.inline, f.classification, f.publisher,
f.ownership, f.compiled_sources

-- name: flow
select
    -- use: flow
from afl.flows as f
where f.id = (
        select n.id
        from (
            select d.id
            from weft.definitions as d
            where d.org_id = %(org_id)s::uuid and d.kind = 'flow' and d.status <> 'deleted'
                and (d.id = %(id)s::uuid or d.name = %(name)s)
            union all
            select d.id
            from weft.flow_versions as v
            join weft.definitions as d
                on d.id = v.definition_id and d.version = v.version and d.kind = 'flow' and d.status <> 'deleted'
            where v.org_id = %(org_id)s::uuid and v.path = %(path)s and v.path <> ''
        ) as n
        order by n.id desc
        limit 1
    );

-- Files of a flow that are there to be used by its others.
-- name: libraries_of
select s.value ->> 'name'
from weft.definitions as d
join weft.flow_versions as v
    on v.definition_id = d.id and v.version = d.version
cross join lateral jsonb_array_elements(v.sources) as s
where d.org_id = %(org_id)s::uuid and d.kind = 'flow' and d.status <> 'deleted' and d.name = %(name)s
    and (s.value ->> 'library')::boolean;

-- piece: workflow
w.uuid, w.name, w.namespace_id, w.facet_id, w.flow_id, w.starting_step, w.version, w.metadata, w.documentation, w.date

-- name: workflows
select
    -- use: workflow
from afl.workflows as w
where w.uuid = %(uuid)s or w.flow_id = %(flow)s or w.name = %(name)s or w.starting_step = %(name)s
order by w.starting_step <> coalesce(%(name)s, ''), w.flow_id desc, w.starting_step;

-- piece: runner
r.uuid, r.workflow_id, r.workflow, r.parameters, r.step_id, r."user", r.start_time, r.end_time, r.duration, r.retain, r.state

-- name: runner
select
    -- use: runner
from afl.runners as r
where r.id = %(id)s::uuid;

-- name: runners_of
select
    -- use: runner
from afl.runners as r
where r.id = any(array(
        select n.id
        from weft.flow_workflows as w
        join weft.runs as n
            on n.definition_id = w.definition_id and n.version = w.version and n.name = w.name
        where w.id = %(workflow)s::uuid and n.kind = 'flow'
        order by n.id desc
        limit %(most)s
    ))
order by r.id desc;

-- name: runners_in
select
    -- use: runner
from afl.runners as r
where r.id = any(array(
        select n.id
        from weft.runs as n
        where n.kind = 'flow' and n.state = any(%(states)s::text[])
        order by n.id desc
        limit %(most)s
    ))
order by r.id desc;

-- piece: step
s.uuid, s.object_type, s.runner_id, s.workflow_id, s.statement_id, s.container_type, s.container_id, s.root_id, s.block_id,
s.timestamp, s.facets, s.flow_definition_id, s.flow_definition_json, s.extra_data, s.lock_status, s.is_starting_step,
s.parameters, s.state, s.error

-- name: step
select
    -- use: step
from afl.steps as s
where s.id = %(id)s::uuid;

-- name: steps
select
    -- use: step
from afl.steps as s
where s.run_id = %(run)s::uuid
    and (%(state)s::text is null or s.state = %(state)s)
    and (%(container)s::text is null or s.container_id = %(container)s)
order by s.id;

-- name: run_of_step
select s.run_id
from weft.steps as s
where s.id = %(id)s::uuid and s.org_id = %(org_id)s::uuid;

-- piece: event
e.uuid, e.partition_key, e.correlation_id, e.purpose, e.runner_id, e.topic, e.handler, e.state, e.step_id, e.created,
e.updated, e.event_data, e.error, e.cursor

-- name: events
select
    -- use: event
from afl.events as e
where e.run_id = %(run)s::uuid
    and (%(id)s::uuid is null or e.id = %(id)s::uuid)
    and (%(step)s::text is null or e.step_id = %(step)s)
order by e.id;

-- name: run_of_task
select t.run_id
from weft.tasks as t
where t.id = %(id)s::uuid and t.org_id = %(org_id)s::uuid
union all
select h.run_id
from weft.task_history as h
where h.id = %(id)s::uuid and h.org_id = %(org_id)s::uuid;

-- Of the runs that have work in this queue.
-- name: pending_events
select
    -- use: event
from afl.events as e
join (
    select t.id, t.run_id
    from weft.tasks as t
    where t.queue = %(queue)s and t.org_id = %(org_id)s::uuid and t.state <> 'running' and t.step_id is not null
    order by t.id
    limit %(most)s
) as p
    on p.run_id = e.run_id and p.id = e.id
order by e.id;

-- piece: task
t.uuid, t.name, t.runner_id, t.workflow_id, t.flow_id, t.step_id, t.state, t.created, t.updated, t.error, t.task_list_name,
t.data_type, t.data

-- name: task
select
    -- use: task
from afl.tasks as t
where t.id = %(id)s::uuid;

-- name: pending_tasks
select
    -- use: task
from afl.tasks as t
where t.id = any(array(
        select w.id
        from weft.tasks as w
        where w.queue = %(queue)s and w.org_id = %(org_id)s::uuid and w.state <> 'running'
        order by w.id
        limit %(most)s
    ))
order by t.id;

-- name: unfinished_of_step
select exists (
    select
    from weft.tasks as t
    where t.org_id = %(org_id)s::uuid and t.step_id = %(step_id)s::uuid
), pg_advisory_xact_lock(hashtextextended(%(step_id)s::text, 0));

-- Somebody who is no worker takes a task that waits: with a lease of its own, as one over HTTP would.
-- name: take_task
with taken as (
    update weft.tasks as t
    set state = 'running',
        attempt = t.attempt + 1,
        claimed_at = weft.now(),
        started_at = weft.now(),
        lease_token = %(token)s::uuid,
        lease_until = weft.now() + %(lease)s
    where t.id = %(id)s::uuid and t.org_id = %(org_id)s::uuid and t.state <> 'running' and t.cancel_requested_at is null
    returning t.id
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select 'tasks', 'UPDATE', array[k.id]
    from taken as k
)
select k.id
from taken as k;

-- Whoever held it does not any more.
-- name: fence_task
update weft.tasks as t
set lease_token = %(token)s::uuid
where t.id = %(id)s::uuid and t.org_id = %(org_id)s::uuid and t.state = 'running'
returning t.id;

-- piece: log
l.uuid, l."order", l.runner_id, l.step_id, l.object_id, l.object_type, l.note_originator, l.note_type, l.note_importance,
l.message, l.state, l.line, l.file, l.details, l.time

-- name: logs
select
    -- use: log
from afl.logs as l
where l.run_id = %(run)s::uuid
order by l."order";

-- name: save_log
insert into weft.run_logs (
    id, org_id, run_id, step_id, object_id, object_type, note_originator, note_type, note_importance, message, state, line,
    file, details, at)
values (
    coalesce(%(id)s::uuid, weft.uuid7()), %(org_id)s::uuid, %(run_id)s::uuid, %(step_id)s::uuid, %(object_id)s,
    %(object_type)s, %(note_originator)s, %(note_type)s, %(note_importance)s, %(message)s, %(state)s, %(line)s, %(file)s,
    %(details)s::jsonb, coalesce(to_timestamp(%(time)s::bigint / 1000.0), weft.now()))
on conflict (id) do update
set message = excluded.message,
    state = excluded.state,
    details = excluded.details
where run_logs.org_id = excluded.org_id
returning id::text, afl.milliseconds(at);

-- piece: server
s.uuid, s.server_group, s.service_name, s.server_name, s.server_ips, s.start_time, s.ping_time, s.topics, s.handlers,
s.handled, s.state, s.manager, s.error

-- name: servers
select
    -- use: server
from afl.servers as s
where (%(uuid)s::text is null or s.uuid = %(uuid)s) and (%(state)s::text is null or s.state = %(state)s)
order by s.start_time, s.uuid;

-- name: describe_server
update weft.nodes as n
set server = %(server)s::jsonb,
    status = coalesce(%(status)s, n.status),
    handled = coalesce(%(handled)s::jsonb, n.handled),
    error = %(error)s::jsonb
where n.id = %(id)s::uuid and n.org_id = %(org_id)s::uuid;

-- The clock is the database's: a time that was said can only be earlier than now.
-- name: ping_server
update weft.nodes as n
set beat_at = least(to_timestamp(%(time)s::bigint / 1000.0), weft.now()),
    status = case n.status when 'draining' then n.status else 'active' end
where n.id = %(id)s::uuid and n.org_id = %(org_id)s::uuid;

-- name: keep_run
update weft.runs as r
set retention = case when %(retain)s::bigint > 0 then %(retain)s::bigint * interval '1 millisecond' end
where r.id = %(id)s::uuid and r.org_id = %(org_id)s::uuid;

-- name: document_workflow
update weft.flow_workflows as w
set documentation = %(documentation)s
where w.id = %(id)s::uuid and w.org_id = %(org_id)s::uuid;

-- What a flow says of itself besides its program.
-- name: describe_flow
update weft.flow_versions as f
set lists = f.lists || %(said)s::jsonb,
    path = %(path)s
where f.definition_id = %(id)s::uuid and f.version = %(version)s;
