-- What people do to runs, and what the leader sees to.

-- How a statement ends that changed tasks, or steps: the feed hears of those in `changed`.
-- piece: tell_tasks
insert into weft.change_inbox (table_name, op, ids)
select 'tasks', 'UPDATE', case when count(*) <= 100 then array_agg(c.id) end
from changed as c
having count(*) > 0

-- piece: tell_steps
insert into weft.change_inbox (table_name, op, ids)
select 'steps', 'UPDATE', case when count(*) <= 100 then array_agg(c.id) end
from changed as c
having count(*) > 0

-- piece: tell_steps_gone
insert into weft.change_inbox (table_name, op, ids)
select 'steps', 'DELETE', case when count(*) <= 100 then array_agg(c.id) end
from changed as c
having count(*) > 0

-- The steps of a run's entry, for whoever decides about all of them.
-- name: entry_steps
select
    -- use: held_step
    , null, false
from weft.steps as s
where s.run_id = %(run_id)s::uuid and s.frame_id = %(run_id)s::uuid and s.element = -1 and not s.catching
order by s.id;

-- Back to how they were before they began.
-- name: reset_steps
with changed as (
    update weft.steps as s
    set state = v.state,
        succeeded = v.succeeded,
        failed = v.failed,
        skipped = v.skipped,
        decided = v.decided,
        parts = 0,
        parts_ended = 0,
        parts_failed = 0,
        parts_made = 0,
        parts_started = 0,
        block = null,
        params = null,
        task_id = null,
        output = null,
        error = null,
        attempt = 0,
        reruns = s.reruns + 1,
        started_at = null,
        finished_at = case when v.state <> 'pending' then weft.now() end
    from unnest(
        %(ids)s::uuid[], %(states)s::text[], %(succeeded)s::integer[], %(failed)s::integer[], %(skipped)s::integer[],
        %(decided)s::boolean[]
    ) as v (id, state, succeeded, failed, skipped, decided)
    where s.id = any(array[v.id])
    returning s.id
)
-- use: tell_steps

-- Everything inside of these steps: their elements, what they called, what caught them.
-- name: drop_inside
with recursive gone as (
    select s.id
    from weft.steps as s
    join weft.steps as o
        on o.id = any(%(ids)s::uuid[])
    where s.run_id = o.run_id
        and s.frame_id = o.frame_id
        and s.node = o.node
        and (s.element >= 0 or s.catching)
    union
    select s.id
    from weft.steps as s
    where s.run_id = %(run_id)s::uuid and s.frame_id = any(%(ids)s::uuid[])
    union
    select s.id
    from gone as g
    join weft.steps as s
        on s.run_id = %(run_id)s::uuid and s.frame_id = g.id
),
changed as (
    delete from weft.steps as s
    where s.id = any(array(select g.id from gone as g))
    returning s.id
)
-- use: tell_steps_gone

-- name: set_run_state
with changed as (
    update weft.runs as r
    set state = %(state)s,
        error = case when %(state)s in ('cancelled', 'failed') then %(error)s::jsonb else r.error end,
        finished_at = case when %(state)s in ('completed', 'failed', 'cancelled', 'compensated') then weft.now() end,
        stalled_at = null
    where r.id = %(id)s::uuid
    returning r.id
)
insert into weft.change_inbox (table_name, op, ids)
select 'runs', 'UPDATE', array[c.id]
from changed as c;

-- name: reopen_run
update weft.runs as r
set reruns = r.reruns + 1,
    deadline_at = weft.now() + (r.deadline_at - r.started_at)
where r.id = %(id)s::uuid;

-- name: cancel_steps
with changed as (
    update weft.steps as s
    set state = 'cancelled', decided = true, finished_at = weft.now()
    where s.run_id = %(run_id)s::uuid and s.state in ('pending', 'running')
    returning s.id
)
-- use: tell_steps

-- Asks for the end of the tasks of a run, as weft.cancel does for one.
-- name: cancel_tasks
with changed as (
    update weft.tasks as t
    set cancel_requested_at = coalesce(t.cancel_requested_at, weft.now()),
        state = case t.state when 'running' then t.state else 'blocked' end
    where t.id = any(array(
            select s.task_id
            from weft.steps as s
            where s.run_id = %(run_id)s::uuid and s.state = 'running' and s.task_id is not null
        ))
        and (%(nodes)s::text[] is null or t.step_id = any(array(
            select n.id
            from weft.steps as n
            where n.run_id = %(run_id)s::uuid and n.node = any(%(nodes)s::text[])
        )))
    returning t.id
)
-- use: tell_tasks

-- A run that stands still: what waits of it leaves the claim order.
-- name: hold_tasks
with changed as (
    update weft.tasks as t
    set state = 'blocked'
    where t.id = any(array(
            select s.task_id
            from weft.steps as s
            where s.run_id = %(run_id)s::uuid and s.state = 'running' and s.task_id is not null
        ))
        and t.state in ('ready', 'scheduled')
    returning t.id
)
-- use: tell_tasks

-- What goes back into the queue while its run stands still. A statement of its own after the one that put it there, so
-- that a pause which committed in between is seen; one that commits after it may let this one try more through.
-- name: hold_returned
with changed as (
    update weft.tasks as t
    set state = 'blocked'
    from weft.runs as r
    where t.id = any(%(ids)s::uuid[])
        and t.state in ('ready', 'scheduled')
        and r.id = any(array[t.run_id])
        and r.state = 'paused'
    returning t.id
)
-- use: tell_tasks

-- name: free_tasks
with changed as (
    update weft.tasks as t
    set state = case when t.run_at > weft.now() then 'scheduled' else 'ready' end
    where t.id = any(array(
            select s.task_id
            from weft.steps as s
            where s.run_id = %(run_id)s::uuid and s.state = 'running' and s.task_id is not null
        ))
        and t.state = 'blocked'
        and t.cancel_requested_at is null
    returning t.id, t.queue
),
feed as (
    -- use: tell_tasks
)
select c.queue
from changed as c;

-- Runs with facts that nobody has taken: whoever held the lock looked before they were there.
-- name: runs_told
select distinct i.run_id::text
from weft.run_inbox as i
join weft.runs as r
    on r.id = i.run_id
where r.state not in ('created', 'paused')
limit %(take)s;

-- name: definitions_with_created
with recursive waiting as (
    (
        select r.definition_id
        from weft.runs as r
        where r.state = 'created' and r.definition_id is not null
        order by r.definition_id
        limit 1
    )
    union all
    select n.definition_id
    from waiting as w
    cross join lateral (
        select r.definition_id
        from weft.runs as r
        where r.state = 'created' and r.definition_id > w.definition_id
        order by r.definition_id
        limit 1
    ) as n
)
select w.definition_id::text
from waiting as w;

-- name: past_deadline
select r.id::text, r.org_id::text
from weft.runs as r
where r.deadline_at < weft.now() and r.finished_at is null and r.deadline_at is not null
order by r.deadline_at
limit %(take)s
for update skip locked;

-- Ended runs whose time is over, with their steps; at most a few at a time.
-- name: prune_runs
with old as (
    select r.id
    from weft.runs as r
    left join weft.orgs as o
        on o.id = r.org_id
    where r.finished_at is not null
        and r.finished_at < weft.now() - coalesce(r.retention, o.retention, %(older)s::interval)
    order by r.finished_at
    limit %(take)s
    for update of r skip locked
),
steps as (
    delete from weft.steps as s
    where s.run_id = any(array(select o.id from old as o))
),
logs as (
    delete from weft.run_logs as l
    where l.run_id = any(array(select o.id from old as o))
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select f.table_name, 'DELETE', case when f.table_name = 'runs' and count(*) <= 100 then array_agg(o.id) end
    from old as o
    cross join (values ('runs'), ('steps')) as f (table_name)
    group by f.table_name
)
delete from weft.runs as r
where r.id = any(array(select o.id from old as o));

-- Facts of runs that are over, or were never there.
-- name: drop_facts
delete from weft.run_inbox as i
where i.id = any(array(
    select f.id
    from weft.run_inbox as f
    left join weft.runs as r
        on r.id = f.run_id
    where r.id is null or r.state in ('completed', 'failed', 'cancelled', 'compensated')
    limit %(take)s
));

-- The nodes of a block that a step has opened.
-- name: frame_steps
select
    -- use: held_step
    , null, false
from weft.steps as s
where s.run_id = %(run_id)s::uuid and s.frame_id = %(frame_id)s::uuid and s.element = -1 and not s.catching
order by s.id;

-- What did not go well in a run, and what caught something in it.
-- name: unhappy_steps
select
    -- use: held_step
    , null, false
from weft.steps as s
where s.run_id = %(run_id)s::uuid and s.state in ('failed', 'timed_out', 'cancelled')
order by s.id
limit %(take)s;

-- Steps by id, of one run.
-- name: steps_by_id
select
    -- use: held_step
    , null, false
from weft.steps as s
where s.run_id = %(run_id)s::uuid and s.id = any(%(ids)s::uuid[]);

-- How many elements of a foreach have ended, and how many of them not well.
-- name: count_elements
select
    count(*) filter (where s.state not in ('pending', 'running')),
    count(*) filter (where s.state not in ('pending', 'running', 'completed'))
from weft.steps as s
where s.run_id = %(run_id)s::uuid
    and s.frame_id = %(frame_id)s::uuid
    and s.node = %(node)s
    and s.element >= 0
    and not s.catching
    and s.id <> all(%(but)s::uuid[]);

-- What these steps have opened, all the way down, and what caught their failure; not themselves.
-- name: drop_below
with recursive gone as (
    select s.id
    from weft.steps as s
    where s.run_id = %(run_id)s::uuid and s.frame_id = any(%(opened)s::uuid[])
    union
    select s.id
    from weft.steps as o
    join weft.steps as s
        on s.run_id = o.run_id and s.frame_id = o.frame_id and s.node = o.node and s.element = o.element and s.catching
    where o.id = any(%(caught)s::uuid[])
    union
    select s.id
    from gone as g
    join weft.steps as s
        on s.run_id = %(run_id)s::uuid and s.frame_id = g.id
),
changed as (
    delete from weft.steps as s
    where s.id = any(array(select g.id from gone as g))
    returning s.id
)
-- use: tell_steps_gone

-- What they came to before is forgotten.
-- name: forget_endings
with changed as (
    update weft.steps as s
    set output = null, error = null, finished_at = null
    where s.id = any(%(ids)s::uuid[])
    returning s.id
)
-- use: tell_steps

-- Asks for the end of the tasks of a step and of all inside of it.
-- name: cancel_below
with recursive inside as (
    select s.id, s.task_id, s.frame_id, s.node
    from weft.steps as s
    where s.id = %(id)s::uuid
    union
    select s.id, s.task_id, s.frame_id, s.node
    from inside as i
    join weft.steps as s
        on s.run_id = %(run_id)s::uuid and s.frame_id = i.id
),
changed as (
    update weft.tasks as t
    set cancel_requested_at = coalesce(t.cancel_requested_at, weft.now()),
        state = case t.state when 'running' then t.state else 'blocked' end
    where t.id = any(array(select i.task_id from inside as i where i.task_id is not null))
    returning t.id
)
-- use: tell_tasks
