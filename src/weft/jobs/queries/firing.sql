-- The scheduler's statements: many jobs each.

-- name: due_jobs
select
    -- what SQL may have written is read one by one: a time or number that Python has no word for spoils only its own job
    j.id::text, j.org_id::text, j.cron_expression, j.timezone, j.run_at::text, j.misfire, j.catch_up_limit,
    nullif(j.jitter, interval '0'), j.start_at, j.end_at, j.overlap, j.next_run_time, j.secrets,
    case when j.kind is null then j.payload::text end,
    -- looked up: a join might be planned by org, and walk all jobs
    (select o.suspended_at is not null from weft.orgs as o where o.id = j.org_id)
from weft.jobs as j
where j.due_at <= weft.now()
order by j.due_at, j.id
limit %(take)s
for no key update skip locked;

-- Asked after what is due was: nothing of it is yet to come.
-- name: present
select weft.now();

-- Of these names those that the orgs have.
-- name: known_secrets
select s.org_id::text, s.name
from unnest(%(orgs)s::uuid[], %(names)s::text[]) as v (org_id, name)
join weft.secrets as s
    on s.org_id = v.org_id and s.name = v.name;

-- Jobs with an execution that has not ended.
-- name: busy_jobs
select distinct t.job_id::text
from weft.tasks as t
where t.job_id = any(%(ids)s::uuid[]);

-- name: cancel_unfinished
select weft.cancel(t.id, t.org_id)
from weft.tasks as t
where t.job_id = any(%(ids)s::uuid[]);

-- Executions and their tasks. A time that has one already (another leader, a clock set back) gets no second.
-- name: dispatch
with made as (
    insert into weft.executions (
        id, org_id, job_id, scheduled_time, key, trigger, backfill_id, missed_since, skipped)
    select
        (run.prefix || lpad(to_hex(run.low + v.n), 12, '0'))::uuid, j.org_id, j.id, v.at, coalesce(v.key, ''), %(trigger)s,
        %(backfill_id)s::uuid, v.missed, v.skipped
    from weft.uuid7_run() as run
    cross join unnest(
        %(ids)s::uuid[], %(times)s::timestamptz[], %(keys)s::text[], %(missed)s::timestamptz[], %(skipped)s::text[]
    ) with ordinality as v (job_id, at, key, missed, skipped, n)
    join weft.jobs as j
        on j.id = v.job_id
    on conflict do nothing
    returning id, job_id, scheduled_time, skipped
),
turn as (
    select m.id, m.job_id, m.scheduled_time, row_number() over (partition by m.job_id order by m.id) as n
    from made as m
    where m.skipped is null
),
task as (
    insert into weft.tasks (
        id, org_id, kind, queue, lane, payload, state, plain, urgency, max_attempts, run_at, concurrency, concurrency_key,
        tags, retry, timeout, job_id, scheduled_for)
    select
        t.id, j.org_id, j.kind, j.queue, j.queue, j.args,
        case
            when j.overlap <> 'queue' then 'ready'
            when t.n > 1 then 'blocked'
            when exists (
                select
                from weft.tasks as c
                where c.org_id = j.org_id and c.concurrency_key = 'job:' || j.id
            ) then 'blocked'
            else 'ready'
        end,
        j.overlap <> 'queue', 100 - 11 * j.priority, j.max_attempts, weft.now(),
        case when j.overlap = 'queue' then 0 end, case when j.overlap = 'queue' then 'job:' || j.id end,
        nullif(j.tags, '{}'), j.retry, j.timeout, j.id, t.scheduled_time
    from turn as t
    join weft.jobs as j
        on j.id = t.job_id
    returning id, queue
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select 'tasks', 'INSERT', case when count(*) <= 100 then array_agg(t.id) end
    from task as t
    having count(*) > 0
)
select t.queue, count(*)
from task as t
group by t.queue;

-- name: advance
update weft.jobs as j
set next_run_time = v.waiting,
    due_at = v.due_at,
    last_run_time = coalesce(v.fired, j.last_run_time),
    status = case when v.waiting is null then 'COMPLETED' else j.status end
from unnest(
    %(ids)s::uuid[], %(waiting)s::timestamptz[], %(due_at)s::timestamptz[], %(fired)s::timestamptz[]
) as v (id, waiting, due_at, fired)
where j.id = v.id;

-- What the payloads ask for that weft.schedule only wrote down, with the retry policy of jobs that say none.
-- name: read_jobs
update weft.jobs as j
set kind = v.kind,
    args = v.args,
    secrets = nullif(string_to_array(v.secrets, ' '), '{}'),
    retry = %(retry)s::jsonb,
    retry_config = %(retry_config)s::jsonb || jsonb_build_object('max_attempts', j.max_attempts)
from unnest(%(ids)s::uuid[], %(kinds)s::text[], %(args)s::jsonb[], %(secrets)s::text[]) as v (id, kind, args, secrets)
where j.id = v.id;

-- name: set_aside
update weft.jobs as j
set status = 'PAUSED',
    next_run_time = null,
    due_at = null,
    error = jsonb_build_object('code', v.code, 'message', v.message, 'at', weft.now()),
    version = j.version + 1,
    updated_at = weft.now()
from unnest(%(ids)s::uuid[], %(codes)s::text[], %(messages)s::text[]) as v (id, code, message)
where j.id = v.id
returning j.id, j.org_id, j.error;
