-- Seed 002 (job scheduler): its entities as views over ours, columns in its order. DAGs: scheduler_dags.sql.

create schema if not exists scheduler;
grant usage on schema scheduler to weft_engine, weft_tenant;

create view scheduler.tenants with (security_invoker = true) as
select
    o.id as tenant_id,
    o.name,
    o.tier,
    o.max_jobs,
    o.max_concurrent,
    o.created_at
from weft.orgs as o;

create view scheduler.workers with (security_invoker = true) as
select
    n.id as worker_id,
    n.hostname,
    n.status,
    n.concurrency as capacity,
    (
        select count(*)::integer
        from weft.tasks as t
        where t.state = 'running' and t.node_id = n.id
    ) as running_jobs,
    n.beat_at as last_heartbeat
from weft.nodes as n
-- no role named: all of them
where n.roles = '{}' or 'worker' = any(n.roles);

create view scheduler.jobs with (security_invoker = true) as
select
    j.id as job_id,
    j.org_id as tenant_id,
    j.name::varchar(255) as name,
    j.job_type::varchar(50) as job_type,
    j.cron_expression::varchar(100) as cron_expression,
    j.timezone::varchar(50) as timezone,
    j.payload,
    j.retry_config,
    j.status::varchar(20) as status,
    j.next_run_time,
    j.last_run_time,
    j.created_at,
    j.updated_at,
    j.version
from weft.jobs as j;

create view scheduler.executions with (security_invoker = true) as
select
    e.id as execution_id,
    e.job_id,
    e.worker_id,
    e.attempt_number,
    e.status::varchar(20) as status,
    e.scheduled_time,
    e.queued_at,
    e.started_at,
    e.completed_at,
    e.result,
    e.error_message,
    ('/v1/executions/' || e.id || '/logs')::varchar(500) as logs_url
from weft.execution_states as e;

grant select on scheduler.tenants, scheduler.workers, scheduler.jobs, scheduler.executions to weft_engine, weft_tenant;
