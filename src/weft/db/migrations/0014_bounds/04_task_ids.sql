-- The id of a task of a DAG can be made from the DAG's and its name here too, instead of being looked for in the whole version.
update weft.definition_versions as v
set nodes = (
    select coalesce(
        jsonb_agg(n.node || jsonb_build_object('id', afl.place_id(v.definition_id, n.node ->> 'name')) order by n.number),
        '[]')
    from jsonb_array_elements(v.nodes) with ordinality as n (node, number)
)
from weft.definitions as d
where d.id = v.definition_id and d.kind = 'dag';

create or replace view scheduler.task_dependencies with (security_invoker = true) as
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

create or replace view scheduler.task_instances with (security_invoker = true) as
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
