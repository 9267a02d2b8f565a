-- How attempts leave `running`. Every statement is fenced by (task, lease token); a token belongs to one attempt.
-- Rows are addressed by primary key and token only: an extra guard on the state flipped the plan. `= any(array[…])`
-- says the same as `=` but leaves no other plan than to look each id up: planned while the table was nearly empty, a
-- plain join walks the whole table, and goes on doing so when it has filled up.

-- What was deleted from the hot table goes into history; its run, if it has one, is told; and the feed hears of it. The
-- statements close what these open.
-- piece: gone
gone as (
    delete from weft.tasks as t
    using unnest(
        %(ids)s::uuid[], %(tokens)s::uuid[], %(states)s::text[], %(reasons)s::text[], %(results)s::text[],
        %(errors)s::text[], %(started)s::double precision[]
    ) as v (id, token, state, reason, result, error, started)
    where t.id = any(array[v.id]) and t.lease_token = v.token
    returning
        t.*, coalesce(v.state, 'completed') as new_state, v.reason as new_reason, v.result as new_result, v.error as new_error,
        v.started as new_started
),

-- piece: kept
kept as (
    insert into weft.task_history (
        id, org_id, kind, queue, lane, payload, state, reason, urgency, attempt, uncounted, losses, max_attempts,
        created_at, run_at, claimed_at, started_at, finished_at, node_id, lease_token, concurrency, concurrency_key,
        dedupe_key, tags, retry, timeout, heartbeat_timeout, job_id, run_id, step_id, parent_id, scheduled_for,
        correlation_id, trace_parent, progress, progress_message, attempts, error, result)
    select
        g.id, g.org_id, g.kind, g.queue, g.lane, g.payload, g.new_state, g.new_reason, g.urgency, g.attempt,
        g.uncounted, g.losses + (g.new_reason is not distinct from 'lost')::integer, g.max_attempts, g.created_at,
        g.run_at, g.claimed_at,
        -- counted from before the claim was sent, which a slow network may put after the end
        coalesce(
            g.started_at,
            case when g.new_started is not null then least(g.claimed_at + g.new_started * interval '1 second', weft.now()) end),
        weft.now(),
        g.node_id, g.lease_token, g.concurrency, g.concurrency_key, g.dedupe_key, g.tags, g.retry, g.timeout,
        g.heartbeat_timeout, g.job_id, g.run_id, g.step_id, g.parent_id, g.scheduled_for, g.correlation_id,
        g.trace_parent, g.progress, g.progress_message, g.attempts,
        case when g.new_state <> 'completed' then coalesce(g.new_error::jsonb, g.error) end, g.new_result::jsonb
    from gone as g

-- piece: told
told as (
    insert into weft.run_inbox (run_id, org_id, step_id, task_id, state, attempt, started_at, result, error)
    select
        g.run_id, g.org_id, g.step_id, g.id, g.new_state, g.attempt - g.uncounted,
        coalesce(
            g.started_at,
            case when g.new_started is not null then least(g.claimed_at + g.new_started * interval '1 second', weft.now()) end),
        g.new_result::jsonb, case when g.new_state <> 'completed' then coalesce(g.new_error::jsonb, g.error) end
    from gone as g
    where g.run_id is not null

-- piece: feed
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select 'tasks', 'UPDATE', case when count(*) <= 100 then (select array_agg(f.id) from gone as f) end
    from gone as g
    having count(*) > 0
)

-- The one way out of the hot table: delete there, insert into history, one feed row, all or nothing per task.
-- name: finish
with
-- use: gone
-- use: kept
),
-- use: told
    returning run_id
),
-- use: feed
-- the ids only if some are missing: that all went well is one number
select
    count(*), case when count(*) < %(expected)s then (select array_agg(f.id::text) from gone as f) end,
    (select array_agg(distinct t.run_id::text) from told as t)
from gone as g;

-- The common case: all of them succeeded, and no run is told. A seventh of the cost of `finish` is saved by one walk along
-- the primary key instead of one for each, and by not asking of each how it ended. The full join can only be done by hashing:
-- as a plain one it was planned as a loop in a loop, a million comparisons for a thousand tasks, where the statistics had been
-- taken with one row in the table.
-- piece: completed
kept as (
    insert into weft.task_history (
        id, org_id, kind, queue, lane, payload, state, urgency, attempt, uncounted, losses, max_attempts, created_at, run_at,
        claimed_at, started_at, finished_at, node_id, lease_token, concurrency, concurrency_key, dedupe_key, tags, retry,
        timeout, heartbeat_timeout, job_id, step_id, parent_id, scheduled_for, correlation_id, trace_parent, progress,
        progress_message, attempts, result)
    select
        g.id, g.org_id, g.kind, g.queue, g.lane, g.payload, 'completed', g.urgency, g.attempt, g.uncounted, g.losses,
        g.max_attempts, g.created_at, g.run_at, g.claimed_at,
        -- as in `kept`
        coalesce(
            g.started_at,
            case when v.started is not null then least(g.claimed_at + v.started * interval '1 second', weft.now()) end),
        weft.now(), g.node_id, g.lease_token, g.concurrency, g.concurrency_key, g.dedupe_key, g.tags, g.retry, g.timeout, g.heartbeat_timeout,
        g.job_id, g.step_id, g.parent_id, g.scheduled_for, g.correlation_id, g.trace_parent, g.progress, g.progress_message,
        g.attempts, v.result::jsonb
    from gone as g
    full join unnest(%(ids)s::uuid[], %(results)s::text[], %(started)s::double precision[]) as v (id, result, started)
        on v.id = g.id
    where coalesce(g.state, '') <> ''
),
counted as materialized (
    select count(*) as number
    from gone as g
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select 'tasks', 'UPDATE', case when n.number <= 100 then (select array_agg(g.id) from gone as g) end
    from counted as n
    where n.number > 0
)
select n.number, case when n.number < %(expected)s then (select array_agg(g.id::text) from gone as g) end
from counted as n

-- `is true` keeps the fence a table of pairs that is looked up: see the full join.
-- name: complete
with gone as (
    delete from weft.tasks as t
    where t.id = any(%(ids)s::uuid[])
        and ((t.id, t.lease_token) in (
            select v.id, v.token
            from unnest(%(ids)s::uuid[], %(tokens)s::uuid[]) as v (id, token)
        )) is true
        and t.run_id is null
    returning t.*
),
-- use: completed

-- All of them were claimed together: then one comparison is the fence.
-- name: complete_claimed
with gone as (
    delete from weft.tasks as t
    where t.id = any(%(ids)s::uuid[])
        and t.lease_token = %(token)s
        and t.run_id is null
    returning t.*
),
-- use: completed

-- The same for those who hold runs' locks: these are not told, but whoever ends their tasks is. A row for each task.
-- name: finish_held
with
-- use: gone
-- use: kept
    returning run_id, step_id, id, state, attempt - uncounted as tries, started_at, result, error
),
-- use: told
        and g.run_id <> all(%(held)s::uuid[])
),
-- use: feed
select
    k.run_id::text, k.step_id::text, k.id::text, k.state, k.tries, k.started_at,
    case when k.run_id = any(%(held)s::uuid[]) then k.result end, case when k.run_id = any(%(held)s::uuid[]) then k.error end
from kept as k;

-- Back into the queue: a retry, a snooze, a loss, or given back. The row stays, the token goes.
-- name: requeue
with back as (
    update weft.tasks as t
    -- one that was asked to end meanwhile stays out of the claim order, for the chore that ends it
    set state = case
            when t.cancel_requested_at is not null then 'blocked'
            -- a snooze whose end was told meanwhile is none
            when v.delay > 0 and not (t.told and v.outcome is null) then 'scheduled'
            else 'ready'
        end,
        run_at = case
            when v.delay > 0 and not (t.told and v.outcome is null) then weft.now() + v.delay * interval '1 second'
            else t.run_at
        end,
        plain = t.concurrency_key is null and t.losses + v.lost = 0,
        limited = false,
        uncounted = t.uncounted + v.uncounted,
        losses = t.losses + v.lost,
        attempts = case
            when v.outcome is null then t.attempts
            else coalesce(t.attempts, '[]') || jsonb_build_object(
                'attempt', t.attempt, 'outcome', v.outcome, 'error', v.error::jsonb, 'node_id', t.node_id,
                'claimed_at', t.claimed_at, 'ended_at', weft.now())
        end,
        error = coalesce(v.error::jsonb, t.error),
        node_id = null,
        lease_token = null,
        lease_until = null,
        claimed_at = null,
        started_at = null,
        progress = null,
        progress_message = null
    from unnest(
        %(ids)s::uuid[], %(tokens)s::uuid[], %(delays)s::double precision[], %(uncounted)s::integer[],
        %(lost)s::smallint[], %(outcomes)s::text[], %(errors)s::text[]
    ) as v (id, token, delay, uncounted, lost, outcome, error)
    where t.id = any(array[v.id]) and t.lease_token = v.token
    returning t.id, t.state, t.queue
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select 'tasks', 'UPDATE', case when count(*) <= 100 then (select array_agg(f.id) from back as f) end
    from back as b
    having count(*) > 0
)
select b.id::text, b.state, b.queue
from back as b;

-- Which of these attempts ended earlier, with the very same token: a repeated finish gets the same answer.
-- name: ended_with
select h.id::text, h.state
from unnest(%(orgs)s::uuid[], %(ids)s::uuid[], %(tokens)s::uuid[]) as v (org_id, id, token)
cross join lateral (
    select e.id, e.state
    from weft.task_history as e
    where e.org_id = v.org_id and e.id = v.id and e.lease_token = v.token
    -- one look-up each, never a join with the whole history
    offset 0
) as h;

-- What settle must know of an attempt whose worker did not tell: rescue and HTTP ask here, and hold the row.
-- name: held
select
    t.id::text, t.org_id::text, t.kind, t.lease_token::text, t.attempt, t.uncounted, t.losses, t.max_attempts,
    t.concurrency_key, t.retry, t.run_id::text, t.cancel_requested_at is not null
from weft.tasks as t
where t.id = any(%(ids)s::uuid[]) and t.state = 'running'
for update;

-- Lets the next of each key into the claim index, as many as there is room for. Where the order is strict the next
-- is the one enqueued first, whatever its priority and however late its retry; elsewhere the claim order says.
-- name: unblock
with key as materialized (
    select
        k.org_id, k.key, eldest.id as eldest,
        least(eldest.concurrency, keenest.concurrency) = 0 as strict,
        greatest(eldest.concurrency, keenest.concurrency, 1) - (
            select count(*)
            from weft.tasks as c
            where c.org_id = k.org_id and c.concurrency_key = k.key and c.state in ('ready', 'running')
        ) as room,
        -- in strict order nobody may pass one that waits for its time
        coalesce(eldest.id > (
            select s.id
            from weft.tasks as s
            where s.org_id = k.org_id and s.concurrency_key = k.key and s.state >= 'scheduled'
            order by s.state, s.id
            limit 1
        ), false) as second
    from unnest(%(orgs)s::uuid[], %(keys)s::text[]) as k (org_id, key)
    cross join lateral (
        -- see count_keys
        select c.id, c.state, c.concurrency
        from weft.tasks as c
        where c.state >= 'blocked' and c.org_id = k.org_id and c.concurrency_key = k.key
        order by c.state, c.id
        limit 1
    ) as eldest
    cross join lateral (
        select c.concurrency
        from weft.tasks as c
        where c.state = 'blocked' and c.org_id = k.org_id and c.concurrency_key = k.key
        order by c.urgency, c.run_at, c.id
        limit 1
    ) as keenest
    where eldest.state = 'blocked'
),
in_order as (
    select c.id
    from key as k
    join weft.tasks as c
        on c.id = any(array[k.eldest])
    where k.strict and k.room > 0 and not k.second and c.state = 'blocked' and c.cancel_requested_at is null
    for update of c skip locked
),
by_claim_order as (
    select n.id
    from key as k
    cross join lateral (
        select c.id
        from weft.tasks as c
        where c.state = 'blocked'
            and c.org_id = k.org_id
            and c.concurrency_key = k.key
            and c.cancel_requested_at is null
            -- a value, not `exists`: that may be planned as a walk through all runs
            and coalesce((select r.state from weft.runs as r where r.id = c.run_id), '') <> 'paused'
        order by c.urgency, c.run_at, c.id
        limit greatest(k.room, 0)
        for update skip locked
    ) as n
    where not k.strict
),
let_in as (
    update weft.tasks as t
    set state = 'ready'
    where t.id = any(array(select o.id from in_order as o union all select c.id from by_claim_order as c))
    returning t.id, t.queue
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select 'tasks', 'UPDATE', case when count(*) <= 100 then array_agg(l.id) end
    from let_in as l
    having count(*) > 0
)
select l.queue
from let_in as l;

-- Queued tasks somebody asked to end (weft.cancel only marks them); settle ends them.
-- As tasks_past_cancel: those who were asked first, then their state.
-- name: take_cancelled
with asked as materialized (
    select t.id
    from weft.tasks as t
    where t.cancel_requested_at is not null
)
select t.id::text
from weft.tasks as t
where t.id = any(array(select a.id from asked as a)) and t.state <> 'running'
limit %(take)s
for update skip locked;

-- name: cancel_queued
with gone as (
    delete from weft.tasks as t
    where t.id = any(%(ids)s::uuid[]) and t.state <> 'running'
    returning
        t.*, 'cancelled' as new_state, 'requested' as new_reason, null as new_result, null as new_error,
        null::double precision as new_started
),
-- use: kept
),
-- use: told
),
-- use: feed
select g.id::text, g.org_id::text, g.concurrency_key, g.run_id::text
from gone as g;
