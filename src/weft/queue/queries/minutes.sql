-- How many tasks ended in which minute.

-- Counts the minutes that are over, at most so many at a time. A task that was being ended for longer than the margin is
-- missed: this is for charts.
-- name: count_minutes
with counted as (
    update weft.task_minutes_until as u
    set until = least(u.until + %(most)s::interval, date_trunc('minute', weft.now() - %(margin)s::interval))
    from (
        select w.until
        from weft.task_minutes_until as w
        for update
    ) as was
    where was.until < date_trunc('minute', weft.now() - %(margin)s::interval)
    returning was.until as since, u.until
),
ended as (
    select
        h.org_id,
        h.queue,
        date_trunc('minute', h.finished_at) as minute,
        count(*) filter (where h.state = 'completed') as completed,
        count(*) filter (where h.state in ('failed', 'timed_out')) as failed,
        count(*) filter (where h.state = 'cancelled') as cancelled
    from weft.task_history as h
    where h.finished_at >= (select c.since from counted as c) and h.finished_at < (select c.until from counted as c)
    group by 1, 2, 3
)
insert into weft.task_minutes (org_id, queue, minute, completed, failed, cancelled)
select e.org_id, e.queue, e.minute, e.completed, e.failed, e.cancelled
from ended as e
union all
select e.org_id, '', e.minute, sum(e.completed), sum(e.failed), sum(e.cancelled)
from ended as e
group by e.org_id, e.minute
on conflict do nothing;

-- name: prune_minutes
delete from weft.task_minutes as m
using (
    select m.org_id, m.queue, m.minute
    from weft.task_minutes as m
    where m.minute < weft.now() - %(older)s::interval
        and (m.queue <> '' or m.minute < weft.now() - %(oldest)s::interval)
    order by m.minute
    limit %(take)s
) as old
where m.org_id = old.org_id and m.queue = old.queue and m.minute = old.minute;

-- What ended in each step of a range: what was counted, and what the chore has not been to, as far as `most` tasks.
-- name: ended_by_step
with until as (
    select u.until
    from weft.task_minutes_until as u
),
counted as (
    select
        floor(extract(epoch from m.minute - %(since)s::timestamptz) / %(step)s)::integer as place,
        m.completed, m.failed, m.cancelled
    from weft.task_minutes as m
    where m.org_id = %(org_id)s and m.queue = %(queue)s and m.minute >= %(since)s and m.minute < %(until)s
    union all
    select
        floor(extract(epoch from h.finished_at - %(since)s::timestamptz) / %(step)s)::integer,
        (h.state = 'completed')::integer, (h.state in ('failed', 'timed_out'))::integer, (h.state = 'cancelled')::integer
    from (
        select h.finished_at, h.state
        from weft.task_history as h
        where h.org_id = %(org_id)s
            and h.finished_at >= greatest((select u.until from until as u), %(since)s)
            and h.finished_at < %(until)s
            and (%(queue)s = '' or h.queue = %(queue)s)
        limit %(most)s
    ) as h
)
select c.place, sum(c.completed)::bigint, sum(c.failed)::bigint, sum(c.cancelled)::bigint
from counted as c
group by c.place;

-- name: the_time
select weft.now();
