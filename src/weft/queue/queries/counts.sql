-- How much there is. Nothing is counted further than `cap`: a number above it is read as "more than that".
-- Rows are compared whole where equal values would do, so that one index is left to go along: see `find`.

-- The queues of an org, by name: those in which tasks wait or run, lately ended, or about which something was said.
-- name: queue_names
with recursive waiting as (
    (
        select t.queue
        from weft.tasks as t
        where t.org_id = %(org_id)s and t.state <> 'running' and t.queue > %(after)s
        order by t.queue
        limit 1
    )
    union all
    select n.queue
    from waiting as w
    cross join lateral (
        select t.queue
        from weft.tasks as t
        where t.org_id = %(org_id)s and t.state <> 'running' and t.queue > w.queue
        order by t.queue
        limit 1
    ) as n
)
select n.name
from (
    (
        select w.queue as name
        from waiting as w
        limit %(take)s
    )
    union
    select q.name
    from weft.queues as q
    where q.org_id in (%(org_id)s, '00000000-0000-0000-0000-000000000000')
    union
    select t.queue
    from weft.tasks as t
    where t.state = 'running' and t.org_id = %(org_id)s
    union
    select h.queue
    from (
        select h.queue
        from weft.task_history as h
        where h.org_id = %(org_id)s
        order by h.id desc
        limit %(recent)s
    ) as h
) as n
where n.name > %(after)s
order by n.name
limit %(take)s;

-- Per queue: what waits and runs, when the oldest ready became due (among the 200 that were made first), and of
-- the `recent` newest tasks of the org that ended how many did within a minute, and of those that failed within an hour.
-- name: queue_counts
with running as materialized (
    select t.queue, count(*) as tasks
    from weft.tasks as t
    where t.state = 'running' and t.org_id = %(org_id)s
    group by t.queue
),
ended as materialized (
    select h.queue, count(*) filter (where h.finished_at > weft.now() - interval '1 minute') as tasks, count(*) as seen
    from (
        select h.queue, h.finished_at
        from weft.task_history as h
        where h.org_id = %(org_id)s
        order by h.id desc
        limit %(recent)s
    ) as h
    group by h.queue
),
failed as materialized (
    select h.queue, count(*) filter (where h.finished_at > weft.now() - interval '1 hour') as tasks, count(*) as seen
    from (values ('failed'), ('timed_out')) as u (state)
    cross join lateral (
        select h.queue, h.finished_at
        from weft.task_history as h
        where h.org_id = %(org_id)s
            and (h.state, h.id) >= (u.state, '00000000-0000-0000-0000-000000000000')
            and (h.state, h.id) <= (u.state, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
            and h.state <> 'completed'
        order by h.state desc, h.id desc
        limit %(recent)s
    ) as h
    group by h.queue
)
select
    q.name,
    waits.ready,
    waits.scheduled,
    waits.blocked,
    coalesce(r.tasks, 0),
    coalesce(extract(epoch from weft.now() - oldest.run_at), 0)::double precision,
    coalesce(e.tasks, 0),
    (select coalesce(sum(e.seen), 0) from ended as e) >= %(recent)s,
    coalesce(f.tasks, 0),
    (select coalesce(sum(f.seen), 0) from failed as f) >= %(recent)s
from unnest(%(names)s::text[]) as q (name)
cross join lateral (
    select
        max(c.tasks) filter (where s.state = 'ready') as ready,
        max(c.tasks) filter (where s.state = 'scheduled') as scheduled,
        max(c.tasks) filter (where s.state = 'blocked') as blocked
    from (values ('ready'), ('scheduled'), ('blocked')) as s (state)
    cross join lateral (
        select count(*) as tasks
        from (
            select
            from weft.tasks as t
            where t.org_id = %(org_id)s
                and (t.queue, t.state, t.id) >= (q.name, s.state, '00000000-0000-0000-0000-000000000000')
                and (t.queue, t.state, t.id) <= (q.name, s.state, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
                and t.state <> 'running'
            limit %(cap)s + 1
        ) as t
    ) as c
) as waits
cross join lateral (
    select min(t.run_at) as run_at
    from (
        select t.run_at
        from weft.tasks as t
        where t.org_id = %(org_id)s
            and (t.queue, t.state, t.id) >= (q.name, 'ready', '00000000-0000-0000-0000-000000000000')
            and (t.queue, t.state, t.id) <= (q.name, 'ready', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
            and t.state <> 'running'
        order by t.queue, t.state, t.id
        limit 200
    ) as t
) as oldest
left join running as r
    on r.queue = q.name
left join ended as e
    on e.queue = q.name
left join failed as f
    on f.queue = q.name
order by q.name;

-- Per state, of one org. `completed` is counted among the newest that ended, as many as `cap`.
-- name: task_counts
with recursive place as (
    (
        select t.queue, t.state
        from weft.tasks as t
        where t.org_id = %(org_id)s and t.state <> 'running'
        order by t.queue, t.state
        limit 1
    )
    union all
    select n.queue, n.state
    from place as p
    cross join lateral (
        select t.queue, t.state
        from weft.tasks as t
        where t.org_id = %(org_id)s and t.state <> 'running' and (t.queue, t.state) > (p.queue, p.state)
        order by t.queue, t.state
        limit 1
    ) as n
),
known as materialized (
    select p.queue, p.state
    from place as p
    limit %(places)s
)
select s.state, c.tasks, c.tasks > %(cap)s or (select count(*) from known) >= %(places)s
from unnest(array['scheduled', 'blocked', 'ready']) as s (state)
cross join lateral (
    select count(*) as tasks
    from (
        select
        from known as k
        cross join lateral (
            select
            from weft.tasks as t
            where t.org_id = %(org_id)s
                and (t.queue, t.state, t.id) >= (k.queue, k.state, '00000000-0000-0000-0000-000000000000')
                and (t.queue, t.state, t.id) <= (k.queue, k.state, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
                and t.state <> 'running'
            limit %(cap)s + 1
        ) as t
        where k.state = s.state
        limit %(cap)s + 1
    ) as t
) as c
union all
select 'running', count(*), count(*) > %(cap)s
from (
    select
    from weft.tasks as t
    where t.state = 'running' and t.org_id = %(org_id)s
    limit %(cap)s + 1
) as t
union all
select 'completed', count(*) filter (where h.state = 'completed'), count(*) > %(cap)s
from (
    select h.state
    from weft.task_history as h
    where h.org_id = %(org_id)s
    order by h.id desc
    limit %(cap)s + 1
) as h
union all
select u.state, c.tasks, c.tasks > %(cap)s
from unnest(array['failed', 'timed_out', 'cancelled']) as u (state)
cross join lateral (
    select count(*) as tasks
    from (
        select
        from weft.task_history as h
        where h.org_id = %(org_id)s
            and (h.state, h.id) >= (u.state, '00000000-0000-0000-0000-000000000000')
            and (h.state, h.id) <= (u.state, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
            and h.state <> 'completed'
        limit %(cap)s + 1
    ) as h
) as c
union all
select 'dead', count(*), count(*) > %(cap)s
from (
    select
    from weft.task_history as h
    where h.org_id = %(org_id)s and h.reason in ('dead', 'lost')
    limit %(cap)s + 1
) as h;

-- name: running_by_node
select t.node_id, count(*)
from weft.tasks as t
where t.state = 'running' and t.org_id = %(org_id)s and t.node_id is not null
group by t.node_id;
