-- Tasks of runs that succeeded, by who holds the locks of the runs: they leave the queue, and their steps end with what they
-- came to, in one statement. What follows from that is decided afterwards, and written only where something does.

-- Rows are addressed as in `complete` of the queue, for its reasons. A step whose present task is another one stays as it is.
-- What whoever asks knows himself is not said again: which run, which step, which attempt.
-- name: complete_steps
with gone as (
    delete from weft.tasks as t
    where t.id = any(%(ids)s::uuid[])
        and ((t.id, t.lease_token) in (
            select v.id, v.token
            from unnest(%(ids)s::uuid[], %(tokens)s::uuid[]) as v (id, token)
        )) is true
    returning t.*
),
kept as (
    insert into weft.task_history (
        id, org_id, kind, queue, lane, payload, state, urgency, attempt, uncounted, losses, max_attempts, created_at, run_at,
        claimed_at, started_at, finished_at, node_id, lease_token, concurrency, concurrency_key, dedupe_key, tags, retry,
        timeout, heartbeat_timeout, job_id, run_id, step_id, parent_id, scheduled_for, correlation_id, trace_parent, progress,
        progress_message, attempts, result)
    select
        g.id, g.org_id, g.kind, g.queue, g.lane, g.payload, 'completed', g.urgency, g.attempt, g.uncounted, g.losses,
        g.max_attempts, g.created_at, g.run_at, g.claimed_at,
        -- counted from before the claim was sent, which a slow network may put after the end
        coalesce(
            g.started_at,
            case when v.started is not null then least(g.claimed_at + v.started * interval '1 second', weft.now()) end),
        weft.now(), g.node_id, g.lease_token, g.concurrency, g.concurrency_key, g.dedupe_key, g.tags, g.retry, g.timeout, g.heartbeat_timeout,
        g.job_id, g.run_id, g.step_id, g.parent_id, g.scheduled_for, g.correlation_id, g.trace_parent, g.progress,
        g.progress_message, g.attempts, v.result::jsonb
    from gone as g
    full join unnest(%(ids)s::uuid[], %(results)s::text[], %(started)s::double precision[]) as v (id, result, started)
        on v.id = g.id
    where coalesce(g.state, '') <> ''
    returning id, step_id, attempt - uncounted as tries, started_at, result
),
ended as (
    update weft.steps as s
    set state = 'completed',
        attempt = k.tries,
        output = coalesce(k.result, s.output),
        error = null,
        started_at = coalesce(k.started_at, s.started_at),
        finished_at = weft.now()
    from kept as k
    where s.id = any(array[k.step_id]) and s.task_id = k.id and s.state = 'running'
    returning
        k.id as task, k.result, s.id, s.frame_id, s.node, s.element, s.catching, s.depth, s.item,
        -- what few of them have travels in one column
        case
            when s.waits > 0 or s.reruns > 0
            then json_build_array(s.waits, s.succeeded, s.failed, s.skipped, s.reruns)::text
        end as counted
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select 'tasks', 'UPDATE', case when count(*) <= 100 then (select array_agg(f.id) from gone as f) end
    from gone as g
    having count(*) > 0
    union all
    select 'steps', 'UPDATE', case when count(*) <= 100 then (select array_agg(f.id) from ended as f) end
    from ended as e
    having count(*) > 0
)
select k.id::text, e.result::text, e.frame_id::text, e.node, e.element, e.catching, e.depth, e.item::text, e.counted
from kept as k
left join ended as e
    on e.task = k.id;

-- Steps have ended from which nothing follows: their blocks count them, if others of theirs are still open.
-- name: count_ended
with counted as (
    update weft.steps as s
    set parts_ended = s.parts_ended + v.ended
    from unnest(%(ids)s::uuid[], %(counts)s::integer[]) as v (id, ended)
    where s.id = any(array[v.id]) and s.parts_ended + v.ended < s.parts
    returning s.id, s.run_id
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select 'steps', 'UPDATE', array_agg(c.id)
    from counted as c
    having count(*) between 1 and 100
    union all
    select 'steps', 'UPDATE', null
    from counted as c
    having count(*) > 100
    union all
    select 'runs', 'UPDATE', array_agg(distinct c.run_id)
    from counted as c
    having count(*) > 0
)
select c.id::text
from counted as c;
