-- What upkeep's one look asks of the runs (`upkeep/sight.py`).
-- name: stirs
select 'run sweeper', 0::double precision
where exists (select from weft.run_inbox)
union all
select 'run starter', 0
where exists (select from weft.runs as r where r.state = 'created')
union all
(
    select 'run deadlines', extract(epoch from r.deadline_at - weft.now())::double precision
    from weft.runs as r
    where r.deadline_at is not null and r.finished_at is null
    order by r.deadline_at
    limit 1
)
union all
select 'workflow waker', 0
where exists (select from weft.messages as m where not m.heard)
    or exists (select from weft.answers as a where a.at < weft.now() - %(answers_kept)s::interval);
