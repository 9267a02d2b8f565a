-- name: record
insert into weft.journal (org_id, actor, action, object_type, object_id, before, after)
values (
    %(org_id)s, %(actor)s, %(action)s, %(object_type)s, %(object_id)s, %(before)s::jsonb, %(after)s::jsonb)
returning id;

-- name: record_many
insert into weft.journal (org_id, actor, action, object_type, object_id)
select %(org_id)s, %(actor)s, %(action)s, %(object_type)s, o.id
from unnest(%(object_ids)s::text[]) as o (id);

-- name: inbox_waits
select exists (select from weft.change_inbox);

-- Tried, not waited for: whoever holds it does the same work.
-- name: lock_sequencer
select pg_try_advisory_xact_lock(hashtextextended('weft.changes', 0));

-- A statement of its own, after the lock: it must see what the last sequencer did.
-- The lock is held until the commit is visible, so a later position is never seen before an earlier one.
-- What seed 003 has reactive by default is also said in its words, `forge_jobs:UPDATE:id`, with the commit that tells our
-- readers anyway: nobody can know who listens, and this way it costs no commit more. Of each table and operation up to 100
-- rows of a batch are named; more are said as one, without an id. Only workflows' runs and steps are in the seed's tables.
-- name: sequence
with moved as (
    delete from weft.change_inbox as i
    where i.id = any(array(
        select w.id
        from weft.change_inbox as w
        order by w.id
        limit %(take)s::bigint))
    returning i.id, i.table_name, i.op, i.ids
),
placed as (
    insert into weft.changes (table_name, op, ids)
    select m.table_name, m.op, m.ids
    from moved as m
    order by m.id
    returning position
),
summary as (
    select count(*) as moved, max(p.position) as newest
    from placed as p
),
total as (
    select m.table_name, m.op, count(*) = count(m.ids) and sum(cardinality(m.ids)) <= 100 as named
    from moved as m
    where m.table_name in ('tasks', 'runs', 'steps')
    group by m.table_name, m.op
),
said as (
    select t.table_name, t.op, '' as id
    from total as t
    where not t.named
    union all
    select t.table_name, t.op, i.id::text
    from total as t
    join moved as m
        on m.table_name = t.table_name and m.op = t.op
    cross join lateral unnest(m.ids) as i (id)
    where t.named
        and case
            when t.table_name = 'tasks' or t.op = 'DELETE' then true
            when t.table_name = 'runs' then exists (
                select
                from weft.runs as r
                where r.id = i.id and r.kind = 'workflow')
            else exists (
                select
                from weft.steps as w
                where w.id = i.id and w.operation <> 'start')
        end
),
told as (
    select count(pg_notify('forge_changes', f.name || ':' || s.op || ':' || s.id)) as times
    from said as s
    join (values ('tasks', 'forge_jobs'), ('runs', 'forge_workflow_runs'), ('steps', 'forge_workflow_steps'))
        as f (table_name, name)
        on f.table_name = s.table_name
)
select s.moved, case when s.moved > 0 then pg_notify('weft_changes', s.newest::text) end, t.times
from summary as s
cross join told as t;

-- One statement, so that no trim comes between the bounds and the rows.
-- name: read
select b.oldest, b.newest, c.position, c.at, c.table_name, c.op, c.ids
from (
    select min(a.position) as oldest, max(a.position) as newest
    from weft.changes as a
) as b
left join lateral (
    select d.position, d.at, d.table_name, d.op, d.ids
    from weft.changes as d
    where d.position > %(after)s
    order by d.position
    limit %(take)s
) as c
    on true
order by c.position;

-- The youngest row that may go stays as the mark of how far was trimmed.
-- name: trim
delete from weft.changes as c
where c.position < (
    select max(o.position)
    from (
        select a.position, a.at
        from weft.changes as a
        order by a.position
        limit %(take)s
    ) as o
    where o.at < weft.now() - %(older)s
);
