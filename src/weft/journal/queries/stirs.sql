-- What upkeep's one look asks of the journal (`upkeep/sight.py`).
-- name: stirs
select 'sequencer', 0::double precision
where exists (select from weft.change_inbox)
union all
select 'audit sealer', 0
where exists (select from weft.journal as j where j.number is null)
union all
(
    select 'outbox', extract(epoch from o.next_at - weft.now())::double precision
    from weft.outbox as o
    where o.state = 'waiting'
    order by o.next_at, o.id
    limit 1
);
