-- Seed 000 (AFL): flows, workflows, runners, steps, events and logs.

-- The id of a place in a flow, as `afl/definition.py` makes it: a UUID of version 3.
create function afl.place_id(flow uuid, place text) returns text
language sql immutable parallel safe
return (
    select overlay(
        overlay(m.h placing '3' from 13 for 1) placing to_hex((('x' || substr(m.h, 17, 1))::bit(4)::integer & 3) | 8)
        from 17 for 1)::uuid::text
    from md5(uuid_send(flow) || convert_to(place, 'UTF8')) as m (h)
);

-- What a step is, by the names that compiled programs have: `andThen#1`, `andMatch#2 case 1`, `step andThen#1`, `catch if 2`
-- are bodies and their cases; a call that stands in a block of its own name is the facet of a step with a body.
create function afl.object_type(container text, node text, foreach boolean, catching boolean) returns text
language sql immutable parallel safe
return case
    when catching then 'Catch'
    when node ~ '^([A-Za-z_]\w* )?(andThen|andMap|andMatch)#\d+$'
        then case when foreach or node like '%andMap#%' then 'AndMap' else 'AndThen' end
    when node ~ '^(([A-Za-z_]\w* )?(andThen|andMatch)#\d+|catch) (case|if|any) \d+$' then 'AndMatch'
    when node in ('(work)', '(script)', '(try)') or right(container, length(node) + 1) = '/' || node then 'Facet'
    else 'VariableAssignment'
end;

-- The statement that a step is of: the call itself of one that has a body stands in a block named after it.
create function afl.statement_id(flow uuid, container text, node text) returns text
language sql immutable parallel safe
return afl.place_id(
    flow,
    'statement ' || case when right(container, length(node) + 1) = '/' || node then container else container || '/' || node end);

create function afl.parameters(given jsonb) returns jsonb
language sql immutable parallel safe
return (
    select coalesce(
        jsonb_agg(
            jsonb_build_object('name', p.key, 'type', 'Json', 'value', p.value, 'has_default', false) order by p.key),
        '[]')
    from jsonb_each(case jsonb_typeof(given) when 'object' then given else '{}' end) as p
);

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
    ) as compiled_sources,
    d.id
from weft.definitions as d
join weft.flow_versions as f
    on f.definition_id = d.id and f.version = d.version
where d.kind = 'flow' and d.status <> 'deleted';

create view afl.workflows with (security_invoker = true) as
select
    w.id::text as uuid,
    substring(w.name from '[^.]+$') as name,
    afl.place_id(w.definition_id, 'namespace ' || coalesce(substring(w.name from '^(.*)\.[^.]*$'), '')) as namespace_id,
    afl.place_id(w.definition_id, 'facet ' || w.name) as facet_id,
    w.definition_id::text as flow_id,
    w.name as starting_step,
    w.plan_hash as version,
    jsonb_build_object('entries', jsonb_build_object('qualified_name', w.name, 'flow_version', w.version)) as metadata,
    nullif(w.documentation, '') as documentation,
    afl.milliseconds(v.created_at) as date
from weft.flow_workflows as w
join weft.definitions as d
    on d.id = w.definition_id and d.version = w.version and d.status <> 'deleted'
join weft.definition_versions as v
    on v.definition_id = w.definition_id and v.version = w.version;

create view afl.runners with (security_invoker = true) as
select
    r.id::text as uuid,
    coalesce(w.id::text, '') as workflow_id,
    jsonb_build_object(
        'uuid', coalesce(w.id::text, ''), 'name', substring(r.name from '[^.]+$'),
        'namespace_id',
        coalesce(
            afl.place_id(r.definition_id, 'namespace ' || coalesce(substring(r.name from '^(.*)\.[^.]*$'), '')), ''),
        'facet_id', coalesce(afl.place_id(r.definition_id, 'facet ' || r.name), ''),
        'flow_id', coalesce(r.definition_id::text, ''), 'starting_step', r.name, 'version', r.plan_hash,
        'metadata', jsonb_build_object('entries', jsonb_build_object('qualified_name', r.name, 'flow_version', r.version)),
        'documentation', nullif(w.documentation, ''), 'date', afl.milliseconds(r.created_at)
    ) as workflow,
    afl.parameters(r.params) as parameters,
    (
        -- the work it waits for, the oldest
        select s.id::text
        from weft.steps as s
        where s.run_id = r.id and s.state = 'running' and s.task_id is not null
        order by s.id
        limit 1
    ) as step_id,
    case when r.actor is not null then jsonb_build_object('email', r.actor, 'name', '', 'uuid', '') end as "user",
    coalesce(afl.milliseconds(r.started_at), 0) as start_time,
    coalesce(afl.milliseconds(r.finished_at), 0) as end_time,
    coalesce(afl.milliseconds(coalesce(r.finished_at, weft.now())) - afl.milliseconds(r.started_at), 0) as duration,
    coalesce(floor(extract(epoch from r.retention) * 1000)::bigint, 0) as retain,
    case
        when r.state in ('waiting', 'blocked') then 'running'
        when r.state in ('compensating', 'compensated') then 'failed'
        when r.state in ('created', 'running', 'completed', 'failed', 'paused', 'cancelled') then r.state
        else 'unknown'
    end as state,
    r.id
from weft.runs as r
left join weft.flow_workflows as w
    on w.definition_id = r.definition_id and w.version = r.version and w.name = r.name
where r.kind = 'flow';

create view afl.steps with (security_invoker = true) as
select
    s.id::text as uuid,
    case
        when n.object_type = 'Schema' then n.object_type
        else afl.object_type(coalesce(h.block, r.name), s.node, s.element >= 0 or s.parts_made > 0, s.catching)
    end as object_type,
    s.run_id::text as runner_id,
    coalesce(w.id::text, '') as workflow_id,
    n.id as statement_id,
    case
        when h.id is not null
            then afl.object_type(coalesce(g.block, r.name), h.node, h.element >= 0 or h.parts_made > 0, h.catching)
        else 'Facet'
    end as container_type,
    h.id::text as container_id,
    s.run_id::text as root_id,
    case
        when coalesce(h.block, r.name) like '%/%' then afl.place_id(r.definition_id, 'block ' || h.block)
        else afl.place_id(r.definition_id, 'facet ' || coalesce(h.block, r.name))
    end as block_id,
    jsonb_build_object(
        'created', afl.milliseconds(s.created_at), 'started', coalesce(afl.milliseconds(s.started_at), 0),
        'ended', coalesce(afl.milliseconds(s.finished_at), 0)) as timestamp,
    jsonb_build_object(
        'name', coalesce(n.facet_name, s.block, t.kind, i.kind, ''), 'parameters', coalesce(s.params, t.payload, i.payload, '{}'),
        'returns', s.output) as facets,
    r.definition_id::text as flow_definition_id,
    jsonb_build_object('uuid', r.definition_id, 'version', r.version, 'plan', r.plan_hash) as flow_definition_json,
    jsonb_build_object(
        'node', s.node, 'element', s.element, 'item', s.item, 'task_id', s.task_id, 'attempt', s.attempt,
        'reruns', s.reruns, 'parts', s.parts, 'parts_ended', s.parts_ended, 'parts_failed', s.parts_failed) as extra_data,
    -- vestigial: what holds a run is its row's lock
    '' as lock_status,
    s.frame_id = s.run_id and s.waits = 0 as is_starting_step,
    afl.parameters(coalesce(s.params, t.payload, i.payload)) as parameters,
    s.state,
    s.error,
    s.run_id,
    s.id
from weft.steps as s
join weft.runs as r
    on r.id = s.run_id and r.kind = 'flow'
left join weft.flow_workflows as w
    on w.definition_id = r.definition_id and w.version = r.version and w.name = r.name
left join weft.steps as h
    on h.id = s.frame_id
left join weft.steps as g
    on g.id = h.frame_id
left join weft.flow_statements as n
    on n.definition_id = r.definition_id
    and n.version = r.version
    and n.id = afl.statement_id(r.definition_id, coalesce(h.block, r.name), s.node)
left join weft.tasks as t
    on t.id = s.task_id
left join weft.task_history as i
    on i.id = s.task_id and i.org_id = s.org_id
union all
-- A yield is no work: it happens when its block ends. Its row is its block's, seen from the statement.
select
    afl.place_id(h.id, n.id),
    'Yield',
    h.run_id::text,
    coalesce(w.id::text, ''),
    n.id,
    afl.object_type(coalesce(g.block, r.name), h.node, h.element >= 0 or h.parts_made > 0, h.catching),
    h.id::text,
    h.run_id::text,
    n.block_id,
    jsonb_build_object(
        'created', afl.milliseconds(h.created_at), 'started', coalesce(afl.milliseconds(h.finished_at), 0),
        'ended', coalesce(afl.milliseconds(h.finished_at), 0)),
    jsonb_build_object(
        'name', n.facet_name, 'parameters', case when h.state = 'completed' then coalesce(h.output, '{}') else '{}' end,
        'returns', null),
    r.definition_id::text,
    jsonb_build_object('uuid', r.definition_id, 'version', r.version, 'plan', r.plan_hash),
    jsonb_build_object('node', 'yield', 'element', h.element, 'item', h.item),
    '',
    false,
    afl.parameters(case when h.state = 'completed' then h.output end),
    case when h.state = 'completed' then 'completed' when h.state in ('pending', 'running') then 'pending' else 'skipped' end,
    null,
    h.run_id,
    -- found by its run, not by itself
    null
from weft.steps as h
join weft.runs as r
    on r.id = h.run_id and r.kind = 'flow'
join weft.flow_statements as n
    on n.definition_id = r.definition_id
    and n.version = r.version
    and n.block_id = afl.place_id(r.definition_id, 'block ' || h.block)
    and n.object_type = 'Yield'
left join weft.flow_workflows as w
    on w.definition_id = r.definition_id and w.version = r.version and w.name = r.name
left join weft.steps as g
    on g.id = h.frame_id
where h.block is not null;

-- An event is what a step asks to be done; its processing is the task of the same id.
create view afl.events with (security_invoker = true) as
select
    s.task_id::text as uuid,
    s.run_id::text as partition_key,
    coalesce(t.correlation_id, i.correlation_id, s.run_id::text) as correlation_id,
    -- what the engine does itself: scripts, and what has a name of ours
    case
        when coalesce(t.kind, i.kind) like 'weft.%' or coalesce(t.kind, i.kind) = 'afl.script' then 'workflow' else 'command'
    end as purpose,
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

-- What agents log with their tasks, how steps ended, and what was written with the DAO.
create view afl.logs with (security_invoker = true) as
select
    a.uuid, row_number() over (partition by a.run_id order by a.at, a.uuid)::integer as "order", a.run_id::text as runner_id,
    a.step_id, a.object_id, a.object_type, a.note_originator, a.note_type, a.note_importance, a.message, a.state, a.line,
    a.file, a.details, afl.milliseconds(a.at) as time, a.run_id
from (
    select
        l.id::text as uuid, l.run_id, l.step_id::text as step_id, l.object_id, l.object_type, l.note_originator, l.note_type,
        l.note_importance, l.message, l.state, l.line, l.file, l.details, l.at
    from weft.run_logs as l
    union all
    select
        l.task_id::text || ':' || l.id, s.run_id, s.id::text, l.task_id::text, 'Task', 'agent',
        case when l.level in ('error', 'critical') then 'error' when l.level = 'warning' then 'warning' else 'info' end,
        case l.level when 'debug' then 10 when 'info' then 5 else 1 end,
        l.message, s.state, coalesce(n.line, 0), coalesce(n.file, ''), coalesce(l.fields, '{}'), l.at
    from weft.steps as s
    join weft.runs as r
        on r.id = s.run_id and r.kind = 'flow'
    join weft.task_logs as l
        on l.task_id = s.task_id
    left join weft.steps as h
        on h.id = s.frame_id
    left join weft.flow_statements as n
        on n.definition_id = r.definition_id
        and n.version = r.version
        and n.id = afl.statement_id(r.definition_id, coalesce(h.block, r.name), s.node)
    union all
    select
        s.id::text, s.run_id, s.id::text, s.id::text,
        afl.object_type(coalesce(h.block, r.name), s.node, s.element >= 0 or s.parts_made > 0, s.catching), 'workflow',
        case when s.state in ('failed', 'timed_out') then 'error' when s.state = 'cancelled' then 'warning' else 'info' end,
        case when s.state in ('failed', 'timed_out') then 1 else 10 end,
        s.node || case when s.element >= 0 then '[' || s.element || ']' else '' end || ' ' || s.state
        || coalesce(': ' || (s.error ->> 'message'), ''),
        s.state, coalesce(n.line, 0), coalesce(n.file, ''), jsonb_build_object('error', s.error), s.finished_at
    from weft.steps as s
    join weft.runs as r
        on r.id = s.run_id and r.kind = 'flow'
    left join weft.steps as h
        on h.id = s.frame_id
    left join weft.flow_statements as n
        on n.definition_id = r.definition_id
        and n.version = r.version
        and n.id = afl.statement_id(r.definition_id, coalesce(h.block, r.name), s.node)
    where s.finished_at is not null
) as a;

grant select on afl.flows, afl.workflows, afl.runners, afl.steps, afl.events, afl.logs to weft_engine, weft_tenant;
