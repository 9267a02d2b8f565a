-- What upkeep's one look asks of the tasks (`upkeep/sight.py`): which chore has something to do, and in how many seconds. Never
-- what runs: all that did would be walked over while an old transaction keeps it from being vacuumed.
-- name: stirs
(
    select 'promoter', extract(epoch from t.run_at - weft.now())::double precision
    from weft.tasks as t
    where t.state = 'scheduled'
    order by t.run_at, t.id
    limit 1
)
union all
select 'unblocker', 0
where exists (select from weft.tasks as t where t.state = 'blocked')
union all
(
    select 'lapsed leases', extract(epoch from t.lease_until - weft.now())::double precision
    from weft.tasks as t
    where t.lease_until is not null
    order by t.lease_until
    limit 1
)
union all
select 'cancellations', 0
where exists (
    select
    from weft.tasks as t
    where t.cancel_requested_at is not null
        and (t.state <> 'running' or t.cancel_requested_at < weft.now() - %(cancel_grace)s::interval)
)
union all
-- charts count what is younger themselves
select 'minute counter', 0
from weft.task_minutes_until as u
where u.until < date_trunc('minute', weft.now() - %(margin)s::interval)
    - case when %(calm)s::boolean then interval '2 minutes' else interval '0' end
union all
-- for workers that nobody told: only where nothing else happens, so that nothing dead is in the way
select 'ready', 0
where %(calm)s::boolean and exists (select from weft.tasks as t where t.state = 'ready' and t.plain)
union all
select 'ready', 0
where %(calm)s::boolean and exists (select from weft.tasks as t where t.state = 'ready' and not t.plain);
