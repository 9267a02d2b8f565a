-- Orgs: made, looked at, changed.

-- An org as `Org` has it.
-- piece: org
o.id, o.name, o.slug, o.tier, o.settings, o.max_jobs, o.max_concurrent, o.request_rate, o.request_burst, o.weight,
o.retention, o.created_at, o.suspended_at

-- name: insert_org
insert into weft.orgs as o (
    name, slug, tier, settings, max_jobs, max_concurrent, request_rate, request_burst, weight, retention
)
values (
    %(name)s, %(slug)s, %(tier)s, %(settings)s::jsonb, %(max_jobs)s, %(max_concurrent)s, %(request_rate)s,
    %(request_burst)s, %(weight)s, %(retention)s
)
on conflict (slug) do nothing
returning
    -- use: org
;

-- The row is locked for whoever changes it next. `org` null: any; else only this one.
-- name: lock_org
select
    -- use: org
from weft.orgs as o
where o.id = %(id)s and (%(org_id)s::uuid is null or o.id = %(org_id)s)
for update;

-- name: get_org
select
    -- use: org
from weft.orgs as o
where o.id = %(id)s and (%(org_id)s::uuid is null or o.id = %(org_id)s);

-- name: list_orgs
select
    -- use: org
from weft.orgs as o
where o.slug > %(after)s and (%(org_id)s::uuid is null or o.id = %(org_id)s)
order by o.slug
limit %(take)s;

-- A limit that stays is not written: writing it counts what runs anew.
-- name: change_org
update weft.orgs as o
set name = %(name)s,
    tier = %(tier)s,
    settings = %(settings)s::jsonb,
    max_jobs = %(max_jobs)s,
    request_rate = %(request_rate)s,
    request_burst = %(request_burst)s,
    weight = %(weight)s,
    retention = %(retention)s,
    suspended_at = case when %(suspended)s then coalesce(o.suspended_at, weft.now()) end
where o.id = %(id)s
returning
    -- use: org
;

-- name: limit_org
update weft.orgs as o
set max_concurrent = %(max_concurrent)s
where o.id = %(id)s;

-- name: find_org
select o.id
from weft.orgs as o
where o.slug = %(slug)s;
