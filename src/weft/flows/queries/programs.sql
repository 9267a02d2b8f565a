-- AFL programs: sources, workflows and their plans.

-- name: save_program
insert into weft.flow_versions (definition_id, version, org_id, path, sources, lists)
values (%(id)s::uuid, %(version)s, %(org_id)s::uuid, %(path)s, %(sources)s::jsonb, %(lists)s::jsonb)
on conflict (definition_id, version) do nothing;

-- Where its statements are, out of the lists.
-- name: save_statements
insert into weft.flow_statements (definition_id, version, id, org_id, object_type, facet_name, file, line, block_id)
select
    f.definition_id, f.version, s.value ->> 'uuid', f.org_id, s.value ->> 'object_type', s.value ->> 'facet_name',
    s.value ->> 'file', (s.value ->> 'line')::integer, s.value ->> 'block_id'
from weft.flow_versions as f
cross join lateral jsonb_array_elements(f.lists -> 'statements') as s
where f.definition_id = %(id)s::uuid and f.version = %(version)s
on conflict (definition_id, version, id) do nothing;

-- name: save_workflows
insert into weft.flow_workflows (definition_id, version, name, org_id, id, number, plan_hash, documentation)
select %(id)s::uuid, %(version)s, w.name, %(org_id)s::uuid, w.id, w.number, w.plan_hash, w.documentation
from unnest(
    %(names)s::text[], %(ids)s::uuid[], %(numbers)s::integer[], %(hashes)s::text[], %(documentations)s::text[]
) as w (name, id, number, plan_hash, documentation)
on conflict (definition_id, version, name) do nothing;

-- name: workflows_of
select w.id, w.name, w.plan_hash, w.documentation
from weft.flow_workflows as w
where w.definition_id = %(id)s::uuid and w.version = %(version)s
order by w.number;

-- The flows whose active version has a workflow of this name.
-- name: flows_with_workflow
select d.id::text
from weft.flow_workflows as w
join weft.definitions as d
    on d.id = w.definition_id and d.version = w.version and d.status <> 'deleted'
where w.org_id = %(org_id)s::uuid and w.name = %(name)s
order by d.id desc
limit 2;

-- name: get_program
select f.path, f.sources, f.lists, v.created_at
from weft.flow_versions as f
join weft.definition_versions as v
    on v.definition_id = f.definition_id and v.version = f.version
where f.definition_id = %(id)s::uuid and f.version = %(version)s;

-- name: plans_of
select w.name, p.plan
from weft.flow_workflows as w
join weft.plans as p
    on p.org_id = w.org_id and p.hash = w.plan_hash
where w.definition_id = %(id)s::uuid and w.version = %(version)s
order by w.number;
