-- What runs of workflows are sent, what they answer, and what becomes of those whose task has ended without them.

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

-- The task of a run ended without the run: its worker was lost too often, or somebody cancelled the task itself. If the run
-- has done what can be undone it gets its task back, for that; once. Else it is over, and its parent is told.
-- name: abandon_workflows
with gone as materialized (
    select
        r.id, r.org_id, r.parent_run_id, r.config ->> 'place' as place, u.names,
        u.names is not null and r.state <> 'compensating' as undo,
        case
            when r.state <> 'compensating' then v.state
            when u.names is null then 'compensated'
            else 'failed'
        end as state,
        case
            when r.state <> 'compensating' then v.error::jsonb
            when u.names is null then r.error
            else coalesce(r.error, '{}') || jsonb_build_object('not_undone', u.names)
        end as error
    from unnest(%(ids)s::uuid[], %(states)s::text[], %(errors)s::text[]) as v (id, state, error)
    join weft.runs as r
        on r.id = any(array[v.id])
    cross join lateral (
        select array_agg(regexp_replace(s.node, '#[^#]*$', '') order by s.number desc) as names
        from weft.steps as s
        where s.run_id = r.id and s.operation <> 'compensation' and s.state = 'completed' and s.params is not null
    ) as u
    where r.kind = 'workflow' and r.finished_at is null
    for update of r
),
past as (
    delete from weft.task_history as h
    using gone as g
    where g.undo and h.org_id = g.org_id and h.id = g.id
    returning h.id, h.org_id, h.kind, h.queue, h.lane, h.payload, h.urgency, h.correlation_id, h.trace_parent
),
task as (
    insert into weft.tasks (
        id, org_id, kind, queue, lane, payload, urgency, correlation_id, trace_parent, attempt, uncounted)
    select
        p.id, p.org_id, p.kind, p.queue, p.lane, p.payload, p.urgency, p.correlation_id, p.trace_parent, 1, 1
    from past as p
    returning id, org_id, lane
),
run as (
    update weft.runs as r
    set state = case when g.undo then 'compensating' else g.state end,
        error = g.error,
        finished_at = case when not g.undo then weft.now() end,
        stalled_at = null,
        reruns = r.reruns + g.undo::integer
    from gone as g
    where r.id = any(array[g.id])
),
forgotten as (
    delete from weft.messages as m
    using gone as g
    where not g.undo and m.run_id = g.id
),
sent as (
    insert into weft.messages (run_id, org_id, kind, name, error)
    select g.parent_run_id, g.org_id, 'child', g.id::text, coalesce(g.error, '{}') || jsonb_build_object('state', g.state)
    from gone as g
    where not g.undo and g.place is not null and g.parent_run_id is not null
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select 'runs', 'UPDATE', case when count(*) <= 100 then array_agg(g.id) end
    from gone as g
    having count(*) > 0
    union all
    select 'tasks', 'UPDATE', case when count(*) <= 100 then array_agg(t.id) end
    from task as t
    having count(*) > 0
)
select weft.wake(t.org_id, t.lane)
from task as t;
