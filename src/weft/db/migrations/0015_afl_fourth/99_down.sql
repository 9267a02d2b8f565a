-- @down
-- What a step is, by the names that compiled programs have: a block, one of its elements, a catch, a call, a statement.
create or replace function afl.object_type(container text, node text, foreach boolean, catching boolean) returns text
language sql immutable parallel safe
return case
    when catching then 'Catch'
    when node like 'andThen#%' and foreach then 'AndMap'
    when node like 'andThen#% case %' or node like '% if %' or node like '% any %' then 'AndMatch'
    when node like 'andThen#%' then 'AndThen'
    when node in ('(work)', '(script)', '(try)') or container like '%/' || node then 'Facet'
    else 'VariableAssignment'
end;

-- The statement that a step is of: the call itself of one that has a body stands in a block named after it.
create or replace function afl.statement_id(flow uuid, container text, node text) returns text
language sql immutable parallel safe
return afl.place_id(
    flow, 'statement ' || case when container like '%/' || node then container else container || '/' || node end);

create or replace view afl.events with (security_invoker = true) as
select
    s.task_id::text as uuid,
    s.run_id::text as partition_key,
    coalesce(t.correlation_id, i.correlation_id, s.run_id::text) as correlation_id,
    -- what the engine does itself has a name of ours
    case when coalesce(t.kind, i.kind) like 'weft.%' then 'workflow' else 'command' end as purpose,
    s.run_id::text as runner_id,
    coalesce(t.queue, i.queue) as topic,
    coalesce(t.kind, i.kind) as handler,
    case
        when t.state = 'running' then 'running'
        when t.id is not null then 'pending'
        when i.reason in ('discarded', 'skipped') then 'ignored'
        when i.state = 'completed' then 'completed'
        else 'error'
    end as state,
    s.id::text as step_id,
    afl.milliseconds(coalesce(t.created_at, i.created_at)) as created,
    afl.milliseconds(
        coalesce(i.finished_at, greatest(t.created_at, t.claimed_at, t.started_at, (t.attempts -> -1 ->> 'ended_at')::timestamptz))
    ) as updated,
    jsonb_build_object(
        'payload', coalesce(t.payload, i.payload), 'result', i.result,
        'attempt', coalesce(t.attempt - t.uncounted, i.attempt - i.uncounted)) as event_data,
    coalesce(t.error, i.error) as error,
    jsonb_build_object(
        'statement_id', afl.statement_id(r.definition_id, coalesce(h.block, r.name), s.node),
        'block', coalesce(h.block, r.name), 'node', s.node, 'element', s.element) as cursor,
    s.run_id,
    s.task_id as id
from weft.steps as s
join weft.runs as r
    on r.id = s.run_id and r.kind = 'flow'
left join weft.steps as h
    on h.id = s.frame_id
left join weft.tasks as t
    on t.id = s.task_id
left join weft.task_history as i
    on i.id = s.task_id and i.org_id = s.org_id
where s.task_id is not null and (t.id is not null or i.id is not null);

drop index weft.flow_versions_by_path, weft.run_logs_of_object;
-- a view that loses a column is made anew
drop view afl.flows;
create view afl.flows with (security_invoker = true) as
select
    d.id::text as uuid,
    jsonb_build_object('name', d.name, 'path', f.path, 'uuid', d.id) as name,
    f.lists -> 'namespaces' as namespaces,
    f.lists -> 'facets' as facets,
    f.lists -> 'workflows' as workflows,
    f.lists -> 'mixins' as mixins,
    f.lists -> 'blocks' as blocks,
    f.lists -> 'statements' as statements,
    f.lists -> 'arguments' as arguments,
    f.lists -> 'references' as "references",
    f.lists -> 'script_code' as script_code,
    coalesce(f.lists -> 'file_artifacts', '[]') as file_artifacts,
    coalesce(f.lists -> 'jar_artifacts', '[]') as jar_artifacts,
    coalesce(f.lists -> 'resources', '[]') as resources,
    (
        select coalesce(
            jsonb_agg(jsonb_build_object('name', s.value ->> 'name', 'language', 'afl', 'text', s.value ->> 'text')), '[]')
        from jsonb_array_elements(f.sources) as s
    ) as text_sources,
    nullif(f.lists -> 'inline', 'null') as inline,
    nullif(f.lists -> 'classification', 'null') as classification,
    nullif(f.lists -> 'publisher', 'null') as publisher,
    nullif(f.lists -> 'ownership', 'null') as ownership,
    (
        select coalesce(
            jsonb_agg(
                jsonb_build_object('name', w.name, 'language', 'weft-plan', 'text', p.plan) order by w.number),
            '[]')
        from weft.flow_workflows as w
        join weft.plans as p
            on p.org_id = w.org_id and p.hash = w.plan_hash
        where w.definition_id = d.id and w.version = d.version
    ) as compiled_sources
from weft.definitions as d
join weft.flow_versions as f
    on f.definition_id = d.id and f.version = d.version
where d.kind = 'flow' and d.status <> 'deleted';

grant select on afl.flows to weft_engine, weft_tenant;
