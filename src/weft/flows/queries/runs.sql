-- Starting runs, and letting in those that wait.

-- name: get_plan
select p.plan
from weft.plans as p
where p.org_id = %(org_id)s::uuid and p.hash = %(hash)s;

-- name: save_plan
insert into weft.plans (org_id, hash, plan, nodes, kinds)
values (%(org_id)s::uuid, %(hash)s, %(plan)s, %(nodes)s, %(kinds)s::text[])
on conflict (org_id, hash) do nothing;

-- A run, as it waits to be let in; what begins at once has its params bound and its time limit set. Nothing, if there is
-- one with this key. Answers what `lock_run` does: nobody else can have it before the commit.
-- name: insert_run
with made as (
    insert into weft.runs (
        org_id, kind, name, definition_id, version, plan_hash, params, config, idempotency_key, trigger, actor,
        parent_run_id, parent_step_id, logical_date, tags, correlation_id, trace_parent, deadline_at)
    values (
        %(org_id)s::uuid, %(kind)s, %(name)s, %(definition_id)s::uuid, %(version)s, %(plan_hash)s, %(params)s::jsonb,
        %(config)s::jsonb, %(key)s, %(trigger)s, %(actor)s, %(parent_run_id)s::uuid, %(parent_step_id)s::uuid,
        coalesce(%(logical_date)s::timestamptz, weft.now()), %(tags)s::text[], %(correlation_id)s, %(trace_parent)s,
        weft.now() + %(timeout)s::double precision * interval '1 second')
    on conflict (org_id, kind, name, idempotency_key) where idempotency_key is not null do nothing
    returning *
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select 'runs', 'INSERT', array[m.id]
    from made as m
)
select
    m.id::text, m.org_id::text, m.plan_hash, m.state, m.name, m.params, m.config, m.logical_date, m.nodes, m.nodes_ended,
    m.nodes_failed, m.error, null, m.correlation_id, m.trace_parent, m.definition_id::text, mint.prefix, mint.low
from made as m
cross join weft.uuid7_run() as mint;

-- name: run_with_key
select r.id
from weft.runs as r
where r.org_id = %(org_id)s::uuid and r.kind = %(kind)s and r.name = %(name)s and r.idempotency_key = %(key)s;

-- Whoever lets runs in holds this row, so that two do not both take the last place.
-- name: lock_definition
select d.max_active_runs, d.status
from weft.definitions as d
where d.id = %(id)s::uuid
for update;

-- A statement of its own, after the lock: it must see what was let in before.
-- name: count_active
select
    (
        select count(*)
        from weft.runs as r
        where r.definition_id = %(id)s::uuid and r.state in ('running', 'waiting', 'paused', 'compensating', 'blocked')
    ),
    exists (select from weft.runs as r where r.definition_id = %(id)s::uuid and r.state = 'created');

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
with changed as (
    update weft.runs as r
    set state = 'failed', error = %(error)s::jsonb, started_at = coalesce(r.started_at, weft.now()), finished_at = weft.now()
    where r.id = %(id)s::uuid
    returning r.id
)
insert into weft.change_inbox (table_name, op, ids)
select 'runs', 'UPDATE', array[c.id]
from changed as c;

-- Runs of a definition that is deleted: nobody lets them in any more.
-- name: call_off
with changed as (
    update weft.runs as r
    set state = 'cancelled', error = %(error)s::jsonb, finished_at = weft.now()
    where r.definition_id = %(id)s::uuid and r.state = 'created'
    returning r.id
)
insert into weft.change_inbox (table_name, op, ids)
select 'runs', 'UPDATE', case when count(*) <= 100 then array_agg(c.id) end
from changed as c
having count(*) > 0;

-- name: be_patient
select set_config('lock_timeout', %(patience)s, true);

-- name: wait_for_runs
select r.id
from weft.runs as r
where r.id = any(%(ids)s::uuid[])
order by r.id
for update;

-- Kinds by their last part. Plans are few: as many as versions of what people wrote.
-- name: kinds_named
select distinct k.kind
from weft.plans as p
cross join lateral unnest(p.kinds) as k (kind)
where (%(org_id)s::uuid is null or p.org_id = %(org_id)s)
    and substring(k.kind from '[^.]+$') = any(%(shorts)s::text[]);

-- What a flow asks for, and by how many it is handled.
-- name: kinds_needed
select
    k.kind,
    (
        select count(*)
        from weft.nodes as n
        where n.status = 'active' and (n.org_id is null or n.org_id = d.org_id) and k.kind = any(n.handlers)
    )
from weft.definitions as d
join weft.flow_workflows as w
    on w.definition_id = d.id and w.version = d.version
join weft.plans as p
    on p.org_id = w.org_id and p.hash = w.plan_hash
cross join lateral unnest(p.kinds) as k (kind)
where d.id = %(id)s::uuid
    -- these every worker of ours does
    and k.kind not in ('afl.script', 'afl.prompt')
group by k.kind, d.org_id
order by k.kind;
