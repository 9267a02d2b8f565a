-- Starting runs, and letting in those that wait.

-- name: get_plan
select p.plan
from weft.plans as p
where p.org_id = %(org_id)s::uuid and p.hash = %(hash)s;

-- name: save_plan
insert into weft.plans (org_id, hash, plan, nodes)
values (%(org_id)s::uuid, %(hash)s, %(plan)s, %(nodes)s)
on conflict (org_id, hash) do nothing;

-- A run that waits to be let in; nothing, if there is one with this key.
-- name: insert_run
insert into weft.runs (
    org_id, kind, name, definition_id, version, plan_hash, params, config, idempotency_key, trigger, actor, parent_run_id,
    parent_step_id, logical_date, tags, correlation_id, trace_parent)
values (
    %(org_id)s::uuid, %(kind)s, %(name)s, %(definition_id)s::uuid, %(version)s, %(plan_hash)s, %(params)s::jsonb,
    %(config)s::jsonb, %(key)s, %(trigger)s, %(actor)s, %(parent_run_id)s::uuid, %(parent_step_id)s::uuid,
    coalesce(%(logical_date)s::timestamptz, weft.now()), %(tags)s::text[], %(correlation_id)s, %(trace_parent)s)
on conflict (org_id, kind, name, idempotency_key) where idempotency_key is not null do nothing
returning id;

-- name: run_with_key
select r.id
from weft.runs as r
where r.org_id = %(org_id)s::uuid and r.kind = %(kind)s and r.name = %(name)s and r.idempotency_key = %(key)s;

-- name: feed_new_run
insert into weft.change_inbox (table_name, op, ids)
values ('runs', 'INSERT', array[%(id)s::uuid]);

-- Whoever lets runs in holds this row, so that two do not both take the last place.
-- name: lock_definition
select d.max_active_runs, d.status
from weft.definitions as d
where d.id = %(id)s::uuid
for update;

-- A statement of its own, after the lock: it must see what was let in before.
-- name: count_active
select count(*)
from weft.runs as r
where r.definition_id = %(id)s::uuid and r.state in ('running', 'waiting', 'paused', 'compensating', 'blocked');

-- name: next_created
select r.id::text, r.org_id::text
from weft.runs as r
where r.definition_id = %(id)s::uuid and r.state = 'created'
order by r.id
limit %(take)s
for update skip locked;

-- The run begins: its time is counted from here.
-- name: begin_run
update weft.runs as r
set params = %(params)s::jsonb,
    deadline_at = weft.now() + %(timeout)s::double precision * interval '1 second'
where r.id = %(id)s::uuid;

-- name: fail_run
update weft.runs as r
set state = 'failed', error = %(error)s::jsonb, started_at = coalesce(r.started_at, weft.now()), finished_at = weft.now()
where r.id = %(id)s::uuid;

-- name: be_patient
select set_config('lock_timeout', %(patience)s, true);

-- name: wait_for_runs
select r.id
from weft.runs as r
where r.id = any(%(ids)s::uuid[])
order by r.id
for update;
