-- Jobs: written, looked at, changed.

-- A job as `Job` has it.
-- piece: job
j.id, j.org_id, j.name, j.job_type, j.cron_expression, j.timezone, j.run_at, j.delay, j.payload,
-- weft.schedule says no more of it
j.retry_config || jsonb_build_object('max_attempts', j.max_attempts),
j.timeout, j.queue, j.priority, j.tags, j.misfire, j.catch_up_limit, j.overlap, j.jitter, j.start_at, j.end_at, j.status,
j.next_run_time, j.due_at, j.last_run_time, j.error, j.owner, j.version, j.created_at, j.updated_at

-- The id is made first: jitter comes from it.
-- name: new_job
select weft.uuid7(), weft.now();

-- name: insert_job
insert into weft.jobs as j (
    id, org_id, name, job_type, cron_expression, timezone, run_at, delay, payload, kind, args, secrets, retry_config,
    retry, max_attempts, timeout, queue, priority, tags, misfire, catch_up_limit, overlap, jitter, start_at, end_at,
    next_run_time, due_at, owner)
values (
    %(id)s, %(org_id)s, %(name)s, %(job_type)s, %(cron_expression)s, %(timezone)s, %(run_at)s::timestamptz,
    %(delay)s::interval, %(payload)s::jsonb, %(kind)s, %(args)s::jsonb, %(secrets)s::text[], %(retry_config)s::jsonb,
    %(retry)s::jsonb, %(max_attempts)s, %(timeout)s::interval, %(queue)s, %(priority)s, %(tags)s::text[], %(misfire)s,
    %(catch_up_limit)s, %(overlap)s, %(jitter)s::interval, %(start_at)s::timestamptz, %(end_at)s::timestamptz,
    %(next_run_time)s::timestamptz, %(due_at)s::timestamptz, %(owner)s::text)
on conflict (org_id, name) where status <> 'DELETED' do nothing
returning
    -- use: job
;

-- name: change_job
update weft.jobs as j
set name = %(name)s,
    job_type = %(job_type)s,
    cron_expression = %(cron_expression)s,
    timezone = %(timezone)s,
    run_at = %(run_at)s::timestamptz,
    delay = %(delay)s::interval,
    payload = %(payload)s::jsonb,
    kind = %(kind)s,
    args = %(args)s::jsonb,
    secrets = %(secrets)s::text[],
    retry_config = %(retry_config)s::jsonb,
    retry = %(retry)s::jsonb,
    max_attempts = %(max_attempts)s,
    timeout = %(timeout)s::interval,
    queue = %(queue)s,
    priority = %(priority)s,
    tags = %(tags)s::text[],
    misfire = %(misfire)s,
    catch_up_limit = %(catch_up_limit)s,
    overlap = %(overlap)s,
    jitter = %(jitter)s::interval,
    start_at = %(start_at)s::timestamptz,
    end_at = %(end_at)s::timestamptz,
    status = %(status)s,
    next_run_time = %(next_run_time)s::timestamptz,
    due_at = %(due_at)s::timestamptz,
    owner = %(owner)s::text,
    error = null,
    version = j.version + 1,
    updated_at = weft.now()
where j.id = %(id)s and j.org_id = %(org_id)s
returning
    -- use: job
;

-- name: set_status
update weft.jobs as j
set status = %(status)s,
    next_run_time = %(next_run_time)s::timestamptz,
    due_at = %(due_at)s::timestamptz,
    error = %(error)s::jsonb,
    version = j.version + 1,
    updated_at = weft.now()
where j.id = %(id)s and j.org_id = %(org_id)s
returning
    -- use: job
;

-- Locked for whoever changes it; the scheduler passes over it meanwhile.
-- name: lock_job
select
    -- use: job
    , weft.now()
from weft.jobs as j
where j.id = %(id)s and j.org_id = %(org_id)s and j.status <> 'DELETED'
for no key update;

-- name: lock_job_named
select
    -- use: job
    , weft.now()
from weft.jobs as j
where j.org_id = %(org_id)s and j.name collate "C" = %(name)s::text and j.status <> 'DELETED'
for no key update;

-- Deleted ones too: their executions still name them.
-- name: get_job
select
    -- use: job
    , weft.now()
from weft.jobs as j
where j.id = %(id)s and j.org_id = %(org_id)s;

-- name: job_named
select j.id
from weft.jobs as j
where j.org_id = %(org_id)s and j.name collate "C" = %(name)s::text and j.status <> 'DELETED';

-- What the filters of lists have in common.
-- piece: wanted
j.org_id = %(org_id)s
    and (case when %(status)s::text is null then j.status <> 'DELETED' else j.status = %(status)s::text end)
    and (%(job_type)s::text is null or j.job_type = %(job_type)s::text)
    and (%(tag)s::text is null or %(tag)s::text = any(j.tags))
    and (%(prefix)s::text is null or starts_with(j.name, %(prefix)s::text))

-- name: newest_jobs
select
    -- use: job
from weft.jobs as j
where
    -- use: wanted
    and j.id < %(before)s
order by j.id desc
limit %(take)s;

-- name: oldest_jobs
select
    -- use: job
from weft.jobs as j
where
    -- use: wanted
    and j.id > %(after)s
order by j.id
limit %(take)s;

-- Along the index of names, which knows no deleted ones, from the prefix to its end.
-- name: jobs_by_name
select
    -- use: job
from weft.jobs as j
where
    -- use: wanted
    and j.status <> 'DELETED'
    and j.name collate "C" > %(after_name)s::text
    and j.name collate "C" >= coalesce(%(prefix)s::text, '')
    and j.name collate "C" < coalesce(%(prefix)s::text, '') || U&'\+10FFFF'
order by j.name collate "C"
limit %(take)s;

-- Along the scheduler's own index: only jobs that wait for a time.
-- name: jobs_by_time
select
    -- use: job
from weft.jobs as j
where
    -- use: wanted
    and j.due_at is not null
    and (j.due_at, j.id) > (%(after_time)s::timestamptz, %(after)s)
order by j.due_at, j.id
limit %(take)s;

-- How many jobs the org may have, and whether it has them; two that ask at once take turns.
-- name: job_room
with quota as materialized (
    select o.max_jobs, case when o.max_jobs is not null
        then pg_advisory_xact_lock(hashtextextended('weft.jobs ' || o.id, 0)) end
    from weft.orgs as o
    where o.id = %(org_id)s
)
select q.max_jobs
from quota as q
where q.max_jobs is not null;

-- A statement of its own, after the lock: it must see what the one before committed.
-- name: count_jobs
select count(*)
from (
    select
    from weft.jobs as j
    where j.org_id = %(org_id)s and j.status in ('ACTIVE', 'PAUSED')
    limit %(most)s
) as seen;

-- Only what is due before the scheduler looks by itself is worth a word.
-- name: tell_scheduler
select pg_notify('weft_jobs', '')
where %(due_at)s::timestamptz < weft.now() + %(older)s;

-- Those an owner has besides the ones it declares now.
-- name: no_longer_declared
select j.id
from weft.jobs as j
where j.org_id = %(org_id)s
    and j.owner = %(owner)s
    and j.status = 'ACTIVE'
    and not j.name = any(%(names)s::text[])
order by j.id;

-- When the jobs of these owners are due next.
-- name: times_of_owners
select j.owner, j.next_run_time
from weft.jobs as j
where j.org_id = %(org_id)s and j.owner = any(%(owners)s::text[]) and j.status <> 'DELETED' and j.next_run_time is not null;

-- Jobs whose time has come and that nobody has fired: few, and first in their index.
-- name: schedule_lag
select
    coalesce(max(l.late), 0)::double precision,
    count(*) filter (where l.late > 5)
from (
    select extract(epoch from weft.now() - j.due_at) as late
    from weft.jobs as j
    where j.due_at < weft.now() and j.org_id = %(org_id)s
    order by j.due_at
    limit %(most)s
) as l;

-- Jobs whose name holds a text, or whose id lies in a range.
-- name: search_jobs
select j.id, j.name, j.status
from weft.jobs as j
where j.org_id = %(org_id)s
    and j.status <> 'DELETED'
    and (strpos(lower(j.name), lower(%(text)s)) > 0 or j.id between %(low)s::uuid and %(high)s::uuid)
order by lower(j.name) <> lower(%(text)s), strpos(lower(j.name), lower(%(text)s)) <> 1, j.name
limit %(take)s;

-- How the last executions of jobs ended, or where they are, each job's oldest first.
-- name: last_results
select j.id, e.status
from unnest(%(ids)s::uuid[]) as j (id)
cross join lateral (
    select x.id, x.scheduled_time, x.key
    from weft.executions as x
    where x.job_id = j.id and x.org_id = %(org_id)s
    order by x.scheduled_time desc, x.key desc
    limit %(take)s
) as x
join weft.execution_states as e
    on e.id = x.id
order by j.id, x.scheduled_time, x.key;

-- The newest jobs, for whoever asks about none in particular.
-- name: newest_job_ids
select j.id
from weft.jobs as j
where j.org_id = %(org_id)s and j.status <> 'DELETED'
order by j.id desc
limit %(take)s;

-- Different when the list of jobs, or how their executions went, may look different.
-- name: sign_of_jobs
select
    count(*), max(j.updated_at), max(j.last_run_time), min(j.next_run_time), max(j.version), count(t.id),
    -- one that was triggered and has ended between two looks was never seen open
    count(t.id) filter (where t.state = 'running'), max(j.newest)
from (
    select j.id, j.updated_at, j.last_run_time, j.next_run_time, j.version, (
        select max(e.scheduled_time)
        from weft.executions as e
        where e.job_id = j.id
    ) as newest
    from weft.jobs as j
    where j.org_id = %(org_id)s
    order by j.id desc
    limit %(most)s
) as j
left join weft.tasks as t
    on t.job_id = j.id;
