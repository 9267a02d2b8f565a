-- jobs: what is to be done and when. An execution's state is its task's, never a copy.

create table weft.jobs (
    id uuid primary key default weft.uuid7(),
    org_id uuid not null,
    name text not null,
    job_type text not null check (job_type in ('CRON', 'ONE_TIME', 'DELAYED')),
    cron_expression text,
    timezone text not null default 'UTC',
    -- the one time of a job that is no CRON; of a DELAYED job when it was made and how long that was to wait
    run_at timestamptz,
    delay interval,
    payload jsonb not null check (jsonb_typeof(payload) = 'object'),
    -- what the payload asks for, read when the job is written. Null: nobody has read it yet (weft.schedule)
    kind text,
    args jsonb,
    -- secrets that the payload names; looked for before it is dispatched
    secrets text[],
    -- as it was said, and as a task has it
    retry_config jsonb not null default '{}',
    retry jsonb,
    max_attempts smallint not null default 3 check (max_attempts between 1 and 1000),
    timeout interval check (timeout > interval '0'),
    queue text not null default 'default',
    priority smallint not null default 5 check (priority between 0 and 9),
    tags text[] not null default '{}',
    misfire text not null default 'fire_once' check (misfire in ('fire_once', 'skip', 'catch_up')),
    catch_up_limit integer not null default 100 check (catch_up_limit between 1 and 1000),
    overlap text not null default 'allow' check (overlap in ('allow', 'skip', 'queue', 'cancel_previous')),
    jitter interval not null default '0' check (jitter >= interval '0'),
    start_at timestamptz,
    end_at timestamptz,
    status text not null default 'ACTIVE' check (status in ('ACTIVE', 'PAUSED', 'COMPLETED', 'DELETED')),
    -- the time it waits for, and when the scheduler is to look (later by the jitter). Both null: it waits for nothing
    next_run_time timestamptz,
    due_at timestamptz,
    last_run_time timestamptz,
    -- why the scheduler set it aside: {code, message, at}
    error jsonb,
    -- what owns it: `app:NAME` for @app.cron, `dag:NAME` for a DAG's schedule. Null: people
    owner text,
    version integer not null default 1,
    created_at timestamptz not null default weft.now(),
    updated_at timestamptz not null default weft.now(),
    check (job_type <> 'CRON' or cron_expression is not null),
    check (due_at is null or status = 'ACTIVE'),
    check (end_at >= start_at),
    -- what the scheduler could not read would stop it for everybody
    constraint "run_at must be between 1970 and 2189" check (run_at >= '1970-01-01Z' and run_at < '2190-01-01Z'),
    constraint "start_at and end_at must be between 1970 and 2189" check (
        start_at >= '1970-01-01Z' and start_at < '2190-01-01Z' and end_at >= '1970-01-01Z' and end_at < '2190-01-01Z'),
    constraint "delay must be at most ten years" check (delay >= '0' and delay <= '3660 days'),
    constraint "timeout must be at most ten years" check (timeout <= '3660 days')
)
with (fillfactor = 80);

-- The scheduler's look: what is due comes first, and nothing else is touched.
create index jobs_due on weft.jobs (due_at, id) where due_at is not null;
-- By bytes, so that names that begin alike lie together whatever the database's own order is.
create unique index jobs_by_name on weft.jobs (org_id, name collate "C") where status <> 'DELETED';
create index jobs_by_org on weft.jobs (org_id, id);
-- What is over, for retention.
create index jobs_over on weft.jobs (greatest(updated_at, last_run_time)) where status in ('COMPLETED', 'DELETED');
create index jobs_owned on weft.jobs (org_id, owner) where owner is not null;

-- One time of a job. Its id is its task's: state, result and log are looked up there.
create table weft.executions (
    id uuid primary key,
    org_id uuid not null,
    job_id uuid not null,
    scheduled_time timestamptz not null,
    -- '': a time of the schedule, which there is once. Otherwise what makes a trigger or a backfill's time the same one
    key text not null default '',
    trigger text not null default 'schedule' check (trigger in ('schedule', 'manual', 'backfill')),
    backfill_id uuid,
    -- the oldest time that this one stands for, if some were missed
    missed_since timestamptz,
    -- it never became a task, and why
    skipped text
);

-- One execution for each time, whatever crashes; and a job's executions in their order.
create unique index executions_once on weft.executions (job_id, scheduled_time, key);
create unique index executions_by_key on weft.executions (job_id, key) where key <> '';

-- Past times of a job, made little by little.
create table weft.backfills (
    id uuid primary key default weft.uuid7(),
    org_id uuid not null,
    job_id uuid not null,
    start_time timestamptz not null,
    end_time timestamptz not null,
    -- how many of its executions may be unfinished at a time
    max_active integer not null check (max_active between 1 and 1000),
    state text not null default 'RUNNING' check (state in ('RUNNING', 'COMPLETED', 'CANCELLED')),
    -- the next time to make
    next_time timestamptz,
    made integer not null default 0,
    actor text not null,
    created_at timestamptz not null default weft.now(),
    updated_at timestamptz not null default weft.now()
);

create index backfills_running on weft.backfills (id) where state = 'RUNNING';
create index backfills_by_job on weft.backfills (job_id, id);

call weft.org_wall('jobs', 'executions', 'backfills');

grant select, insert, update, delete on weft.jobs, weft.executions, weft.backfills to weft_engine;
-- nobody's job is taken away on behalf of a user: deleting is a status
grant select, insert, update on weft.jobs, weft.backfills to weft_tenant;
grant select, insert on weft.executions to weft_tenant;

-- Executions as they are now. One whose task retention has taken away is not there any more.
create view weft.execution_states with (security_invoker = true) as
select
    e.id,
    e.org_id,
    e.job_id,
    e.scheduled_time,
    e.key,
    e.trigger,
    e.backfill_id,
    e.missed_since,
    case
        when e.skipped is not null then 'CANCELLED'
        when t.state = 'running' then 'RUNNING'
        when t.state = 'scheduled' and t.attempt = 0 then 'PENDING'
        when t.id is not null then 'QUEUED'
        when h.state = 'completed' then 'COMPLETED'
        when h.state = 'timed_out' then 'TIMEOUT'
        when h.state = 'cancelled' then 'CANCELLED'
        else 'FAILED'
    end as status,
    -- counted from 1: the one that runs or ran last, or the one to come
    case
        when e.skipped is not null then 1
        when t.id is not null then t.attempt - t.uncounted + (t.state <> 'running')::integer
        else greatest(h.attempt - h.uncounted, 1)
    end as attempt_number,
    coalesce(t.node_id, h.node_id) as worker_id,
    coalesce(t.created_at, h.created_at, weft.uuid7_time(e.id)) as queued_at,
    coalesce(t.started_at, t.claimed_at, h.started_at, h.claimed_at) as started_at,
    case when e.skipped is not null then weft.uuid7_time(e.id) else h.finished_at end as completed_at,
    h.result,
    coalesce(e.skipped, t.error ->> 'message', h.error ->> 'message') as error_message,
    coalesce(t.attempts, h.attempts) as attempts,
    t.cancel_requested_at,
    e.skipped is not null as skipped
from weft.executions as e
left join weft.tasks as t
    on t.id = e.id and t.org_id = e.org_id
left join weft.task_history as h
    on h.id = e.id and h.org_id = e.org_id
where e.skipped is not null or t.id is not null or h.id is not null;

grant select on weft.execution_states to weft_engine, weft_tenant;
