-- @down
create or replace view afl.steps with (security_invoker = true) as
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
    on i.id = s.task_id and i.org_id = s.org_id;

alter table weft.flow_statements drop column block_id;
alter table weft.steps reset (fillfactor, autovacuum_vacuum_scale_factor, autovacuum_vacuum_cost_delay);
alter table weft.steps set (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
