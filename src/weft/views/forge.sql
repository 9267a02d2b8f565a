-- Seed 003 (FORGE): its tables as views over ours, columns in its order. Read only; nothing is stored here.
-- The words follow the map of states in docs/reference/seeds.md.

create schema if not exists forge;
grant usage on schema forge to weft_engine, weft_tenant;

create view forge.forge_nodes with (security_invoker = true) as
select
    n.id,
    n.hostname::varchar(255) as hostname,
    n.ip_address::varchar(64) as ip_address,
    n.http_port,
    -- vestigial: nodes talk through the database only
    0 as grpc_port,
    n.roles,
    n.capabilities as worker_capabilities,
    n.status::varchar(32) as status,
    n.version::varchar(64) as version,
    n.started_at,
    n.beat_at as last_heartbeat
from weft.nodes as n;

create view forge.forge_leaders with (security_invoker = true) as
select
    l.role::varchar(64) as role,
    l.node_id,
    l.acquired_at,
    l.lease_until
from weft.leaders as l;

create view forge.forge_jobs with (security_invoker = true) as
select
    t.id,
    t.kind::varchar(255) as job_type,
    t.payload as input,
    null::jsonb as output,
    (case
        when t.state = 'running' and t.started_at is null then 'claimed'
        when t.state = 'running' then 'running'
        -- a claim that used up no attempt (lost, snoozed, given back) is not a failure
        when t.attempt > t.uncounted then 'retry'
        else 'pending'
    end)::varchar(32) as status,
    100 - t.urgency as priority,
    (t.attempt - t.uncounted)::integer as attempts,
    -- 3 is the kernel's default; what a handler declares is known to its worker only
    coalesce(t.max_attempts, 3)::integer as max_attempts,
    t.error ->> 'message' as last_error,
    coalesce(t.progress, 0)::integer as progress_percent,
    t.progress_message,
    nullif(substr(t.lane, length(t.queue) + 2), '')::varchar as worker_capability,
    t.node_id as worker_id,
    t.dedupe_key::varchar as idempotency_key,
    t.run_at as scheduled_at,
    t.created_at,
    t.claimed_at,
    t.started_at,
    null::timestamptz as completed_at,
    null::timestamptz as failed_at,
    -- a task is as alive as its worker's beat; an HTTP worker's task has a lease of its own
    case
        when t.lease_until is not null then t.lease_until - coalesce(t.heartbeat_timeout, interval '120 seconds')
        else n.beat_at
    end as last_heartbeat
from weft.tasks as t
left join weft.nodes as n
    on n.id = t.node_id
union all
select
    h.id,
    h.kind::varchar(255),
    h.payload,
    h.result,
    (case
        when h.state = 'completed' or h.reason in ('discarded', 'skipped') then 'completed'
        when h.state = 'failed' and h.reason in ('dead', 'lost') then 'dead_letter'
        else 'failed'
    end)::varchar(32),
    100 - h.urgency,
    (h.attempt - h.uncounted)::integer,
    coalesce(h.max_attempts, 3)::integer,
    h.error ->> 'message',
    coalesce(h.progress, 0)::integer,
    h.progress_message,
    nullif(substr(h.lane, length(h.queue) + 2), '')::varchar,
    h.node_id,
    h.dedupe_key::varchar,
    h.run_at,
    h.created_at,
    h.claimed_at,
    h.started_at,
    case when h.state = 'completed' or h.reason in ('discarded', 'skipped') then h.finished_at end,
    case when h.state <> 'completed' and coalesce(h.reason, '') not in ('discarded', 'skipped') then h.finished_at end,
    null::timestamptz
from weft.task_history as h;

create view forge.forge_cron_runs with (security_invoker = true) as
select
    e.id,
    j.name::varchar(255) as cron_name,
    e.scheduled_time,
    (case e.status
        when 'PENDING' then 'pending'
        when 'QUEUED' then 'pending'
        when 'RUNNING' then 'running'
        when 'COMPLETED' then 'completed'
        else 'failed'
    end)::varchar(32) as status,
    e.worker_id as node_id,
    e.started_at,
    e.completed_at,
    e.error_message as error
from weft.execution_states as e
join weft.jobs as j
    on j.id = e.job_id
where j.job_type = 'CRON';

create view forge.forge_migrations with (security_invoker = true) as
select
    m.id,
    m.name::varchar(255) as name,
    m.applied_at,
    m.down_sql
from weft.migrations as m;

create view forge.forge_sessions with (security_invoker = true) as
select
    s.id,
    s.node_id,
    s.actor::varchar(255) as user_id,
    s.connected_at,
    s.last_activity,
    s.status::varchar(32) as status
from weft.live_sessions as s;

create view forge.forge_subscriptions with (security_invoker = true) as
select
    s.id,
    s.session_id,
    s.query_name::varchar(255) as query_name,
    s.query_hash::varchar(64) as query_hash,
    s.args,
    s.created_at
from weft.live_subscriptions as s;

grant select on forge.forge_sessions, forge.forge_subscriptions to weft_engine, weft_tenant;
grant select on forge.forge_nodes, forge.forge_jobs, forge.forge_cron_runs, forge.forge_migrations to weft_engine, weft_tenant;
-- who leads is not a tenant's business: weft.leaders is the engine's
grant select on forge.forge_leaders to weft_engine;
