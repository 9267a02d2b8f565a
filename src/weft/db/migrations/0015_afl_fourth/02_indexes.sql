-- Flows by the path of their sources, and by their id in the view; logs by what they are about.
create index flow_versions_by_path on weft.flow_versions (org_id, path) where path <> '';
create index run_logs_of_object on weft.run_logs (object_id) where object_id <> '';

create or replace view afl.flows with (security_invoker = true) as
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
