-- Seed 002 (job scheduler): its entities as views over ours, columns in its order. Jobs, executions and DAGs come
-- with their tables.

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

grant select on scheduler.tenants, scheduler.workers to weft_engine, weft_tenant;
