-- Definitions by name, and their versions.

-- name: hold_definition
select d.id, d.version
from weft.definitions as d
where d.org_id = %(org_id)s::uuid and d.kind = %(kind)s and d.name = %(name)s and d.status <> 'deleted'
for update;

-- name: insert_definition
insert into weft.definitions (org_id, kind, name, version, max_active_runs, cron_expression, timezone, tags)
values (
    %(org_id)s::uuid, %(kind)s, %(name)s, %(version)s, %(max_active_runs)s, %(cron_expression)s, %(timezone)s,
    %(tags)s::text[])
on conflict (org_id, kind, name) where status <> 'deleted' do nothing
returning id;

-- name: activate
update weft.definitions as d
set version = %(version)s,
    max_active_runs = %(max_active_runs)s,
    cron_expression = %(cron_expression)s,
    timezone = %(timezone)s,
    tags = %(tags)s::text[],
    updated_at = case when d.version = %(version)s then d.updated_at else weft.now() end
where d.id = %(id)s::uuid;

-- name: save_version
insert into weft.definition_versions (definition_id, org_id, version, number, plan_hash, header, nodes)
select
    %(id)s::uuid, %(org_id)s::uuid, %(version)s, coalesce(max(v.number), 0) + 1, %(plan_hash)s, %(header)s::jsonb,
    %(nodes)s::jsonb
from weft.definition_versions as v
where v.definition_id = %(id)s::uuid
on conflict (definition_id, version) do nothing;

-- piece: definition
d.id, d.org_id, d.kind, d.name, d.status, d.version, v.number, v.plan_hash, v.header, d.max_active_runs,
d.cron_expression, d.timezone, d.tags, d.created_at, d.updated_at, v.created_at, p.nodes

-- piece: joined
from weft.definitions as d
join weft.definition_versions as v
    on v.definition_id = d.id and v.version = d.version
join weft.plans as p
    on p.org_id = v.org_id and p.hash = v.plan_hash

-- name: get_definition
select
    -- use: definition
-- use: joined
where d.org_id = %(org_id)s::uuid
    and d.kind = %(kind)s
    and d.status <> 'deleted'
    and (d.id = %(id)s::uuid or d.name = %(name)s::text)
-- a name may look like an id: the id is meant
order by d.id is not distinct from %(id)s::uuid desc
limit 1;

-- name: list_definitions
select
    -- use: definition
-- use: joined
where d.org_id = %(org_id)s::uuid
    and d.kind = %(kind)s
    and d.status <> 'deleted'
    and d.id < %(before)s::uuid
    and (%(prefix)s::text is null or d.name like %(prefix)s)
order by d.id desc
limit %(take)s;

-- name: list_versions
select v.version, v.number, v.created_at
from weft.definition_versions as v
where v.definition_id = %(id)s::uuid
order by v.number desc
limit %(take)s;

-- name: nodes_of
select v.nodes
from weft.definition_versions as v
where v.definition_id = %(id)s::uuid and v.version = %(version)s;

-- name: version_of
select v.version, v.created_at, v.header, v.nodes
from weft.definition_versions as v
where v.definition_id = %(id)s::uuid and v.number = %(number)s;

-- name: header_of
select v.header
from weft.definitions as d
join weft.definition_versions as v
    on v.definition_id = d.id and v.version = d.version
where d.id = %(id)s::uuid;

-- name: set_status
update weft.definitions as d
set status = %(status)s, updated_at = weft.now()
where d.id = %(id)s::uuid;

-- name: start
select s.id, s.created
from weft.try_start(
    name => %(name)s::text, params => %(params)s::jsonb, what => %(what)s::text, key => %(key)s::text,
    logical_date => %(logical_date)s::timestamptz, org => %(org)s::uuid, config => %(config)s::jsonb,
    tags => %(tags)s::text[]
) as s;
