-- Seed 004 (orchestration): its tables as views over ours, columns in its order.

create schema if not exists orchestration;
grant usage on schema orchestration to weft_engine, weft_tenant;

create view orchestration.orgs with (security_invoker = true) as
select
    o.id,
    o.name,
    o.slug,
    o.settings,
    o.created_at
from weft.orgs as o;

create view orchestration.users with (security_invoker = true) as
select
    u.id,
    u.org_id,
    u.external_id,
    u.email,
    u.role,
    u.created_at
from weft.users as u;

create view orchestration.org_roles with (security_invoker = true) as
select
    r.id,
    r.org_id,
    r.slug,
    r.name,
    r.created_at
from weft.org_roles as r;

create view orchestration.org_role_memberships with (security_invoker = true) as
select
    m.role_id,
    m.user_id,
    m.created_at
from weft.org_role_memberships as m;

create view orchestration.tasks with (security_invoker = true) as
select
    t.id,
    t.job_id,
    t.dedupe_key,
    case
        when t.state = 'running' then 'Running'
        when t.attempt > t.uncounted and t.run_at > weft.now() then 'Failed'
        else 'Queued'
    end as status,
    -- the number that fences the lease: of the attempt that runs, that failed last, or that comes next
    case
        when t.state = 'running' or (t.attempt > t.uncounted and t.run_at > weft.now()) then t.attempt::integer
        else t.attempt + 1
    end as attempt,
    -- partitions and input versions come with pipelines
    null::text[] as partitions,
    null::jsonb as input_versions,
    t.node_id::text as worker_id,
    t.lease_token,
    -- without a lease of its own the task hangs on its worker's beat
    coalesce(t.lease_until, n.beat_at + n.lease) as lease_expires_at,
    case
        when t.lease_until is not null then t.lease_until - coalesce(t.heartbeat_timeout, interval '120 seconds')
        else n.beat_at
    end as last_heartbeat,
    t.started_at,
    null::timestamptz as completed_at,
    case when t.state <> 'running' and t.attempt > t.uncounted and t.run_at > weft.now() then t.run_at
    end as next_retry_at,
    t.error ->> 'message' as error_message,
    null::jsonb as outputs,
    t.created_at
from weft.tasks as t
left join weft.nodes as n
    on n.id = t.node_id
union all
select
    h.id,
    h.job_id,
    h.dedupe_key,
    case
        when h.state = 'completed' or h.reason in ('discarded', 'skipped') then 'Completed'
        when h.state = 'cancelled' then 'Canceled'
        else 'Failed'
    end,
    greatest(h.attempt::integer, 1),
    null::text[],
    null::jsonb,
    h.node_id::text,
    h.lease_token,
    null::timestamptz,
    null::timestamptz,
    h.started_at,
    h.finished_at,
    null::timestamptz,
    h.error ->> 'message',
    h.result,
    h.created_at
from weft.task_history as h;

grant select on orchestration.orgs, orchestration.users, orchestration.org_roles, orchestration.org_role_memberships,
    orchestration.tasks to weft_engine, weft_tenant;
