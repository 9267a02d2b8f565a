-- What the chores do.

-- name: promote
with due as (
    select t.id
    from weft.tasks as t
    where t.state = 'scheduled' and t.run_at <= weft.now()
    order by t.run_at, t.id
    limit %(take)s
    for update skip locked
),
ready as (
    update weft.tasks as t
    set state = 'ready'
    where t.id = any(array(select d.id from due as d))
    returning t.id, t.queue
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select 'tasks', 'UPDATE', case when count(*) <= 100 then array_agg(r.id) end
    from ready as r
    having count(*) > 0
)
select r.queue, count(*)
from ready as r
group by r.queue;

-- Keys with blocked work and room: an enqueue that saw a runner which ended meanwhile would wait here for ever.
-- A loose scan over the keys, then one count per key.
-- name: keys_with_room
with recursive keys as (
    (
        select t.org_id, t.concurrency_key, t.concurrency
        from weft.tasks as t
        where t.state = 'blocked' and t.concurrency_key is not null
        order by t.org_id, t.concurrency_key
        limit 1
    )
    union all
    select n.org_id, n.concurrency_key, n.concurrency
    from keys as k
    cross join lateral (
        select t.org_id, t.concurrency_key, t.concurrency
        from weft.tasks as t
        where t.state = 'blocked' and (t.org_id, t.concurrency_key) > (k.org_id, k.concurrency_key)
        order by t.org_id, t.concurrency_key
        limit 1
    ) as n
)
select k.org_id::text, k.concurrency_key
from keys as k
where (
    select count(*)
    from weft.tasks as t
    where t.org_id = k.org_id and t.concurrency_key = k.concurrency_key and t.state in ('running', 'ready')
) < greatest(k.concurrency, 1);

-- name: tasks_of_nodes
select t.id::text
from weft.tasks as t
where t.state = 'running' and t.node_id = any(%(nodes)s::uuid[]) and t.lease_until is null
order by t.claimed_at
limit %(take)s
for update skip locked;

-- What somebody held while the others were taken: a transaction of the dead themselves, perhaps.
-- name: nodes_with_tasks
select distinct t.node_id::text
from weft.tasks as t
where t.state = 'running' and t.node_id = any(%(nodes)s::uuid[]) and t.lease_until is null;

-- Running on a node nobody knows (its row was swept away): as lost as any.
-- name: tasks_of_nobody
select t.id::text
from weft.tasks as t
where t.state = 'running'
    and t.lease_until is null
    and t.claimed_at < weft.now() - %(older)s
    and not exists (select from weft.nodes as n where n.id = t.node_id and n.status <> 'dead')
order by t.claimed_at
limit %(take)s
for update skip locked;

-- What a claim took whose answer was lost with the connection.
-- name: tasks_of_claims
select t.id::text
from weft.tasks as t
where t.state = 'running' and t.lease_token = any(%(tokens)s::uuid[])
order by t.claimed_at
for update;

-- name: tasks_past_lease
select t.id::text
from weft.tasks as t
where t.lease_until < weft.now()
order by t.lease_until
limit %(take)s
for update skip locked;

-- A running task that was told to end and did not, although its worker lives.
-- Those who were asked first; and `running` in other words: said so, it would be sought among all that runs, and all that
-- did and cannot be vacuumed while an old transaction is open.
-- name: tasks_past_cancel
with asked as materialized (
    select t.id
    from weft.tasks as t
    where t.cancel_requested_at < weft.now() - %(grace)s
)
select t.id::text
from weft.tasks as t
where t.id = any(array(select a.id from asked as a)) and t.state not in ('scheduled', 'blocked', 'ready')
limit %(take)s
for update skip locked;

-- name: orgs_with_retention
select o.id, o.retention
from weft.orgs as o
where o.retention is not null
order by o.id;

-- name: prune_org
with old as (
    select h.id
    from weft.task_history as h
    where h.org_id = %(org_id)s and h.id < weft.uuid7_floor(weft.now() - %(older)s) and h.finished_at < weft.now() - %(older)s
    order by h.id
    limit %(take)s
),
logs as (
    delete from weft.task_logs as l
    where l.task_id = any(array(select o.id from old as o))
)
delete from weft.task_history as h
where h.org_id = %(org_id)s and h.id = any(array(select o.id from old as o));

-- name: prune_dedupe_keys
delete from weft.dedupe_keys as d
where d.ctid = any(array(
    select e.ctid
    from weft.dedupe_keys as e
    where e.expires_at <= weft.now()
    order by e.expires_at
    limit %(take)s
    for update skip locked
));

-- name: make_partitions
select weft.make_partitions(%(months)s);

-- name: drop_partitions
select weft.drop_partitions(weft.now() - %(older)s);

-- Says which queue, but not whose work it is: there may be many.
-- name: wake
select pg_notify('weft_wake', '* ' || n.queue)
from unnest(%(queues)s::text[]) as n (queue);

-- The limits that are counted from running rows: of an org, or of a queue.
-- name: limits_that_count
select null::text, o.id::text
from weft.orgs as o
where o.max_concurrent is not null
union all
select q.name, q.org_id::text
from weft.queues as q
where q.max_running is not null;

-- Those that are about to end have no need of it.
-- name: count_late_as_limited
update weft.tasks as t
set limited = true
where t.id = any(array(
    select r.id
    from weft.tasks as r
    where r.state = 'running'
        and not r.limited
        and (
            r.org_id = any(%(orgs)s::uuid[])
            or (r.queue, r.org_id) in (
                select q.name, q.org_id from unnest(%(queues)s::text[], %(queue_orgs)s::uuid[]) as q (name, org_id))
            or (r.queue, '00000000-0000-0000-0000-000000000000'::uuid) in (
                select q.name, q.org_id from unnest(%(queues)s::text[], %(queue_orgs)s::uuid[]) as q (name, org_id))
        )
    for update skip locked
));
