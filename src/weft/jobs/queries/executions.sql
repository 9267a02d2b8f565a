-- Executions: looked at, triggered, pruned; and backfills.

-- An execution as `Execution` has it.
-- piece: execution
e.id, e.job_id, j.name, e.worker_id, e.attempt_number, e.status, e.trigger, e.scheduled_time, e.queued_at, e.started_at,
e.completed_at, e.missed_since, e.backfill_id, e.result, e.error_message, e.attempts, e.cancel_requested_at, e.key,
e.skipped

-- name: get_execution
select
    -- use: execution
from weft.execution_states as e
join weft.jobs as j
    on j.id = e.job_id and j.org_id = e.org_id
where e.id = %(id)s and e.org_id = %(org_id)s;

-- name: origin
select x.trigger
from weft.executions as x
where x.id = %(id)s;

-- A page looks at no more than so many of them; the last one looked at is where the next page begins.
-- name: list_executions
select
    -- use: execution
from (
    select x.id
    from weft.executions as x
    where x.job_id = %(job_id)s
        and x.org_id = %(org_id)s
        and (x.scheduled_time, x.key) < (%(before)s::timestamptz, %(before_key)s::text)
    order by x.scheduled_time desc, x.key desc
    limit %(walk)s
) as seen
join weft.execution_states as e
    on e.id = seen.id
join weft.jobs as j
    on j.id = e.job_id
where e.org_id = %(org_id)s and (%(status)s::text is null or e.status = %(status)s::text)
order by e.scheduled_time desc, e.key desc
limit %(take)s;

-- Where a walk over a job's executions ends.
-- name: walked
select x.scheduled_time, x.key
from weft.executions as x
where x.job_id = %(job_id)s
    and x.org_id = %(org_id)s
    and (x.scheduled_time, x.key) < (%(before)s::timestamptz, %(before_key)s::text)
order by x.scheduled_time desc, x.key desc
offset %(walk)s - 1
limit 1;

-- name: execution_of_key
select x.id
from weft.executions as x
where x.job_id = %(job_id)s and x.key = %(key)s and x.key <> '';

-- name: insert_execution
insert into weft.executions (id, org_id, job_id, scheduled_time, key, trigger)
values (%(id)s, %(org_id)s, %(job_id)s, %(scheduled_time)s, %(key)s, 'manual');

-- Of the next ones those whose task retention took away, and after a month those that never had one. Answers where to go on
-- (null: at the beginning) and how many went.
-- name: prune_executions
with few as materialized (
    select x.id, x.org_id, x.skipped
    from weft.executions as x
    where x.id > %(after)s and x.id < weft.uuid7_floor(weft.now() - interval '1 hour')
    order by x.id
    limit %(take)s
),
gone as (
    delete from weft.executions as e
    using few as s
    where e.id = any(array[s.id])
        and case
            when s.skipped is not null then s.id < weft.uuid7_floor(weft.now() - interval '30 days')
            else not exists (select from weft.tasks as t where t.id = s.id)
                and not exists (select from weft.task_history as h where h.org_id = s.org_id and h.id = s.id)
        end
    returning e.id
)
select
    (select s.id from few as s order by s.id desc limit 1),
    (select count(*) from gone);

-- Jobs that are over for longer than history is kept, once nothing shows their executions any more.
-- name: prune_jobs
with old as (
    select j.id
    from weft.jobs as j
    left join weft.orgs as o
        on o.id = j.org_id
    where j.status in ('COMPLETED', 'DELETED')
        and (j.status = 'DELETED' or j.job_type <> 'CRON')
        and greatest(j.updated_at, j.last_run_time) < weft.now() - coalesce(o.retention, %(older)s::interval)
        and not exists (select from weft.executions as e where e.job_id = j.id)
    order by greatest(j.updated_at, j.last_run_time)
    limit %(take)s
    for update of j skip locked
),
backfills as (
    delete from weft.backfills as b
    where b.job_id = any(array(select o.id from old as o))
)
delete from weft.jobs as j
where j.id = any(array(select o.id from old as o));

-- A backfill as `Backfill` has it.
-- piece: backfill
b.id, b.org_id, b.job_id, b.start_time, b.end_time, b.max_active, b.state, b.next_time, b.made, b.actor, b.created_at,
b.updated_at

-- name: insert_backfill
insert into weft.backfills as b (org_id, job_id, start_time, end_time, max_active, state, next_time, actor)
values (
    %(org_id)s, %(job_id)s, %(start_time)s, %(end_time)s, %(max_active)s, %(state)s, %(next_time)s::timestamptz, %(actor)s)
returning
    -- use: backfill
;

-- name: tell_backfiller
select pg_notify('weft_jobs', '');

-- name: list_backfills
select
    -- use: backfill
from weft.backfills as b
where b.org_id = %(org_id)s and b.job_id = %(job_id)s and b.id < %(before)s
order by b.id desc
limit %(take)s;

-- name: cancel_backfill
update weft.backfills as b
set state = 'CANCELLED', next_time = null, updated_at = weft.now()
where b.id = %(id)s and b.org_id = %(org_id)s and b.state = 'RUNNING'
returning
    -- use: backfill
;

-- name: get_backfill
select
    -- use: backfill
from weft.backfills as b
where b.id = %(id)s and b.org_id = %(org_id)s;

-- With what of their executions has not ended, and the job's times.
-- name: running_backfills
select
    -- use: backfill
    , (
        select count(*)
        from weft.tasks as t
        join weft.executions as e
            on e.id = t.id
        where t.job_id = b.job_id and e.backfill_id = b.id
    ),
    j.cron_expression, j.timezone, j.status
from weft.backfills as b
join weft.jobs as j
    on j.id = b.job_id
where b.state = 'RUNNING'
    and b.id > %(after)s
    -- of a job that weft.schedule wrote down nobody knows yet what it does
    and (j.kind is not null or j.status = 'DELETED')
order by b.id
limit %(take)s
for no key update of b skip locked;

-- name: move_backfill
update weft.backfills as b
set next_time = %(next_time)s::timestamptz,
    made = b.made + %(made)s,
    state = %(state)s,
    updated_at = weft.now()
where b.id = %(id)s;
