-- Seed 002 (job scheduler): DAGs, their runs and task instances, columns in its order. A task's id is made of the DAG's and
-- the task's name (`afl.place_id`: a UUID of version 3), so nobody needs to look it up among all tasks of a version.

create view scheduler.dags with (security_invoker = true) as
select
    d.id as dag_id,
    d.org_id as tenant_id,
    d.name::varchar(255) as name,
    d.cron_expression::varchar(100) as cron_expression,
    d.timezone::varchar(50) as timezone,
    coalesce(v.header -> 'config', '{}') as config,
    upper(d.status)::varchar(20) as status,
    j.next_run_time,
    d.created_at,
    d.updated_at
from weft.definitions as d
left join weft.definition_versions as v
    on v.definition_id = d.id and v.version = d.version
left join weft.jobs as j
    on j.org_id = d.org_id and j.owner = 'dag:' || d.name and j.status <> 'DELETED' and d.status <> 'deleted'
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
select
    -- of the two ids, so that it stays the same
    md5((n.node ->> 'id') || o.task_id::text)::uuid as dependency_id,
    (n.node ->> 'id')::uuid as task_id,
    o.task_id as depends_on_task_id
from weft.definitions as d
join weft.definition_versions as v
    on v.definition_id = d.id and v.version = d.version
cross join lateral jsonb_array_elements(v.nodes) as n (node)
cross join lateral (
    select afl.place_id(d.id, w.name)::uuid as task_id
    from jsonb_array_elements_text(n.node -> 'dependencies') as w (name)
) as o
where d.kind = 'dag';

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
    afl.place_id(r.definition_id, s.node)::uuid as task_id,
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
