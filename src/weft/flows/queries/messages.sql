-- What runs of workflows are sent, and what they answer.

-- name: signal
select weft.signal(%(run)s::uuid, %(name)s::text, %(value)s::jsonb, %(org)s::uuid);

-- name: send_message
select weft.send(%(run)s::uuid, %(org)s::uuid, %(kind)s::text, %(name)s::text, %(value)s::jsonb, null);

-- name: load_messages
select m.run_id::text, m.id, m.kind, m.name, m.value::text, m.error
from weft.messages as m
where m.run_id = any(%(ids)s::uuid[])
order by m.id;

-- Runs of this node that were told something while they run. The mark stays: who parks the run must see it, for what we
-- read here may come too late for the run.
-- name: told_workflows
select t.id::text
from weft.tasks as t
where t.node_id = %(node_id)s::uuid and t.told and t.state = 'running' and t.id = any(%(ids)s::uuid[]);

-- Runs that have messages nobody woke them for; those whose task somebody holds are left for the next look.
-- name: wake_workflows
with message as materialized (
    select m.id, m.run_id
    from weft.messages as m
    where not m.heard and (%(ids)s::uuid[] is null or m.run_id = any(%(ids)s::uuid[]))
    order by m.id
    limit %(take)s
),
task as materialized (
    select t.id, t.state
    from weft.tasks as t
    where t.id = any(array(select m.run_id from message as m))
    order by t.id
    for update skip locked
),
woken as (
    update weft.tasks as t
    set told = t.told or t.state = 'running',
        state = case when t.state = 'scheduled' then 'ready' else t.state end,
        run_at = case when t.state = 'scheduled' then weft.now() else t.run_at end
    where t.id = any(array(select k.id from task as k))
    returning t.id, t.queue
),
heard as (
    update weft.messages as m
    set heard = true
    where m.id = any(array(select g.id from message as g where g.run_id = any(array(select k.id from task as k))))
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select 'tasks', 'UPDATE', case when count(*) <= 100 then array_agg(k.id) end
    from task as k
    where k.state = 'scheduled'
    having count(*) > 0
)
select w.queue
from woken as w;

-- Messages to runs that are over.
-- name: drop_messages
delete from weft.messages as m
where m.id = any(array(
    select u.id
    from weft.messages as u
    where not u.heard and not exists (select from weft.tasks as t where t.id = u.run_id)
    order by u.id
    limit %(take)s
));

-- Answers that nobody has waited for this long.
-- name: drop_answers
delete from weft.answers as a
where a.message_id = any(array(
    select o.message_id
    from weft.answers as o
    where o.at < weft.now() - %(keep)s::interval
    order by o.at
    limit %(take)s
));

-- What a run answered to a request, and whether it is over.
-- name: read_answer
select a.message_id is not null, a.value, a.refused, r.finished_at is not null, r.state
from weft.runs as r
left join weft.answers as a
    on a.message_id = %(message)s::bigint and a.run_id = r.id
where r.id = %(run)s::uuid and r.org_id = %(org)s::uuid and r.kind = 'workflow';
