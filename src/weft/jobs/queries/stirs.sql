-- What upkeep's one look asks of the jobs (`upkeep/sight.py`).
-- name: stirs
(
    select 'job scheduler', extract(epoch from j.due_at - weft.now())::double precision
    from weft.jobs as j
    where j.due_at is not null
    order by j.due_at, j.id
    limit 1
)
union all
select 'backfiller', 0
where exists (select from weft.backfills as b where b.state = 'RUNNING');
