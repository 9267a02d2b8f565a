-- Durable workflows: their runs, checkpoints and messages.

-- name: declare_workflows
insert into weft.workflows as w (name, version, queue, priority, signals, arguments, declared_at)
select
    v.name, v.version, v.queue, v.priority, v.signals::text[], v.arguments,
    -- of an app's versions the one it declares last is the newest
    weft.now() + v.place * interval '1 microsecond'
from unnest(
    %(names)s::text[], %(versions)s::text[], %(queues)s::text[], %(priorities)s::integer[], %(signals)s::text[],
    %(arguments)s::json[]
) with ordinality as v (name, version, queue, priority, signals, arguments, place)
-- two apps that declare the same at once lock them in the same order
order by v.name, v.version
on conflict (name, version) do update
set queue = excluded.queue,
    priority = excluded.priority,
    signals = excluded.signals,
    arguments = excluded.arguments,
    declared_at = excluded.declared_at;

-- name: start_workflow
select s.id, s.created
from weft.start_workflow(
    name => %(name)s::text, arguments => %(arguments)s::jsonb, version => %(version)s::text, key => %(key)s::text,
    org => %(org)s::uuid, queue => %(queue)s::text, priority => %(priority)s::integer, parent => %(parent)s::uuid,
    place => %(place)s::text, correlation_id => %(correlation_id)s::text, trace_parent => %(trace_parent)s::text
) as s;

-- Many of one workflow, in one statement.
-- name: start_workflows
with code as (
    select w.name, w.version, w.queue, w.priority
    from weft.workflows as w
    where w.name = %(name)s::text and w.version = %(version)s::text
),
run as (
    insert into weft.runs (org_id, kind, name, version, state, params)
    select %(org)s::uuid, 'workflow', c.name, c.version, 'running', a.value
    from code as c
    cross join jsonb_array_elements(%(arguments)s::jsonb) as a
    returning id, params
),
task as (
    insert into weft.tasks (id, org_id, kind, queue, lane, payload, urgency)
    select r.id, %(org)s::uuid, 'workflow:' || c.name || ':' || c.version, c.queue, c.queue, r.params, 100 - c.priority
    from run as r
    cross join code as c
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    -- a run and its task have one id
    select k.table_name, 'INSERT', case when count(*) <= 100 then array_agg(r.id) end
    from run as r
    cross join (values ('runs'), ('tasks')) as k (table_name)
    group by k.table_name
),
woken as (
    select weft.wake(%(org)s::uuid, c.queue)
    from code as c
)
select r.id, (select count(*) from woken)
from run as r;

-- What time it is, and the database's era, which is another one once it was restarted or restored from a backup.
-- name: tell_time
select weft.now(), extract(epoch from pg_postmaster_start_time())::text || ' ' || 'weft.runs'::regclass::oid;

-- What a worker needs to go on with runs it was woken for; nothing of those that are over. A run's life is the database's
-- era, and how often the run was begun again: within one, what is in its history stays as it is.
-- name: load_workflows
select
    r.id::text, r.state, r.params::text, r.created_at, r.error, r.patches, weft.now(),
    extract(epoch from pg_postmaster_start_time())::text || ' ' || 'weft.runs'::regclass::oid || ' ' || r.reruns, r.config
from weft.runs as r
where r.id = any(%(ids)s::uuid[]) and (%(over)s::boolean or r.finished_at is null);

-- Histories, each from behind a number that the caller knows up to.
-- name: load_checkpoints
select
    s.run_id::text, s.number, s.node, s.operation, s.state, s.output::text, s.error, s.finished_at, s.attempt, s.params::text
from unnest(%(ids)s::uuid[], %(known)s::integer[]) as v (id, known)
join weft.steps as s
    on s.run_id = any(array[v.id])
where s.operation is not null and (s.number > v.known or s.state = 'pending')
order by s.run_id, s.number;

-- Checkpoints as rows, of runs that are `held`; a step that waited for its next attempt is there already. When each was is
-- what the code was told: it must be told the same when it is run again. When it began is only for those who look.
-- piece: kept
kept as (
    insert into weft.steps as s (
        id, run_id, org_id, frame_id, node, operation, number, state, attempt, params, output, error, started_at, finished_at)
    select
        weft.uuid7(), v.run_id, h.org_id, v.run_id, v.node, v.operation, v.number, v.state, v.attempt, v.params::jsonb,
        v.output::jsonb, v.error::jsonb, least(v.began, v.at), case when v.state <> 'pending' then v.at end
    from unnest(
        %(step_runs)s::uuid[], %(step_nodes)s::text[], %(step_operations)s::text[], %(step_numbers)s::integer[],
        %(step_states)s::text[], %(step_attempts)s::integer[], %(step_params)s::text[], %(step_outputs)s::text[],
        %(step_errors)s::text[], %(step_times)s::timestamptz[], %(step_began)s::timestamptz[]
    ) as v (run_id, node, operation, number, state, attempt, params, output, error, at, began)
    join held as h
        on h.id = v.run_id
    on conflict (run_id, frame_id, node, element, catching) do update
    set number = excluded.number,
        state = excluded.state,
        attempt = excluded.attempt,
        params = excluded.params,
        output = excluded.output,
        error = excluded.error,
        finished_at = excluded.finished_at
    where s.state = 'pending'
    returning s.id, s.xmax = 0 as is_new
),
undone as (
    update weft.steps as s
    set state = 'compensated'
    from unnest(%(undone_runs)s::uuid[], %(undone_nodes)s::text[]) as v (run_id, node)
    join held as h
        on h.id = v.run_id
    where s.run_id = v.run_id and s.frame_id = v.run_id and s.node = v.node and s.element = -1 and not s.catching
    returning s.id
),
heard as (
    delete from weft.messages as m
    using unnest(%(message_ids)s::bigint[], %(message_runs)s::uuid[]) as v (id, run_id), held as h
    where m.id = any(array[v.id]) and h.id = v.run_id
),
answered as (
    insert into weft.answers (message_id, run_id, org_id, value, refused)
    select v.message_id, v.run_id, h.org_id, v.value::jsonb, v.refused
    from unnest(%(answer_messages)s::bigint[], %(answer_runs)s::uuid[], %(answer_values)s::text[], %(answer_refusals)s::text[])
        as v (message_id, run_id, value, refused)
    join held as h
        on h.id = v.run_id
    on conflict (message_id) do nothing
),
told as (
    update weft.runs as r
    set published = coalesce(v.published::jsonb, r.published),
        patches = case when v.patches is null then r.patches else v.patches::text[] end,
        state = coalesce(v.state, r.state),
        error = coalesce(v.error::jsonb, r.error),
        started_at = coalesce(r.started_at, weft.now())
    from unnest(
        %(told_runs)s::uuid[], %(told_published)s::text[], %(told_patches)s::text[], %(told_states)s::text[],
        %(told_errors)s::text[]
    ) as v (run_id, published, patches, state, error)
    join held as h
        on h.id = v.run_id
    where r.id = any(array[v.run_id])
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select 'runs', 'UPDATE', case when count(*) <= 100 then array_agg(h.id) end
    from held as h
    having count(*) > 0
    union all
    select 'steps', c.op, case when count(*) <= 100 then array_agg(c.id) end
    from (
        select k.id, case when k.is_new then 'INSERT' else 'UPDATE' end
        from kept as k
        union all
        select u.id, 'UPDATE'
        from undone as u
    ) as c (id, op)
    group by c.op
)

-- Checkpoints of many runs in one commit, each fenced by the lease of its run's task: the row is locked against rescue
-- until we commit. Answers whose lease it still was, and the time.
-- name: keep
with held as materialized (
    select t.id, t.org_id
    from unnest(%(ids)s::uuid[], %(tokens)s::uuid[]) as f (id, token)
    join weft.tasks as t
        on t.id = any(array[f.id])
    where t.lease_token = f.token
    for share of t
),
-- use: kept
select weft.now(), array(select h.id::text from held as h);

-- name: hold_workflow
select t.id
from weft.tasks as t
where t.id = %(id)s::uuid and t.lease_token = %(token)s::uuid
for update;

-- name: checkpoint_number
select s.number
from weft.steps as s
where s.run_id = %(run)s::uuid and s.frame_id = %(run)s::uuid and s.node = %(node)s and s.element = -1 and not s.catching
    and s.state <> 'pending';

-- The same for runs whose task has just been ended or parked in this transaction, with what became of the run.
-- name: write_workflows
with held as materialized (
    select v.id, r.org_id, v.state, v.output, v.error, v.ended, r.parent_run_id, r.config ->> 'place' as place
    from unnest(
        %(ids)s::uuid[], %(states)s::text[], %(outputs)s::text[], %(errors)s::text[], %(ended)s::boolean[]
    ) as v (id, state, output, error, ended)
    join weft.runs as r
        on r.id = any(array[v.id])
),
-- use: kept
,
run as (
    update weft.runs as r
    set state = h.state,
        output = h.output::jsonb,
        error = h.error::jsonb,
        published = coalesce(p.published::jsonb, r.published),
        patches = coalesce(p.patches::text[], r.patches),
        started_at = coalesce(r.started_at, weft.now()),
        finished_at = case when h.ended then weft.now() end,
        stalled_at = null
    from held as h
    left join unnest(%(run_published_ids)s::uuid[], %(run_published)s::text[], %(run_patches)s::text[]) as p (id, published, patches)
        on p.id = h.id
    where r.id = any(array[h.id])
),
forgotten as (
    delete from weft.messages as m
    using held as h
    where h.ended and m.run_id = h.id
),
sent as (
    insert into weft.messages (run_id, org_id, kind, name, value, error)
    select
        h.parent_run_id, h.org_id, 'child', h.id::text, h.output::jsonb,
        case when h.state <> 'completed' then
            coalesce(h.error::jsonb, '{}') || jsonb_build_object('state', h.state)
        end
    from held as h
    where h.ended and h.place is not null and h.parent_run_id is not null
    returning run_id
)
select array(select distinct s.run_id::text from sent as s);

-- A run waits: its task sleeps until a time, or until it is told something, or stands still.
-- name: park
with changed as (
    update weft.tasks as t
    set state = case
            when v.hold or t.cancel_requested_at is not null then 'blocked'
            when t.told or v.due <= weft.now() then 'ready'
            else 'scheduled'
        end,
        run_at = case when t.told then weft.now() else coalesce(v.due, timestamptz '9000-01-01 00:00:00+00') end,
        told = false,
        plain = t.concurrency_key is null,
        limited = false,
        uncounted = t.uncounted + 1,
        losses = 0,
        payload = coalesce(v.payload::jsonb, t.payload),
        node_id = null,
        lease_token = null,
        lease_until = null,
        claimed_at = null,
        started_at = null,
        progress = null,
        progress_message = null
    from unnest(%(ids)s::uuid[], %(tokens)s::uuid[], %(dues)s::timestamptz[], %(holds)s::boolean[], %(payloads)s::text[])
        as v (id, token, due, hold, payload)
    where t.id = any(array[v.id]) and t.lease_token = v.token
    returning t.id, t.state, t.queue
),
feed as (
    -- use: tell_tasks
)
select c.id::text, c.state, c.queue
from changed as c;

-- What runs do just now. It is on their tasks, for it is gone with whoever holds them. Those that are being written are left
-- for the next look: whoever writes them locks many in an order of its own.
-- name: show_workflows
with free as materialized (
    select t.id, v.doing
    from unnest(%(ids)s::uuid[], %(tokens)s::uuid[], %(doing)s::text[]) as v (id, token, doing)
    join weft.tasks as t
        on t.id = any(array[v.id])
    where t.lease_token = v.token
    for no key update of t skip locked
),
changed as (
    update weft.tasks as t
    set progress_message = nullif(f.doing, '')
    from free as f
    where t.id = any(array[f.id])
    returning t.id
),
feed as (
    -- use: tell_tasks
)
select c.id::text
from changed as c;

-- Nobody holds a run's past against it once it has got further.
-- name: forgive
with changed as (
    update weft.tasks as t
    set losses = 0
    where t.id = any(%(ids)s::uuid[]) and t.losses > 0
    returning t.id
)
-- use: tell_tasks

-- A run begins again with other arguments: what it did before is not looked at any more.
-- name: forget_steps
with changed as (
    delete from weft.steps as s
    where s.run_id = any(%(ids)s::uuid[]) and s.operation is not null
    returning s.id
)
-- use: tell_steps_gone

-- name: renew_runs
update weft.runs as r
set params = v.params::jsonb,
    reruns = r.reruns + 1,
    created_at = weft.now(),
    patches = null,
    config = (r.config - 'dice') || jsonb_build_object('life', coalesce((r.config ->> 'life')::integer, 0) + 1)
from unnest(%(ids)s::uuid[], %(params)s::text[]) as v (id, params)
where r.id = any(array[v.id]);

-- name: next_workflow_due
select t.run_at
from weft.tasks as t
where t.state = 'scheduled' and t.kind like 'workflow:%%'
order by t.run_at
limit 1;
