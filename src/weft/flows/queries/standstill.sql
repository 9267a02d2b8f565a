-- Runs that nothing will move again: found, set going, or told of.

-- Whether a run should go on by itself and cannot. Each change of a run is one transaction, so in one snapshot it has
-- something open or it has nothing. One look-up each, in this order: joined, all of the queue would be read for it.
-- piece: stands_still
case
    when r.state not in ('running', 'waiting', 'compensating') then false
    -- about to be ended for it
    when r.deadline_at <= weft.now() then false
    -- whoever takes it decides what follows
    when (select i.id from weft.run_inbox as i where i.run_id = r.id limit 1) is not null then false
    -- the task of a workflow has the run's id: it sleeps, waits, is tried again, or is in somebody's hands
    when r.kind = 'workflow' then (select t.id from weft.tasks as t where t.id = r.id) is null
    -- Backwards, because what was made last is what is likely to be open. That few steps run is asked inside, where it does
    -- not count: else all of them are read and sorted.
    else (
        select t.id
        from weft.steps as s
        cross join lateral (
            select o.id
            from weft.tasks as o
            where o.id = s.task_id and s.state = 'running'
            offset 0
        ) as t
        where s.run_id = r.id
        order by s.frame_id desc, s.node desc, s.element desc, s.catching desc
        limit 1
    ) is null
end

-- name: stands_still
select
    -- use: stands_still
from weft.runs as r
where r.id = %(id)s::uuid and r.org_id = %(org_id)s::uuid;

-- A page of what should go on: those that have stood still for a while and were not told of (`stands`), those that were and
-- go on (`goes`), and the last one of a page that is full, to go on from.
-- name: find_standing
select w.id::text, w.org_id::text, w.verdict, w.number = %(take)s
from (
    select
        r.id, r.org_id, row_number() over (order by r.id) as number,
        case
            when not (
                -- use: stands_still
            ) then case when r.stalled_at is not null then 'goes' end
            when r.stalled_at is not null then null
            when greatest(
                r.created_at, r.started_at,
                (
                    select max(greatest(s.created_at, s.started_at, s.finished_at))
                    from weft.steps as s
                    where s.run_id = r.id
                )
            ) <= weft.now() - %(patience)s::interval then 'stands'
        end as verdict
    from (
        select o.id, o.org_id, o.kind, o.state, o.deadline_at, o.created_at, o.started_at, o.stalled_at
        from weft.runs as o
        where o.state in ('running', 'waiting', 'compensating') and o.id > %(after)s::uuid
        order by o.id
        limit %(take)s
    ) as r
) as w
where w.verdict is not null or w.number = %(take)s;

-- Takes a run that stands still into the hands of whoever looks after it, if nobody else has it.
-- name: hold_standing
select r.kind
from weft.runs as r
where r.id = %(id)s::uuid and r.org_id = %(org_id)s::uuid
for update skip locked;

-- name: mark_stalled
with changed as (
    update weft.runs as r
    set stalled_at = weft.now()
    where r.id = %(id)s::uuid and r.stalled_at is null
    returning r.id
)
insert into weft.change_inbox (table_name, op, ids)
select 'runs', 'UPDATE', array[c.id]
from changed as c;

-- name: unmark_stalled
with changed as (
    update weft.runs as r
    set stalled_at = null
    where r.id = any(%(ids)s::uuid[]) and r.stalled_at is not null
    returning r.id
)
insert into weft.change_inbox (table_name, op, ids)
select 'runs', 'UPDATE', case when count(*) <= 100 then array_agg(c.id) end
from changed as c
having count(*) > 0;

-- name: note_run
insert into weft.run_logs (org_id, run_id, note_type, note_importance, message, state)
select r.org_id, r.id, %(type)s, 1, %(message)s, r.state
from weft.runs as r
where r.id = %(id)s::uuid;

-- Every step of a run that has not ended: whether its task is in the queue, what caught its failure, and how its task ended.
-- name: open_ends
select
    -- use: held_step
    , null, false, t.id is not null, c.state, c.output, c.error, h.state, h.attempt - h.uncounted, h.started_at, h.result,
    h.error
from weft.steps as s
left join weft.tasks as t
    on t.id = s.task_id
left join weft.steps as c
    on c.run_id = s.run_id and c.frame_id = s.frame_id and c.node = s.node and c.element = s.element and c.catching
    and not s.catching
left join weft.task_history as h
    on h.org_id = s.org_id and h.id = s.task_id
where s.run_id = %(run_id)s::uuid and s.state in ('pending', 'running')
order by s.id;

-- How the task of a workflow's run ended without the run.
-- name: wake_up_ended
select h.state, h.error::text
from weft.task_history as h
where h.org_id = %(org_id)s::uuid and h.id = %(id)s::uuid;
