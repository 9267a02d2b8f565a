-- What an advance reads and writes. Everything here happens under the lock of the run's row.

-- A run as `Held` has it.
-- piece: held_run
r.id::text, r.org_id::text, r.plan_hash, r.state, r.name, r.params, r.config, r.logical_date, r.nodes, r.nodes_ended,
r.nodes_failed, r.error, null, r.correlation_id, r.trace_parent, r.definition_id::text

-- Not those that wait to be let in or stand still: their facts stay where they are. The last but two: whether there are
-- facts that others left.
-- name: lock_runs
select
    -- use: held_run
    , exists (select from weft.run_inbox as i where i.run_id = r.id), mint.prefix, mint.low
from weft.runs as r
cross join weft.uuid7_run() as mint
where r.id = any(%(ids)s::uuid[]) and r.state not in ('created', 'paused')
order by r.id
for update of r skip locked;

-- The same, waiting for whoever has it: only for those who hold nothing else.
-- name: lock_run
select
    -- use: held_run
    , mint.prefix, mint.low
from weft.runs as r
cross join weft.uuid7_run() as mint
where r.id = %(id)s::uuid and r.org_id = %(org_id)s::uuid
for update of r;

-- A step as `Step` has it, but for its output.
-- piece: held_step
s.id::text, s.frame_id::text, s.node, s.element, s.catching, s.depth, s.state, s.waits, s.succeeded, s.failed, s.skipped,
s.decided, s.parts, s.parts_ended, s.parts_failed, s.parts_made, s.parts_started, s.block, s.params, s.item,
s.task_id::text, s.attempt, s.reruns, s.error

-- The step at each place, looked up one by one.
-- piece: at_place
cross join lateral (
    select *
    from weft.steps as e
    where e.run_id = v.run_id
        and e.frame_id = v.frame_id
        and e.node = v.node
        and e.element = v.element
        and e.catching = v.catching
    offset 0
) as s

-- Facts that others left, the oldest first.
-- name: take_facts
with fact as (
    delete from weft.run_inbox as i
    where i.id = any(array(
        select f.id
        from weft.run_inbox as f
        where f.run_id = any(%(ids)s::uuid[])
        order by f.run_id, f.id
        limit %(take)s
    ))
    returning i.*
)
select f.run_id::text, f.step_id::text, f.task_id::text, f.state, f.attempt, f.started_at, f.result, f.error
from fact as f
order by f.id;

-- Steps whose tasks have just ended, by their ids, with the blocks around them; and those that will be asked for next.
-- name: load_told
with recursive told as materialized (
    select s.*
    from unnest(%(ids)s::uuid[]) as v (id)
    cross join lateral (
        select *
        from weft.steps as e
        where e.id = v.id
        offset 0
    ) as s
),
up (id) as (
    select t.frame_id
    from told as t
    union
    select f.frame_id
    from up as u
    cross join lateral (
        select e.frame_id
        from weft.steps as e
        where e.id = u.id
        offset 0
    ) as f
)
select
    s.run_id::text,
    -- use: held_step
    , null, false
from told as s
union all
select
    s.run_id::text,
    -- use: held_step
    , null, false
from up as u
cross join lateral (
    select *
    from weft.steps as e
    where e.id = u.id
    offset 0
) as s
union all
select
    s.run_id::text,
    -- use: held_step
    , null, false
from unnest(%(runs)s::uuid[], %(frames)s::uuid[], %(nodes)s::text[], %(elements)s::integer[], %(catching)s::boolean[])
    as v (run_id, frame_id, node, element, catching)
-- use: at_place
;

-- Steps by their place.
-- name: load_steps
select
    v.run_id::text,
    -- use: held_step
    , case when v.whole then s.output end, v.whole
from unnest(
    %(runs)s::uuid[], %(frames)s::uuid[], %(nodes)s::text[], %(elements)s::integer[], %(catching)s::boolean[],
    %(whole)s::boolean[]
) as v (run_id, frame_id, node, element, catching, whole)
-- use: at_place
;

-- What the elements of a foreach came to.
-- name: load_elements
select array_agg(s.element order by s.element), jsonb_agg(s.output order by s.element)
from weft.steps as s
where s.run_id = %(run_id)s::uuid
    and s.frame_id = %(frame_id)s::uuid
    and s.node = %(node)s
    and s.element >= 0
    and not s.catching;

-- A fact that is not a task's but the step's own: a foreach has more elements to begin.
-- name: leave_for_later
insert into weft.run_inbox (run_id, org_id, step_id, task_id, state, attempt)
select v.run_id, v.org_id, v.step_id, v.step_id, 'completed', 0
from unnest(%(runs)s::uuid[], %(orgs)s::uuid[], %(steps)s::uuid[]) as v (run_id, org_id, step_id);

-- The steps that opened these blocks, and those that opened theirs.
-- name: load_frames
with recursive up as (
    select f.id, f.frame_id
    from weft.steps as f
    where f.id = any(%(ids)s::uuid[])
    union
    select f.id, f.frame_id
    from up as u
    join weft.steps as f
        on f.id = u.frame_id
)
select
    s.run_id::text,
    -- use: held_step
    , null, false
from weft.steps as s
where s.id = any(array(select u.id from up as u));

-- Everything an advance came to, of all its runs, in one statement: steps whose task has ended and of which nothing else
-- changed (most), other steps that changed, steps and tasks that are new, and the runs. A task that goes straight to the
-- worker which asks is made as if claimed, unless a limit must be counted.
-- name: write_advance
with ended as (
    update weft.steps as s
    set state = v.state,
        attempt = v.attempt,
        output = coalesce(v.output::jsonb, s.output),
        error = v.error::jsonb,
        started_at = coalesce(v.started_at, s.started_at),
        finished_at = weft.now()
    from unnest(
        %(ended_ids)s::uuid[], %(ended_states)s::text[], %(ended_attempts)s::integer[], %(ended_outputs)s::text[],
        %(ended_errors)s::text[], %(ended_started)s::timestamptz[]
    ) as v (id, state, attempt, output, error, started_at)
    where s.id = any(array[v.id])
),
changed as (
    update weft.steps as s
    set state = v.state,
        succeeded = v.succeeded,
        failed = v.failed,
        skipped = v.skipped,
        decided = v.decided,
        parts = v.parts,
        parts_ended = v.parts_ended,
        parts_failed = v.parts_failed,
        parts_made = v.parts_made,
        parts_started = v.parts_started,
        block = v.block,
        params = v.params::jsonb,
        task_id = v.task_id,
        attempt = v.attempt,
        output = case when v.whole then v.output::jsonb else s.output end,
        error = v.error::jsonb,
        started_at = coalesce(
            v.started_at, s.started_at, case when v.state <> 'pending' and v.task_id is null then weft.now() end),
        finished_at = case when v.state not in ('pending', 'running') then coalesce(s.finished_at, weft.now()) end
    from unnest(
        %(changed_ids)s::uuid[], %(changed_states)s::text[], %(changed_succeeded)s::integer[], %(changed_failed)s::integer[],
        %(changed_skipped)s::integer[], %(changed_decided)s::boolean[], %(changed_parts)s::integer[],
        %(changed_parts_ended)s::integer[], %(changed_parts_failed)s::integer[], %(changed_parts_made)s::integer[],
        %(changed_parts_started)s::integer[], %(changed_blocks)s::text[], %(changed_params)s::text[],
        %(changed_tasks)s::uuid[], %(changed_attempts)s::integer[], %(changed_outputs)s::text[], %(changed_errors)s::text[],
        %(changed_started)s::timestamptz[], %(changed_whole)s::boolean[]
    ) as v (
        id, state, succeeded, failed, skipped, decided, parts, parts_ended, parts_failed, parts_made, parts_started, block,
        params, task_id, attempt, output, error, started_at, whole)
    where s.id = any(array[v.id])
),
-- most: those that have not opened anything, and wait for others or for their task. What many of them have in common is
-- said once: each column of a thousand rows is a millisecond. A full join, because only that is always done by hashing.
begun as (
    insert into weft.steps (id, run_id, org_id, frame_id, node, element, depth, state, waits, decided, item, task_id)
    select
        v.id, f.run_id, f.org_id, f.frame_id, v.node, v.element, f.depth, f.state, f.waits, f.decided, v.item::jsonb, v.task_id
    from unnest(
        %(begun_ids)s::uuid[], %(begun_frames)s::bigint[], %(begun_nodes)s::text[], %(begun_elements)s::integer[],
        %(begun_items)s::text[], %(begun_tasks)s::uuid[]
    ) as v (id, frame, node, element, item, task_id)
    full join unnest(
        %(frame_runs)s::uuid[], %(frame_orgs)s::uuid[], %(frame_ids)s::uuid[], %(frame_depths)s::integer[],
        %(frame_states)s::text[], %(frame_waits)s::integer[], %(frame_decided)s::boolean[]
    ) with ordinality as f (run_id, org_id, frame_id, depth, state, waits, decided, number)
        on f.number = v.frame
    where coalesce(v.frame, 0) > 0
),
made as (
    insert into weft.steps (
        id, run_id, org_id, frame_id, node, element, catching, depth, state, waits, succeeded, failed, skipped, decided,
        parts, parts_ended, parts_failed, parts_made, parts_started, block, params, item, task_id, output, error,
        started_at, finished_at)
    select
        v.id, v.run_id, v.org_id, v.frame_id, v.node, v.element, v.catching, v.depth, v.state, v.waits, v.succeeded,
        v.failed, v.skipped, v.decided, v.parts, v.parts_ended, v.parts_failed, v.parts_made, v.parts_started, v.block,
        v.params::jsonb, v.item::jsonb, v.task_id, v.output::jsonb, v.error::jsonb,
        case when v.state <> 'pending' and v.task_id is null then weft.now() end,
        case when v.state not in ('pending', 'running') then weft.now() end
    from unnest(
        %(made_ids)s::uuid[], %(made_runs)s::uuid[], %(made_orgs)s::uuid[], %(made_frames)s::uuid[], %(made_nodes)s::text[],
        %(made_elements)s::integer[], %(made_catching)s::boolean[], %(made_depths)s::integer[], %(made_states)s::text[],
        %(made_waits)s::integer[], %(made_succeeded)s::integer[], %(made_failed)s::integer[], %(made_skipped)s::integer[],
        %(made_decided)s::boolean[], %(made_parts)s::integer[], %(made_parts_ended)s::integer[],
        %(made_parts_failed)s::integer[], %(made_parts_made)s::integer[], %(made_parts_started)s::integer[],
        %(made_blocks)s::text[], %(made_params)s::text[], %(made_items)s::text[], %(made_tasks)s::uuid[],
        %(made_outputs)s::text[], %(made_errors)s::text[]
    ) as v (
        id, run_id, org_id, frame_id, node, element, catching, depth, state, waits, succeeded, failed, skipped, decided,
        parts, parts_ended, parts_failed, parts_made, parts_started, block, params, item, task_id, output, error)
),
-- what tasks have in common: where they go, and whether who asks may have them at once
shape as materialized (
    select
        v.*,
        case when v.pool is not null then coalesce((
            select q.max_running
            from weft.queues as q
            where q.org_id = v.org_id and q.name = 'pool:' || v.pool
        ), 1) end as slots,
        v.pool is null
        and not exists (
            select
            from weft.queues as q
            where q.name = v.queue
                and q.org_id in (v.org_id, '00000000-0000-0000-0000-000000000000')
                and (q.paused or q.max_running is not null or q.rate_limit is not null)
        )
        and not exists (
            select
            from weft.orgs as o
            where o.id = v.org_id and (o.max_concurrent is not null or o.suspended_at is not null)
        ) as free
    from unnest(
        %(shape_orgs)s::uuid[], %(shape_runs)s::uuid[], %(shape_kinds)s::text[], %(shape_queues)s::text[],
        %(shape_lanes)s::text[], %(shape_urgencies)s::integer[], %(shape_attempts)s::integer[], %(shape_retries)s::text[],
        %(shape_timeouts)s::double precision[], %(shape_tags)s::text[], %(shape_pools)s::text[],
        %(shape_correlations)s::text[], %(shape_traces)s::text[]
    ) with ordinality as v (
        org_id, run_id, kind, queue, lane, urgency, max_attempts, retry, timeout, tags, pool, correlation_id, trace_parent,
        number)
),
task as (
    insert into weft.tasks (
        id, org_id, kind, queue, lane, payload, state, plain, urgency, max_attempts, concurrency, concurrency_key, tags,
        retry, timeout, run_id, step_id, correlation_id, trace_parent, attempt, node_id, lease_token, claimed_at)
    select
        v.id, w.org_id, w.kind, w.queue, w.lane, v.payload::jsonb, case when v.handed and w.free then 'running' else 'ready' end,
        w.pool is null, w.urgency, w.max_attempts, w.slots, 'pool:' || w.pool, w.tags::text[], w.retry::jsonb,
        w.timeout * interval '1 second', w.run_id, v.step_id, w.correlation_id, w.trace_parent,
        case when v.handed and w.free then 1 else 0 end, case when v.handed and w.free then %(node_id)s::uuid end,
        case when v.handed and w.free then %(token)s::uuid end, case when v.handed and w.free then weft.now() end
    from unnest(
        %(task_ids)s::uuid[], %(task_steps)s::uuid[], %(task_payloads)s::text[], %(task_shapes)s::bigint[],
        %(task_handed)s::boolean[]
    ) as v (id, step_id, payload, shape, handed)
    full join shape as w
        on w.number = v.shape
    where coalesce(v.shape, 0) > 0
    returning id, org_id, queue, lane, state, run_at
),
run as (
    update weft.runs as r
    set state = v.state,
        nodes = v.nodes,
        nodes_ended = v.nodes_ended,
        nodes_failed = v.nodes_failed,
        error = v.error::jsonb,
        output = v.output::jsonb,
        started_at = coalesce(r.started_at, weft.now()),
        finished_at = case when v.ended then weft.now() end,
        stalled_at = null
    from unnest(
        %(run_ids)s::uuid[], %(run_states)s::text[], %(run_nodes)s::integer[], %(run_nodes_ended)s::integer[],
        %(run_nodes_failed)s::integer[], %(run_errors)s::text[], %(run_outputs)s::text[], %(run_ended)s::boolean[]
    ) as v (id, state, nodes, nodes_ended, nodes_failed, error, output, ended)
    where r.id = any(array[v.id])
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select 'tasks', 'INSERT', case when count(*) <= 100 then array_agg(t.id) end
    from task as t
    having count(*) > 0
    union all
    select 'runs', 'UPDATE', %(run_ids)s::uuid[]
    where cardinality(%(run_ids)s::uuid[]) > 0
    union all
    select 'steps', s.op, case when cardinality(s.ids) <= 100 then s.ids end
    from (
        values
            ('INSERT', %(begun_ids)s::uuid[] || %(made_ids)s::uuid[]),
            ('UPDATE', %(ended_ids)s::uuid[] || %(changed_ids)s::uuid[])
    ) as s (op, ids)
    where cardinality(s.ids) > 0
)
select
    (select array_agg(t.id::text) from task as t where t.state = 'running'),
    (select min(t.run_at) from task as t),
    (
        select array_agg(distinct r.definition_id::text)
        from weft.runs as r
        where r.state = 'created' and r.definition_id = any(%(definitions)s::uuid[])
    ),
    (
        select count(pg_notify('weft_wake', w.org_id || ' ' || w.lane))
        from (select distinct t.org_id, t.lane, t.queue from task as t where t.state = 'ready') as w
        where exists (
            select
            from weft.nodes as n
            where n.asleep and n.status = 'active' and (n.queues = '{}' or w.queue = any(n.queues))
        )
    );
