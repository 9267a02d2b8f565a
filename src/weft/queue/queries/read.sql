-- Looking at tasks. Lists are keyset pages, newest first, over the unfinished and the finished together.

-- name: get_task
select
    t.id, t.org_id, t.kind, t.queue, t.lane, t.payload, t.state, null as reason, 100 - t.urgency, t.attempt,
    t.uncounted, t.losses, t.max_attempts, t.created_at, t.run_at, t.claimed_at, t.started_at, null::timestamptz,
    t.node_id, t.concurrency_key, t.concurrency, t.dedupe_key, t.tags, t.timeout, t.parent_id, t.run_id,
    t.correlation_id, t.cancel_requested_at, t.progress, t.progress_message, t.attempts, t.error, null::jsonb
from weft.tasks as t
where t.id = %(id)s and t.org_id = %(org_id)s
union all
select
    h.id, h.org_id, h.kind, h.queue, h.lane, h.payload, h.state, h.reason, 100 - h.urgency, h.attempt, h.uncounted,
    h.losses, h.max_attempts, h.created_at, h.run_at, h.claimed_at, h.started_at, h.finished_at, h.node_id,
    h.concurrency_key, h.concurrency, h.dedupe_key, h.tags, h.timeout, h.parent_id, h.run_id, h.correlation_id,
    null::timestamptz, h.progress, h.progress_message, h.attempts, h.error, h.result
from weft.task_history as h
where h.id = %(id)s and h.org_id = %(org_id)s;

-- Whether a task has ended, and how; asked again and again by whoever awaits it, so it reads one index entry.
-- name: get_ending
select h.state, h.reason, h.error, h.result
from weft.task_history as h
where h.id = %(id)s and h.org_id = %(org_id)s;

-- name: list_dead
select
    h.id, h.org_id, h.kind, h.queue, h.lane, h.payload, h.state, h.reason, 100 - h.urgency, h.attempt, h.uncounted,
    h.losses, h.max_attempts, h.created_at, h.run_at, h.claimed_at, h.started_at, h.finished_at, h.node_id,
    h.concurrency_key, h.concurrency, h.dedupe_key, h.tags, h.timeout, h.parent_id, h.run_id, h.correlation_id,
    null::timestamptz, h.progress, h.progress_message, h.attempts, h.error, h.result
from weft.task_history as h
where h.org_id = %(org_id)s
    and h.reason in ('dead', 'lost')
    and h.id < %(before)s
    and (%(kind)s::text is null or h.kind = %(kind)s)
    and (%(queue)s::text is null or h.queue = %(queue)s)
order by h.id desc
limit %(take)s;

-- Finished without success → queued again: the same task, its attempts counted anew, its past kept.
-- One that a newer task with the same dedupe key has replaced stays where it is, and so does what must never begin twice.
-- name: redrive
with gone as (
    delete from weft.task_history as h
    where h.org_id = %(org_id)s
        and h.id = any(%(ids)s::uuid[])
        and h.state in ('failed', 'timed_out', 'cancelled')
        and (h.retry ->> 'lost') is distinct from 'false'
        and not exists (
            select
            from weft.tasks as t
            where t.org_id = h.org_id and t.kind = h.kind and t.dedupe_key = h.dedupe_key
        )
        and not exists (
            select
            from weft.task_history as n
            where n.org_id = h.org_id
                and n.id = any(%(ids)s::uuid[])
                and n.id > h.id
                and n.kind = h.kind
                and n.dedupe_key = h.dedupe_key
                and n.state in ('failed', 'timed_out', 'cancelled')
        )
    returning h.*
),
back as (
    insert into weft.tasks (
        id, org_id, kind, queue, lane, payload, plain, urgency, attempt, uncounted, max_attempts, created_at,
        concurrency, concurrency_key, dedupe_key, tags, retry, timeout, heartbeat_timeout, job_id, run_id, step_id,
        parent_id, scheduled_for, correlation_id, trace_parent, attempts, error)
    select
        g.id, g.org_id, g.kind, g.queue, g.lane, g.payload, g.concurrency_key is null, g.urgency, g.attempt, g.attempt,
        g.max_attempts, g.created_at, g.concurrency, g.concurrency_key, g.dedupe_key, g.tags, g.retry, g.timeout,
        g.heartbeat_timeout, g.job_id, g.run_id, g.step_id, g.parent_id, g.scheduled_for, g.correlation_id,
        g.trace_parent,
        coalesce(g.attempts, '[]') || jsonb_build_object(
            'attempt', g.attempt, 'outcome', g.state, 'error', g.error, 'node_id', g.node_id,
            'claimed_at', g.claimed_at, 'ended_at', g.finished_at),
        g.error
    from gone as g
    returning id, queue
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select 'tasks', 'UPDATE', case when count(*) <= 100 then array_agg(b.id) end
    from back as b
    having count(*) > 0
)
select b.id, b.queue
from back as b;

-- Off the dead letter list, for good; the history stays.
-- name: discard_dead
with discarded as (
    update weft.task_history as h
    set reason = 'discarded', state = 'cancelled'
    where h.org_id = %(org_id)s and h.id = any(%(ids)s::uuid[]) and h.reason in ('dead', 'lost')
    returning h.id
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select 'tasks', 'UPDATE', case when count(*) <= 100 then array_agg(d.id) end
    from discarded as d
    having count(*) > 0
)
select d.id
from discarded as d;

-- name: read_logs
select l.id, l.attempt, l.at, l.level, l.message, l.fields
from weft.task_logs as l
where l.task_id = %(task_id)s and l.org_id = %(org_id)s and l.id > %(after)s
order by l.id
limit %(take)s;

-- name: set_queue
insert into weft.queues as q (org_id, name, paused, max_running, rate_limit, rate_period, rate_burst)
values (
    %(org_id)s, %(name)s, %(paused)s, %(max_running)s, %(rate_limit)s, %(rate_period)s, %(rate_burst)s)
on conflict (org_id, name) do update
set paused = excluded.paused,
    max_running = excluded.max_running,
    rate_limit = excluded.rate_limit,
    rate_period = excluded.rate_period,
    rate_burst = excluded.rate_burst,
    -- a changed rate starts with a full bucket
    tokens = case when q.rate_limit is not distinct from excluded.rate_limit then q.tokens end,
    refilled_at = case when q.rate_limit is not distinct from excluded.rate_limit then q.refilled_at end,
    updated_at = weft.now();

-- name: get_queue
select q.org_id, q.name, q.paused, q.max_running, q.rate_limit, q.rate_period, q.rate_burst
from weft.queues as q
where q.org_id = %(org_id)s and q.name = %(name)s
for update;

-- name: found_queue
insert into weft.queues (org_id, name)
values (%(org_id)s, %(name)s)
on conflict (org_id, name) do nothing;

-- name: settings_of
select q.org_id, q.name, q.paused, q.max_running, q.rate_limit, q.rate_period, q.rate_burst
from weft.queues as q
where q.org_id in (%(org_id)s, '00000000-0000-0000-0000-000000000000') and q.name = any(%(names)s::text[]);

-- What runs when a limit is set counts against it from then on.
-- name: count_running_as_limited
update weft.tasks as t
set limited = true
where t.state = 'running'
    and not t.limited
    and t.queue = %(queue)s
    and (t.org_id = %(org_id)s or %(org_id)s = '00000000-0000-0000-0000-000000000000');
