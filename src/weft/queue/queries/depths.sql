-- How much waits, and for how long: looked at once a minute, for charts.

-- The queues in which something waits are found by skipping along tasks_waiting, and each is counted along it, as `queue_counts`
-- does: however much there is, this reads `cap` entries of a queue.
-- name: sample_depths
with recursive place as (
    (
        select t.org_id, t.queue
        from weft.tasks as t
        where t.state <> 'running'
        order by t.org_id, t.queue
        limit 1
    )
    union all
    select n.org_id, n.queue
    from place as p
    cross join lateral (
        select t.org_id, t.queue
        from weft.tasks as t
        where t.state <> 'running' and (t.org_id, t.queue) > (p.org_id, p.queue)
        order by t.org_id, t.queue
        limit 1
    ) as n
),
known as materialized (
    select p.org_id, p.queue
    from place as p
    limit %(places)s
),
waits as (
    select k.org_id, k.queue, c.tasks as ready, 0::bigint as running, extract(epoch from weft.now() - o.run_at) as oldest
    from known as k
    cross join lateral (
        select count(*) as tasks
        from (
            select
            from weft.tasks as t
            where t.org_id = k.org_id
                and (t.queue, t.state, t.id) >= (k.queue, 'ready', '00000000-0000-0000-0000-000000000000')
                and (t.queue, t.state, t.id) <= (k.queue, 'ready', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
                and t.state <> 'running'
            limit %(cap)s
        ) as t
    ) as c
    cross join lateral (
        select min(t.run_at) as run_at
        from (
            select t.run_at
            from weft.tasks as t
            where t.org_id = k.org_id
                and (t.queue, t.state, t.id) >= (k.queue, 'ready', '00000000-0000-0000-0000-000000000000')
                and (t.queue, t.state, t.id) <= (k.queue, 'ready', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
                and t.state <> 'running'
            order by t.queue, t.state, t.id
            limit 200
        ) as t
    ) as o
    where c.tasks > 0
),
seen as (
    select w.org_id, w.queue, w.ready, w.running, w.oldest
    from waits as w
    union all
    select t.org_id, t.queue, 0, count(*), 0
    from weft.tasks as t
    where t.state = 'running'
    group by t.org_id, t.queue
)
insert into weft.queue_minutes (org_id, queue, minute, ready, running, oldest)
select
    s.org_id, coalesce(s.queue, ''), date_trunc('minute', weft.now()), sum(s.ready), sum(s.running),
    greatest(0, max(s.oldest))
from seen as s
group by grouping sets ((s.org_id, s.queue), (s.org_id))
on conflict do nothing;

-- name: prune_depths
delete from weft.queue_minutes as m
using (
    select m.org_id, m.queue, m.minute
    from weft.queue_minutes as m
    where m.minute < weft.now() - %(older)s::interval
        and (m.queue <> '' or m.minute < weft.now() - %(oldest)s::interval)
    order by m.minute
    limit %(take)s
) as old
where m.org_id = old.org_id and m.queue = old.queue and m.minute = old.minute;

-- The most that was seen waiting in each step of a range, and the longest wait.
-- name: depths_by_step
select
    floor(extract(epoch from m.minute - %(since)s::timestamptz) / %(step)s)::integer,
    max(m.ready), max(m.running), max(m.oldest)::double precision
from weft.queue_minutes as m
where m.org_id = %(org_id)s and m.queue = %(queue)s and m.minute >= %(since)s and m.minute < %(until)s
group by 1;
