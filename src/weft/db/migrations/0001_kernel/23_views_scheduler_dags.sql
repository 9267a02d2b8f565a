-- Seed 002 (job scheduler): DAGs, their runs and task instances, columns in its order.

create view scheduler.dags with (security_invoker = true) as
select
    d.id as dag_id,
    d.org_id as tenant_id,
    d.name::varchar(255) as name,
    d.cron_expression::varchar(100) as cron_expression,
    d.timezone::varchar(50) as timezone,
    coalesce(v.header -> 'config', '{}') as config,
    upper(d.status)::varchar(20) as status,
    d.next_run_time,
    d.created_at,
    d.updated_at
from weft.definitions as d
left join weft.definition_versions as v
    on v.definition_id = d.id and v.version = d.version
where d.kind = 'dag';

-- The tasks of the active version.
create view scheduler.dag_tasks with (security_invoker = true) as
select
    (n.node ->> 'id')::uuid as task_id,
    d.id as dag_id,
    (n.node ->> 'name')::varchar(255) as name,
    n.node -> 'payload' as payload,
    round((n.node ->> 'timeout_seconds')::numeric)::integer as timeout_seconds,
    (n.node ->> 'max_retries')::integer as max_retries
from weft.definitions as d
join weft.definition_versions as v
    on v.definition_id = d.id and v.version = d.version
cross join lateral jsonb_array_elements(v.nodes) as n (node)
where d.kind = 'dag';

create view scheduler.task_dependencies with (security_invoker = true) as
with named as (
    select d.id as dag_id, (n.node ->> 'id')::uuid as task_id, n.node ->> 'name' as name, n.node -> 'dependencies' as waits
    from weft.definitions as d
    join weft.definition_versions as v
        on v.definition_id = d.id and v.version = d.version
    cross join lateral jsonb_array_elements(v.nodes) as n (node)
    where d.kind = 'dag'
)
select
    -- of the two ids, so that it stays the same
    md5(t.task_id::text || o.task_id::text)::uuid as dependency_id,
    t.task_id,
    o.task_id as depends_on_task_id
from named as t
cross join lateral jsonb_array_elements_text(t.waits) as w (name)
join named as o
    on o.dag_id = t.dag_id and o.name = w.name;

create view scheduler.dag_runs with (security_invoker = true) as
select
    r.id as dag_run_id,
    r.definition_id as dag_id,
    case r.state
        when 'created' then 'PENDING'
        when 'completed' then 'COMPLETED'
        when 'failed' then 'FAILED'
        when 'compensated' then 'FAILED'
        when 'cancelled' then 'CANCELLED'
        else 'RUNNING'
    end::varchar(20) as status,
    r.logical_date as scheduled_time,
    r.started_at,
    r.finished_at as completed_at,
    r.config
from weft.runs as r
where r.kind = 'dag';

create view scheduler.task_instances with (security_invoker = true) as
select
    s.id as instance_id,
    s.run_id as dag_run_id,
    (
        select (n.node ->> 'id')::uuid
        from weft.definition_versions as v
        cross join lateral jsonb_array_elements(v.nodes) as n (node)
        where v.definition_id = r.definition_id and v.version = r.version and n.node ->> 'name' = s.node
    ) as task_id,
    case s.state
        when 'pending' then 'PENDING'
        when 'completed' then 'COMPLETED'
        when 'failed' then 'FAILED'
        when 'compensated' then 'FAILED'
        when 'timed_out' then 'TIMEOUT'
        when 'running' then case
            when t.state is null or t.state = 'running' then 'RUNNING'
            when t.state = 'scheduled' and t.attempt = 0 then 'PENDING'
            else 'QUEUED'
        end
        else 'CANCELLED'
    end::varchar(20) as status,
    greatest(coalesce(t.attempt - t.uncounted, 0), s.attempt) as attempt_number,
    coalesce(s.started_at, t.started_at, t.claimed_at) as started_at,
    s.finished_at as completed_at,
    s.error ->> 'message' as error_message
from weft.steps as s
join weft.runs as r
    on r.id = s.run_id and r.kind = 'dag'
left join weft.tasks as t
    on t.id = s.task_id and s.state = 'running'
where s.frame_id = s.run_id and s.element = -1 and not s.catching;

grant select on scheduler.dags, scheduler.dag_tasks, scheduler.task_dependencies, scheduler.dag_runs,
    scheduler.task_instances to weft_engine, weft_tenant;
